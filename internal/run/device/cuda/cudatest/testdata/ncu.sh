#!/bin/sh
# A pretended Nsight Compute: it takes the options that Gridloom gives, starts a program with libprofiler.so in it, and
# prints a table of the launches that it has seen. The n-th metric of each is 10 n.
#
#	CUDATEST_NCU=forbidden   it may not count
#	CUDATEST_NCU=METRIC      it does not know this metric
here=$(dirname "$0")
csv= log=/dev/stdout watch=on name=. skip=0 count=1000
while [ $# -gt 0 ]; do
	case $1 in
	--csv) csv=yes; shift; continue ;;
	--log-file) log=$2 ;;
	--metrics) metrics=$2 ;;
	--profile-from-start) watch=$2 ;;
	--kernel-name) name=${2#regex:} ;;
	--launch-skip) skip=$2 ;;
	--launch-count) count=$2 ;;
	--target-processes | --clock-control | --cache-control | --page | --print-units | --kernel-name-base) ;;
	--*) echo "==ERROR== unrecognised option '$1'" >"$log"; exit 1 ;;
	*) break ;;
	esac
	shift 2
done
case ,$metrics, in
*,"$CUDATEST_NCU",*) echo "==ERROR== Failed to find metric $CUDATEST_NCU" >"$log"; exit 1 ;;
esac
seen=$(mktemp)
CUDATEST_SEEN=$seen CUDATEST_WATCH=$watch LD_PRELOAD=$here/libprofiler.so "$@"
status=$?
{
	echo "==PROF== Connected to process $$ ($1)"
	if [ "$CUDATEST_NCU" = forbidden ]; then
		echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
		: >"$seen"
	fi
	echo "==PROF== Disconnected from process $$"
	grep -E "$name" "$seen" | tail -n +$((skip + 1)) | head -n "$count" >"$seen.kept"
	if [ ! -s "$seen.kept" ]; then
		echo "==WARNING== No kernels were profiled."
	else
		quoted=$(echo "$metrics" | sed 's/,/","/g')
		n=$(echo "$metrics" | tr , '\n' | wc -l)
		values=$(seq 10 10 $((10 * n)) | sed 's/.*/"&"/' | paste -sd ,)
		echo "\"ID\",\"Kernel Name\",\"$quoted\""
		echo "\"\",\"\",$(echo "$values" | sed 's/"[0-9]*"/""/g')"
		awk -v values="$values" '{ printf "\"%d\",\"%s\",%s\n", NR - 1, $0, values }' "$seen.kept"
	fi
} >"$log"
rm -f "$seen" "$seen.kept"
exit $status

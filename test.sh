#!/bin/sh
# Checks the whole tree: installs what the tests need, then format, vet,
# staticcheck, a build without cgo, the race detector, a little fuzzing, a slice
# of the proof, and at the end every test, so that the last lines are those of
# go test.
set -eu
cd "$(dirname "$0")"

say() { printf '== %s\n' "$*"; }
fail() { printf 'test.sh: %s\n' "$*" >&2; exit 1; }

# Go is the one thing that is not installed here: distributions lag behind.
command -v go >/dev/null 2>&1 || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || fail "Go 1.26 or newer is needed; see https://go.dev/doc/install"
version=$(go env GOVERSION) || fail "Go 1.26 or newer is needed"
case $version in
go1.2[6-9]* | go1.[3-9][0-9]* | go1.[1-9][0-9][0-9]* | go[2-9]* | devel*) ;;
*) fail "Go 1.26 or newer is needed, and this is $version" ;;
esac

# Generated libraries are called from C, C++, Fortran and Python.
packages=
need() { command -v "$1" >/dev/null 2>&1 || packages="$packages $2"; }
need gcc "gcc libc6-dev"
need g++ g++
need gfortran gfortran
need cmake cmake
need make make
# Generated CUDA is compiled without a GPU or its kit.
need clang-19 clang-19
# Generated OpenCL runs on the processor, and under a checker of memory and races.
[ -e /etc/OpenCL/vendors/pocl.icd ] || packages="$packages ocl-icd-libopencl1 pocl-opencl-icd"
need oclgrind oclgrind
echo '#include <CL/cl.h>' | gcc -E -x c - >/dev/null 2>&1 || packages="$packages opencl-headers"
echo 'int main(void) { return 0; }' | gcc -x c - -lOpenCL -o /dev/null 2>/dev/null ||
	packages="$packages ocl-icd-opencl-dev"
if ! { /usr/bin/python3 -c 'import numpy' || python3 -c 'import numpy'; } >/dev/null 2>&1; then
	packages="$packages python3-numpy"
fi
if [ -n "$packages" ]; then
	command -v apt-get >/dev/null 2>&1 || fail "there is no apt-get; please install:$packages"
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null 2>&1 || fail "neither root nor sudo; please install:$packages"
		sudo=sudo
	fi
	say "Installing$packages"
	$sudo apt-get update
	# The list is one word a package.
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
fi

export CGO_ENABLED=0
# Nobody debugs what is built here, and without tables for debuggers compiling takes a sixth less.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-gcflags=all=-dwarf=false"
# What is drawn at random is the same in every run; "make properties" looks further.
export RAPID_SEED=1

# Vet sees all here, and so go test need not below.
say "Format, vet, staticcheck"
make --no-print-directory lint

say "Build without cgo"
go build -buildvcs=false ./...

# Tests allocate much and keep little, from many different stacks: a collector that runs less
# often, and no profile of the memory, save a third of the time of those that lower kernels.
export GOGC=400
export GODEBUG=memprofilerate=0

# Packages whose code runs on several threads. The race detector needs cgo.
concurrent="./internal/run/... ./internal/tune/measure ./internal/tune/tuner ./internal/tune/store/... \
./internal/tune/eval/omnitune ./internal/tune/predict"
say "Race detector: $concurrent"
# What one goroutine does alone takes minutes under the detector; it is tested without it below.
alone='TestFormerSpellings|TestLocalsOutliveTheirSources'
alone="$alone|TestConformance/(Bombs|FilterIsDefined|FormerSpellings|BadFiles)"
alone="$alone|TestModels|TestNothingToLearn|TestMeasuredScenarios"
alone="$alone|TestTrain$|TestModelFile|TestBuiltin|TestPattern|TestCandidates|TestRankByFirstTrees"
alone="$alone|TestRestartOfSpans/(resident|pipe)|TestMemory/Bombs|TestFmaIsTheProcessors|TestDistances"
alone="$alone|TestSpansAreChecked|TestSpoiltSpans|TestSpansLoseSideBySide|TestForAllSizes|TestSequences"
alone="$alone|TestLikely|TestBadModels|TestResources|TestNoResources|TestRankLowered|TestBadParts|TestWriteRecordings"
alone="$alone|TestProcessors|TestWithNeighbours|TestFastestOfPrograms|TestGPULoading|TestGPUTensorMaps|TestSpansOfPlans"
CGO_ENABLED=1 go test -race -skip "$alone" -timeout 80m $concurrent

# Go fuzzes one function at a time; what it finds it writes to testdata/fuzz. So many
# inputs and not so long: at the end of a time Go before 1.27 fails now and then
# (go.dev/issue/75804), and it would spend it all on making one input smaller. The first
# changes to the corpus are always the same ones, though Go does not promise the rest.
find internal -name '*_test.go' -exec grep -H '^func Fuzz' {} + | sort |
	sed 's/^\(.*\)\/[^/]*_test\.go:func \(Fuzz[A-Za-z0-9_]*\)(.*/\1 \2/' |
	while read -r folder name; do
		say "Fuzzing $name, 1200 inputs"
		GODEBUG=$GODEBUG,fuzzseed=1 go test -vet=off -timeout 5m -run '^$' -fuzz "^$name\$" -fuzztime 1200x \
			-fuzzminimizetime 10x -parallel 1 "./$folder" </dev/null || exit 1
	done

# A seeded slice of what "make proof" does at length.
say "Proof: random programs with random plans for GPUs, simulated"
make --no-print-directory build
build/gridloom bench proof --target gpu --pairs 90 --seed 500000 --every 90
build/gridloom bench proof --target gpu --spans --pairs 40 --seed 500000 --every 40

say "Tests"
exec go test -vet=off -timeout 80m ./...

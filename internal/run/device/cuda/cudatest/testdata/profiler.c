// What the pretended profiler puts into the process that it starts, as Nsight Compute does: by LD_PRELOAD, which it takes
// out of the environment at once. So a process that Go starts from there is without it.
//
//	CUDATEST_SEEN=FILE  a line for every launch that the profiler sees
//	CUDATEST_WATCH=off  it sees those alone that stand between cuProfilerStart and cuProfilerStop
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void enter(void) { unsetenv("LD_PRELOAD"); }

void cudatest_launched(const char *kernel, int marked)
{
	const char *watch = getenv("CUDATEST_WATCH"), *path = getenv("CUDATEST_SEEN");
	if (!path || (watch && !strcmp(watch, "off") && !marked))
		return;
	FILE *f = fopen(path, "a");
	if (!f)
		return;
	fprintf(f, "%s\n", kernel);
	fclose(f);
}

package emit

import (
	"path/filepath"
	"testing"
)

// trusting runs a library of two variants on a GPU whose compiler has spilled
// registers of all kernels.
const trusting = `
#include "heat.h"
#include <stdio.h>
#include <stdlib.h>

static double u[100 * 10 * 10];

static void steps(heat *h, const char *what, int64_t N)
{
    for (int n = 0; n < 10000; ++n)
        u[n] = n % 2;
    int status = heat_configure(h, N, 10, 10, 0.25);
    printf("%s, N = %d: %s: %s\n", what, (int)N, heat_message(status), status ? heat_error(h) : "");
    status = heat_init(h, HEAT_GIVEN_u, u);
    if (!status)
        status = heat_iterate(h, 1, u);
    int same = 1;
    for (int n = 0; n < 10000; ++n)
        same = same && u[n] == n % 2;
    printf("    %s, and u is %s\n", heat_message(status), same ? "what it was" : "another");
}

int main()
{
    heat *h = NULL;
    heat_new(&h);
    setenv("PRETENDED_SPILLED", "48", 1);
    steps(h, "spilled", 100);
    steps(h, "spilled", 4);
    setenv("PRETENDED_SPILLED", "0", 1);
    steps(h, "not spilled", 100);
    return heat_exit(&h);
}
`

// A library does not launch kernels that are delicate and whose registers were
// spilled; those that are not picked, or are not delicate, are no reason to refuse
// anything.
func TestLibrarySpilled(t *testing.T) {
	p := libraryProgram(t, "heat", heatCells)
	b := buildVariants(t, p, CUDA, "N=4 M=10 L=10 a=1:family=cells",
		"N=100 M=10 L=10 a=1:heat[0:1]@1{family=tile,vec=4,load=image}")
	write(t, filepath.Join(b.dir, "trusting.cpp"), trusting)
	b.sh(t, "%s trusting.cpp -o trusting -L. -lheat -Wl,-rpath,.", pretendedCUDA(t))
	want := `spilled, N = 100: the GPU refused something: the kernel heat_v2 takes 48 bytes of local memory a thread: its registers were spilled, and code that reads images or copies in bulk has computed wrong numbers then; make the library with another plan, of more registers a thread, smaller blocks or load=plain
    a call that must come before is missing, and u is what it was
spilled, N = 4: all is well: 
    all is well, and u is another
not spilled, N = 100: all is well: 
    all is well, and u is another
`
	if got := b.sh(t, "./trusting"); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

/* Kernels of a program whose first is fine and whose second misbehaves: the
   test says how, by defining MISBEHAVE. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void gl_fine(void **args)
{
	double *out = *(double **)args[0];
	const double *in = *(double **)args[1];
	const int64_t n = *(int64_t *)args[2];
	for (int64_t i = 0; i < n; i++)
		out[i] = in[i] + 1;
}

void gl_bad(void **args)
{
	double *out = *(double **)args[0];
	double *in = *(double **)args[1];
	const int64_t n = *(int64_t *)args[2];
	volatile int64_t zero = 0;
	(void)out, (void)in, (void)n, (void)zero;
	MISBEHAVE;
}

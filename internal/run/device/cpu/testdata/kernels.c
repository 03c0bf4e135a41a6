#include <math.h>
#include <stdint.h>

/* out = a * in, by as many threads as there are */
void gl_scale(void **args)
{
	double *out = *(double **)args[0];
	const double *in = *(double **)args[1];
	const int64_t n = *(int64_t *)args[2];
	const double a = *(double *)args[3];
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++)
		out[i] = a * in[i];
}

/* one argument of every type, each written to a buffer of its type */
void gl_types(void **args)
{
	**(uint8_t **)args[0] = *(uint8_t *)args[6];
	**(uint8_t **)args[1] = *(uint8_t *)args[7];
	**(int32_t **)args[2] = *(int32_t *)args[8];
	**(int64_t **)args[3] = *(int64_t *)args[9];
	**(float **)args[4] = *(float *)args[10];
	**(double **)args[5] = *(double *)args[11];
}

/* out = sum of 2^i * the i-th of 24 values */
void gl_many(void **args)
{
	double sum = 0;
	for (int i = 0; i < 24; i++)
		sum += ldexp(*(double *)args[1 + i], i);
	**(double **)args[0] = sum;
}

/* out[0] = in[0] - in[1] * in[2]; out[1] = in[3] / 2, which may be denormal;
   out[2] = in[4] + 1, which may be infinite or not a number */
void gl_arithmetic(void **args)
{
	double *out = *(double **)args[0];
	const double *in = *(double **)args[1];
	out[0] = in[0] - in[1] * in[2];
	out[1] = in[3] / 2;
	out[2] = in[4] + 1;
}

/* out = a*b + c, rounded once, by the processor or the C library */
void gl_fused(void **args)
{
	float *out = *(float **)args[0];
	const float *a = *(float **)args[1], *b = *(float **)args[2], *c = *(float **)args[3];
	const int64_t n = *(int64_t *)args[4];
	for (int64_t i = 0; i < n; i++)
		out[i] = fmaf(a[i], b[i], c[i]);
}

void gl_nothing(void **args)
{
	(void)args;
}

/* Wrong uses of the library misuse: each must return its status, and say why. */
#include "misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* Prints a call's status and the handle's last words. */
static void say(const char *call, int status, const misuse *h)
{
    printf("%s -> %d %s\n", call, status, status ? misuse_error(h) : "");
}

#define CALL(h, call) say(#call, call, h)

static void must(int ok, const char *what)
{
    if (!ok) {
        printf("FAILED: %s\n", what);
        ++failures;
    }
}

int main(void)
{
    misuse *h = NULL;
    int64_t n = 0, extents[2] = { 0, 0 };
    int rank = 0;
    double *u, *v, *f, x = 0;
    uint8_t *m;

    /* no handle */
    CALL(h, misuse_new(NULL));
    CALL(h, misuse_configure(NULL, 5, 6, 1.0));
    CALL(h, misuse_init(NULL, 0, NULL, NULL, NULL, NULL));
    CALL(h, misuse_iterate(NULL, 1, NULL, NULL, NULL, NULL));
    CALL(h, misuse_run(NULL, NULL, NULL, NULL, NULL));
    CALL(h, misuse_exit(NULL));
    CALL(h, misuse_exit(&h));
    CALL(h, misuse_get_a(NULL, &x));
    CALL(h, misuse_default_sizes(NULL, &n));
    must(strcmp(misuse_error(NULL), "") == 0, "a NULL handle has no words");
    must(strcmp(misuse_message(77), "there is no such status") == 0, "unknown status");

    /* memory that is no handle */
    {
        void *other[64] = { NULL };
        misuse *stray = (misuse *)(void *)other;
        CALL(stray, misuse_configure(stray, 5, 6, 1.0));
        CALL(stray, misuse_exit(&stray));
    }

    /* too early */
    CALL(h, misuse_new(&h));
    CALL(h, misuse_init(h, 0, NULL, NULL, NULL, NULL));
    CALL(h, misuse_iterate(h, 1, NULL, NULL, NULL, NULL));
    CALL(h, misuse_bytes(h, 0, &n));
    CALL(h, misuse_set_b(h, 1.0));

    /* sizes */
    CALL(h, misuse_configure(h, 0, 6, 1.0));
    CALL(h, misuse_configure(h, 5, -1, 1.0));
    CALL(h, misuse_configure(h, 5, INT64_C(1) << 31, 1.0));
    CALL(h, misuse_configure(h, 2, 6, 1.0));
    CALL(h, misuse_configure(h, 3, 6, 1.0));
    CALL(h, misuse_configure(h, 5, 2, 1.0));
    CALL(h, misuse_configure(h, 2147483647, 2147483647, 1.0));
    CALL(h, misuse_configure(h, 200000, 200000, 1.0));
    CALL(h, misuse_iterate(h, 1, NULL, NULL, NULL, NULL));
    CALL(h, misuse_configure(h, 5, 6, 0.5));

    /* questions */
    CALL(h, misuse_rank(h, -1, &rank));
    CALL(h, misuse_rank(h, MISUSE_GRIDS, &rank));
    CALL(h, misuse_rank(h, 0, NULL));
    CALL(h, misuse_shape(h, 99, extents));
    CALL(h, misuse_shape(h, MISUSE_GRID_u, NULL));
    CALL(h, misuse_shape(h, MISUSE_GRID_u, extents));
    must(extents[0] == 5 && extents[1] == 6, "the shape of u");
    CALL(h, misuse_bytes(h, MISUSE_GRID_f, &n));
    must(n == 6 * 8, "the bytes of f");
    must(misuse_grid_name(MISUSE_GRIDS) == NULL, "no such grid");
    CALL(h, misuse_threads(h, -2));

    /* scalars that follow others until they are set */
    CALL(h, misuse_get_b(h, &x));
    must(x == 1.0, "b is 2*a");
    CALL(h, misuse_set_a(h, 4.0));
    CALL(h, misuse_get_b(h, &x));
    must(x == 8.0, "b follows a");
    CALL(h, misuse_set_b(h, 3.0));
    CALL(h, misuse_set_a(h, 5.0));
    CALL(h, misuse_get_b(h, &x));
    must(x == 3.0, "b is set");
    CALL(h, misuse_get_b(h, NULL));

    /* arrays */
    u = (double *)calloc(31, sizeof *u);
    v = (double *)calloc(31, sizeof *v);
    f = (double *)calloc(6, sizeof *f);
    m = (uint8_t *)calloc(5, 1);
    CALL(h, misuse_iterate(h, 1, u, v, f, m));
    CALL(h, misuse_init(h, -1, u, v, f, m));
    CALL(h, misuse_init(h, 16, u, v, f, m));
    CALL(h, misuse_init(h, 0, u, NULL, f, m));
    CALL(h, misuse_init(h, 0, u, u, f, m));
    CALL(h, misuse_init(h, 0, u, u + 29, f, m));
    CALL(h, misuse_init(h, 0, u, v, u, m));
    CALL(h, misuse_init(h, 0, (double *)(void *)((char *)u + 4), v, f, m));
    CALL(h, misuse_init(h, MISUSE_GIVEN_f | MISUSE_GIVEN_m, u, v, f, m));
    CALL(h, misuse_iterate(h, -1, u, v, f, m));
    CALL(h, misuse_iterate(h, 1, u, v, f, NULL));
    CALL(h, misuse_iterate(h, 1, u, v, u + 3, m));
    CALL(h, misuse_iterate(h, 3, u, v, f, m));
    CALL(h, misuse_steps(h, &n));
    must(n == 3, "three steps");
    CALL(h, misuse_steps(h, NULL));
    CALL(h, misuse_resume(h, -5));
    CALL(h, misuse_resume(h, 1000));
    CALL(h, misuse_run(h, u, v, f, m));

    /* afresh, with other sizes; a failure on the way leaves nothing to use */
    CALL(h, misuse_configure(h, 4, 6, 1.0));
    CALL(h, misuse_iterate(h, 1, u, v, f, m));
    CALL(h, misuse_configure(h, 0, 0, 1.0));
    CALL(h, misuse_init(h, 0, u, v, f, m));

    free(u);
    free(v);
    free(f);
    free(m);
    CALL(h, misuse_exit(&h));
    must(h == NULL, "exit sets the handle to NULL");
    return failures != 0;
}

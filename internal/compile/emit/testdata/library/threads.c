/* Two handles of the library heat in two threads at once. */
#include "heat.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 6 * 7 * 8 };

static void *use(void *argument)
{
    double *u = (double *)argument;
    heat *h = NULL;
    int status = heat_new(&h);
    for (int n = 0; n < CELLS; ++n)
        u[n] = n % 13;
    if (!status) status = heat_configure(h, 6, 7, 8, 0.125);
    if (!status) status = heat_init(h, HEAT_ALL_GIVEN, u);
    for (int n = 0; n < 50 && !status; ++n)
        status = heat_iterate(h, n % 3, u);
    if (!status) status = heat_exit(&h);
    return status ? argument : NULL;
}

int main(void)
{
    static double u[3][CELLS];
    pthread_t thread[2];
    void *failed = NULL;
    for (int n = 0; n < 2; ++n)
        pthread_create(&thread[n], NULL, use, u[n]);
    for (int n = 0; n < 2; ++n) {
        pthread_join(thread[n], &failed);
        if (failed)
            return 1;
    }
    if (use(u[2]))
        return 1;
    return memcmp(u[0], u[2], sizeof u[0]) != 0 || memcmp(u[1], u[2], sizeof u[0]) != 0;
}

/* A caller of the library kinds, in C. usage: kinds FOLDER M N shift off weight rule iterations... (-1 runs) */
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int status, const kinds *h, const char *call)
{
    if (status != KINDS_OK) {
        fprintf(stderr, "%s: %s: %s\n", call, kinds_message(status), kinds_error(h));
        ++failures;
    }
}

static char *path(const char *folder, int grid, const char *ending)
{
    static char text[1000];
    snprintf(text, sizeof text, "%s/%s.%s", folder, kinds_grid_name(grid), ending);
    return text;
}

int main(int argc, char **argv)
{
    kinds *h = NULL;
    const char *folder = argv[1];
    void *arrays[KINDS_GRIDS];
    int64_t bytes, given = KINDS_NONE_GIVEN;
    if (argc < 8)
        return 2;
    check(kinds_new(&h), h, "new");
    check(kinds_configure(h, atoll(argv[2]), atoll(argv[3]), strcmp(argv[5], "true") == 0, atoi(argv[4]), (float)atof(argv[6]),
                          (uint8_t)atoi(argv[7])), h, "configure");
    for (int g = 0; g < KINDS_GRIDS; ++g) {
        check(kinds_bytes(h, g, &bytes), h, "bytes");
        arrays[g] = malloc((size_t)bytes);
        memset(arrays[g], 0x5A, (size_t)bytes);
        FILE *f = fopen(path(folder, g, "in"), "rb");
        if (f) {
            if (fread(arrays[g], 1, (size_t)bytes, f) != (size_t)bytes)
                ++failures;
            fclose(f);
            given |= (int64_t)1 << g;
        }
    }
    uint8_t *cells = (uint8_t *)arrays[KINDS_GRID_cells], *mask = (uint8_t *)arrays[KINDS_GRID_mask];
    int32_t *count = (int32_t *)arrays[KINDS_GRID_count], *births = (int32_t *)arrays[KINDS_GRID_births];
    float *f = (float *)arrays[KINDS_GRID_f], total;
    double *d = (double *)arrays[KINDS_GRID_d];
    check(kinds_init(h, given, cells, mask, count, births, f, d), h, "init");
    for (int n = 8; n < argc; ++n) {
        if (atoi(argv[n]) < 0)
            check(kinds_run(h, cells, mask, count, births, f, d), h, "run");
        else
            check(kinds_iterate(h, atoi(argv[n]), cells, mask, count, births, f, d), h, "iterate");
    }
    for (int g = 0; g < KINDS_GRIDS; ++g) {
        check(kinds_bytes(h, g, &bytes), h, "bytes");
        FILE *out = fopen(path(folder, g, "out"), "wb");
        if (fwrite(arrays[g], 1, (size_t)bytes, out) != (size_t)bytes)
            ++failures;
        fclose(out);
        free(arrays[g]);
    }
    check(kinds_get_total(h, &total), h, "get_total");
    printf("%.9g\n", (double)total);
    check(kinds_exit(&h), h, "exit");
    if (h)
        ++failures;
    return failures != 0;
}

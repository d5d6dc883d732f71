/* benchmark.c -- the table of benchmarks, and how often each repeats by default. */
#include "weft.h"

#include <stdio.h>
#include <string.h>

static const struct benchmark *const table[] = {
    &latency, &bandwidth, &bidirectional, &message_rate, &fan_in, &fan_out,
    &random_ring_latency, &random_ring_bandwidth, &natural_ring_bandwidth,
    &barrier, &allreduce, &reduce, &reduce_scatter, &broadcast, &allgather, &alltoall, &alltoallv,
    &gather, &scatter, &pairs,
};

/* The benchmark of that name, or NULL. */
const struct benchmark *find_benchmark(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

/* What an aggressor repeats, or NULL: pairs have rounds of their own. */
const struct benchmark *find_aggressor(const char *name) {
    if (strcmp(name, put_incast.name) == 0) return &put_incast;
    if (strcmp(name, get_broadcast.name) == 0) return &get_broadcast;
    const struct benchmark *found = find_benchmark(name);
    return found != NULL && found->loop != PAIRS ? found : NULL;
}

/* All names, for an error text. */
const char *benchmark_names(void) {
    static char names[MAX_LIST];
    names[0] = '\0';
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ",
                 table[i]->name);
    }
    return names;
}

/* Iterations and warm-up where the command line names none.
 * SOURCE: OSU Micro-Benchmarks 7.4, options of osu_latency, osu_bw, osu_mbw_mr, collectives; the
 * larger counts hold up to 8192 bytes. Rings: see ring.c. */
struct counts default_counts(const struct benchmark *benchmark, size_t bytes) {
    return bytes <= SMALL_MESSAGE ? benchmark->small : benchmark->large;
}

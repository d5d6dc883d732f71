/* barrier.c -- MPI_Barrier. Nothing is sent that could be validated. */
#include "weft.h"

static struct extent nothing(const struct job *job, size_t bytes) {
    (void)job;
    (void)bytes;
    return (struct extent){0, 0};
}

static void once(const struct job *job) { CHECK(MPI_Barrier(job->comm)); }

static void fill(const struct job *job, int iteration) {
    (void)job;
    (void)iteration;
}

static long n_wrong(const struct job *job, int iteration) {
    (void)job;
    (void)iteration;
    return 0;
}

const struct benchmark barrier = {
    .name = "barrier",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = false,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {1000, 100},
    .extent = nothing,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

/* allgather.c -- MPI_Allgather of bytes. As in OSU, the size is what each rank gives.
 *
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on n x size bytes (SOURCE: nccl-tests). */
#include "weft.h"

static struct extent one_and_all(const struct job *job, size_t bytes) {
    return (struct extent){bytes, bytes * (size_t)job->n_ranks};
}

static void once(const struct job *job) {
    CHECK(MPI_Allgather(job->send.at, (int)job->bytes, MPI_CHAR, job->receive.at,
                        (int)job->bytes, MPI_CHAR, job->comm));
}

static void fill(const struct job *job, int iteration) {
    size_t all = one_and_all(job, job->bytes).receive;
    fill_pattern(job->send.host, job->bytes, job->rank, iteration);
    fill_pattern(job->receive.host, all, job->rank, iteration + 128);
    publish_buffer(&job->send, job->bytes);
    publish_buffer(&job->receive, all);
}

/* Wrong bytes over all blocks received. */
static long n_wrong(const struct job *job, int iteration) {
    long n = 0;
    fetch_buffer(&job->receive, one_and_all(job, job->bytes).receive);
    for (int from = 0; from < job->n_ranks; from++)
        n += wrong_bytes(job->receive.host + (size_t)from * job->bytes, job->bytes, from,
                         iteration);
    return n;
}

const struct benchmark allgather = {
    .name = "allgather",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = true,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {100, 10},
    .extent = one_and_all,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

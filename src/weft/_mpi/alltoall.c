/* alltoall.c -- MPI_Alltoall of bytes. As in OSU, the size is what each rank sends to each other.
 *
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on n x size bytes (SOURCE: nccl-tests). */
#include "weft.h"

static struct extent block_for_each(const struct job *job, size_t bytes) {
    size_t all = bytes * (size_t)job->n_ranks;
    return (struct extent){all, all};
}

/* A block is known by who sent it to whom. */
int source_of(const struct job *job, int from, int to) { return from * job->n_ranks + to; }

static void once(const struct job *job) {
    CHECK(MPI_Alltoall(job->send.at, (int)job->bytes, MPI_CHAR, job->receive.at, (int)job->bytes,
                       MPI_CHAR, job->comm));
}

static void fill(const struct job *job, int iteration) {
    size_t all = block_for_each(job, job->bytes).receive;
    for (int to = 0; to < job->n_ranks; to++)
        fill_pattern(job->send.host + (size_t)to * job->bytes, job->bytes,
                     source_of(job, job->rank, to), iteration);
    fill_pattern(job->receive.host, all, job->rank, iteration + 128);
    publish_buffer(&job->send, all);
    publish_buffer(&job->receive, all);
}

/* Wrong bytes over all blocks received. */
static long n_wrong(const struct job *job, int iteration) {
    long n = 0;
    fetch_buffer(&job->receive, block_for_each(job, job->bytes).receive);
    for (int from = 0; from < job->n_ranks; from++)
        n += wrong_bytes(job->receive.host + (size_t)from * job->bytes, job->bytes,
                         source_of(job, from, job->rank), iteration);
    return n;
}

const struct benchmark alltoall = {
    .name = "alltoall",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = true,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {100, 10},
    .extent = block_for_each,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

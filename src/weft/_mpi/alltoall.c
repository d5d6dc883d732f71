/* alltoall.c -- MPI_Alltoall of bytes. As in OSU, the size is that from each rank to each other.
 *
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on n x size bytes (SOURCE: nccl-tests). */
#include "weft.h"

static struct extent block_for_each(const struct job *job, size_t bytes) {
    size_t all = bytes * (size_t)job->n_ranks;
    return (struct extent){all, all};
}

static void once(const struct job *job) {
    CHECK(MPI_Alltoall(job->send.at, (int)job->bytes, MPI_CHAR, job->receive.at, (int)job->bytes,
                       MPI_CHAR, job->comm));
}

/* Wrong bytes over all blocks received. */
static long n_wrong(const struct job *job, int iteration) {
    long n = 0;
    for (int from = 0; from < job->n_ranks; from++)
        n += wrong_bytes(job->receive.host + (size_t)from * job->bytes, job->bytes,
                         source_of(job, from, job->rank), iteration);
    return n;
}

const struct benchmark alltoall = {
    .name = "alltoall",
    COLLECTIVE(1),
    .extent = block_for_each,
    .once = once,
    .fill = fill_blocks,
    .n_wrong = n_wrong,
};

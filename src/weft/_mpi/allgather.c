/* allgather.c -- MPI_Allgather of bytes. As in OSU, the size is the bytes of each rank.
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

/* Wrong bytes over all blocks received. */
static long n_wrong(const struct job *job, int iteration) {
    return wrong_blocks(job, 0, iteration);
}

const struct benchmark allgather = {
    .name = "allgather",
    COLLECTIVE(1),
    .extent = one_and_all,
    .once = once,
    .fill = fill_own,
    .n_wrong = n_wrong,
};

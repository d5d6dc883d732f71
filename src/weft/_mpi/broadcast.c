/* broadcast.c -- MPI_Bcast of bytes from rank 0, which stays the root (SOURCE: OSU
 * Micro-Benchmarks 7.4, osu_bcast).
 *
 * Bus bandwidth = algorithm bandwidth (SOURCE: nccl-tests, PERFORMANCE.md). */
#include "weft.h"

static void once(const struct job *job) {
    void *at = job->rank == ROOT ? job->send.at : job->receive.at;
    CHECK(MPI_Bcast(at, (int)job->bytes, MPI_CHAR, ROOT, job->comm));
}

const struct benchmark broadcast = {
    .name = "broadcast",
    COLLECTIVE(1),
    .extent = message_extent,
    .once = once,
    .fill = fill_own,
    .n_wrong = wrong_from_root,
};

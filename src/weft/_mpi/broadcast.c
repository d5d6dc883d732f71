/* broadcast.c -- MPI_Bcast of bytes from rank 0, which stays the root (SOURCE: OSU
 * Micro-Benchmarks 7.4, osu_bcast).
 *
 * Bus bandwidth = algorithm bandwidth (SOURCE: nccl-tests, PERFORMANCE.md). */
#include "weft.h"

enum { ROOT = 0 };

static void once(const struct job *job) {
    void *at = job->rank == ROOT ? job->send.at : job->receive.at;
    CHECK(MPI_Bcast(at, (int)job->bytes, MPI_CHAR, ROOT, job->comm));
}

static void fill(const struct job *job, int iteration) {
    const struct buffer *mine = job->rank == ROOT ? &job->send : &job->receive;
    fill_pattern(mine->host, job->bytes, ROOT, job->rank == ROOT ? iteration : iteration + 128);
    publish_buffer(mine, job->bytes);
}

static long n_wrong(const struct job *job, int iteration) {
    if (job->rank == ROOT) return 0;
    fetch_buffer(&job->receive, job->bytes);
    return wrong_bytes(job->receive.host, job->bytes, ROOT, iteration);
}

const struct benchmark broadcast = {
    .name = "broadcast",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = true,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {100, 10},
    .extent = message_extent,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

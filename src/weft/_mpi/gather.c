/* gather.c -- MPI_Gather to rank 0 and MPI_Scatter from it, of bytes. The size is one rank's block.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4: osu_gather and osu_scatter keep their root at rank 0.
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on n x size bytes (SOURCE: nccl-tests). */
#include "weft.h"

static size_t all_blocks(const struct job *job, size_t bytes) {
    return bytes * (size_t)job->n_ranks;
}

static struct extent gather_extent(const struct job *job, size_t bytes) {
    return (struct extent){bytes, job->rank == ROOT ? all_blocks(job, bytes) : 0};
}

static struct extent scatter_extent(const struct job *job, size_t bytes) {
    return (struct extent){job->rank == ROOT ? all_blocks(job, bytes) : 0, bytes};
}

static void gather_once(const struct job *job) {
    CHECK(MPI_Gather(job->send.at, (int)job->bytes, MPI_CHAR, job->receive.at, (int)job->bytes,
                     MPI_CHAR, ROOT, job->comm));
}

static void scatter_once(const struct job *job) {
    CHECK(MPI_Scatter(job->send.at, (int)job->bytes, MPI_CHAR, job->receive.at, (int)job->bytes,
                      MPI_CHAR, ROOT, job->comm));
}

static void scatter_fill(const struct job *job, int iteration) {
    if (job->rank == ROOT) fill_blocks(job, iteration);
}

/* Wrong bytes over all blocks, which the root alone has. */
static long gather_n_wrong(const struct job *job, int iteration) {
    return job->rank == ROOT ? wrong_blocks(job, 0, iteration) : 0;
}

static long scatter_n_wrong(const struct job *job, int iteration) {
    return wrong_bytes(job->receive.host, job->bytes, source_of(job, ROOT, job->rank), iteration);
}

const struct benchmark gather = {
    .name = "gather",
    COLLECTIVE(1),
    .root_receives = true,
    .extent = gather_extent,
    .once = gather_once,
    .fill = fill_own,
    .n_wrong = gather_n_wrong,
};

const struct benchmark scatter = {
    .name = "scatter",
    COLLECTIVE(1),
    .extent = scatter_extent,
    .once = scatter_once,
    .fill = scatter_fill,
    .n_wrong = scatter_n_wrong,
};

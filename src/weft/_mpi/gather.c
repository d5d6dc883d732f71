/* gather.c -- MPI_Gather to rank 0 and MPI_Scatter from it, of bytes. The size is one rank's block.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4: osu_gather and osu_scatter keep their root at rank 0.
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on n x size bytes (SOURCE: nccl-tests). */
#include "weft.h"

enum { ROOT = 0 };

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

/* What is received is spoilt first. */
static void spoil(const struct job *job, size_t bytes, int iteration) {
    fill_pattern(job->receive.host, bytes, job->rank, iteration + 128);
    publish_buffer(&job->receive, bytes);
}

static void gather_fill(const struct job *job, int iteration) {
    fill_pattern(job->send.host, job->bytes, job->rank, iteration);
    publish_buffer(&job->send, job->bytes);
    spoil(job, gather_extent(job, job->bytes).receive, iteration);
}

static void scatter_fill(const struct job *job, int iteration) {
    for (int to = 0; job->rank == ROOT && to < job->n_ranks; to++)
        fill_pattern(job->send.host + (size_t)to * job->bytes, job->bytes,
                     source_of(job, ROOT, to), iteration);
    publish_buffer(&job->send, scatter_extent(job, job->bytes).send);
    spoil(job, job->bytes, iteration);
}

/* Wrong bytes over all blocks, which the root alone has. */
static long gather_n_wrong(const struct job *job, int iteration) {
    long n = 0;
    fetch_buffer(&job->receive, gather_extent(job, job->bytes).receive);
    for (int from = 0; job->rank == ROOT && from < job->n_ranks; from++)
        n += wrong_bytes(job->receive.host + (size_t)from * job->bytes, job->bytes, from,
                         iteration);
    return n;
}

static long scatter_n_wrong(const struct job *job, int iteration) {
    fetch_buffer(&job->receive, job->bytes);
    return wrong_bytes(job->receive.host, job->bytes, source_of(job, ROOT, job->rank), iteration);
}

const struct benchmark gather = {
    .name = "gather",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = true,
    .root_receives = true,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {100, 10},
    .extent = gather_extent,
    .once = gather_once,
    .fill = gather_fill,
    .n_wrong = gather_n_wrong,
};

const struct benchmark scatter = {
    .name = "scatter",
    .loop = SYNCHRONISED,
    .parties = EVERYONE,
    .has_sizes = true,
    .element_bytes = 1,
    .small = {1000, 100},
    .large = {100, 10},
    .extent = scatter_extent,
    .once = scatter_once,
    .fill = scatter_fill,
    .n_wrong = scatter_n_wrong,
};

/* reduce.c -- MPI_Reduce to rank 0, and MPI_Reduce_scatter; sums of MPI_FLOAT.
 *
 * The size is that of one rank's vector. SOURCE: OSU Micro-Benchmarks 7.4: osu_reduce keeps its
 * root at rank 0; osu_reduce_scatter gives the first ranks one element more where the vector does
 * not divide evenly.
 *
 * Bus bandwidth = algorithm bandwidth (reduce), x (n-1)/n (reduce_scatter), n ranks (SOURCE:
 * nccl-tests, PERFORMANCE.md). */
#include "weft.h"

static int elements(const struct job *job) { return (int)(job->bytes / sizeof(float)); }

static void reduce_once(const struct job *job) {
    CHECK(MPI_Reduce(job->send.at, job->receive.at, elements(job), MPI_FLOAT, MPI_SUM, ROOT,
                     job->comm));
}

static long reduce_n_wrong(const struct job *job, int iteration) {
    return job->rank == ROOT ? wrong_sums(job, 0, (size_t)elements(job), iteration) : 0;
}

/* Who keeps which part of the sum. */
static void share_out(struct job *job) {
    int each = elements(job) / job->n_ranks, longer = elements(job) % job->n_ranks;
    for (int rank = 0, start = 0; rank < job->n_ranks; rank++) {
        job->received.starts[rank] = start;
        job->received.counts[rank] = each + (rank < longer);
        start += job->received.counts[rank];
    }
}

static void reduce_scatter_once(const struct job *job) {
    CHECK(MPI_Reduce_scatter(job->send.at, job->receive.at, job->received.counts, MPI_FLOAT,
                             MPI_SUM, job->comm));
}

static long reduce_scatter_n_wrong(const struct job *job, int iteration) {
    return wrong_sums(job, (size_t)job->received.starts[job->rank],
                      (size_t)job->received.counts[job->rank], iteration);
}

const struct benchmark reduce = {
    .name = "reduce",
    COLLECTIVE(sizeof(float)),
    .root_receives = true,
    .extent = message_extent,
    .once = reduce_once,
    .fill = fill_terms,
    .n_wrong = reduce_n_wrong,
};

const struct benchmark reduce_scatter = {
    .name = "reduce_scatter",
    COLLECTIVE(sizeof(float)),
    .extent = message_extent,
    .prepare = share_out,
    .once = reduce_scatter_once,
    .fill = fill_terms,
    .n_wrong = reduce_scatter_n_wrong,
};

/* allreduce.c -- MPI_Allreduce, sum of MPI_FLOAT. The size is that of one rank's vector.
 *
 * Bus bandwidth = algorithm bandwidth x 2(n-1)/n, n ranks (SOURCE: nccl-tests, PERFORMANCE.md). */
#include "weft.h"

/* Every rank adds small whole numbers, so the sum is exact in a float whatever the order: seven
 * times the number of ranks stays below 2^24. */
static float term(int rank, size_t index, int iteration) {
    return (float)(((size_t)rank + index + (size_t)iteration) & 7);
}

/* The exact sum over ranks: terms repeat every eight ranks, and eight in a row add up to 28. */
static float sum_of_terms(int n_ranks, size_t index, int iteration) {
    float sum = (float)(n_ranks / 8) * 28;
    for (int rank = 0; rank < n_ranks % 8; rank++) sum += term(rank, index, iteration);
    return sum;
}

static size_t vector_bytes(size_t bytes, int n_ranks) {
    (void)n_ranks;
    return bytes;
}

static void once(const struct job *job) {
    int n_elements = (int)(job->bytes / sizeof(float));
    CHECK(MPI_Allreduce(job->send.at, job->receive.at, n_elements, MPI_FLOAT, MPI_SUM, job->comm));
}

static void fill(const struct job *job, int iteration) {
    float *send = (float *)(void *)job->send.host, *receive = (float *)(void *)job->receive.host;
    for (size_t i = 0; i < job->bytes / sizeof(float); i++) {
        send[i] = term(job->rank, i, iteration);
        receive[i] = -1;
    }
    publish_buffer(&job->send, job->bytes);
    publish_buffer(&job->receive, job->bytes);
}

/* Wrong elements of the result. */
static long n_wrong(const struct job *job, int iteration) {
    const float *receive = (const float *)(const void *)job->receive.host;
    long n = 0;
    fetch_buffer(&job->receive, job->bytes);
    for (size_t i = 0; i < job->bytes / sizeof(float); i++) {
        float expected = sum_of_terms(job->n_ranks, i, iteration);
        n += receive[i] < expected || receive[i] > expected || receive[i] != receive[i];
    }
    return n;
}

const struct benchmark allreduce = {
    .name = "allreduce",
    .loop = SYNCHRONISED,
    .has_sizes = true,
    .element_bytes = sizeof(float),
    .small = {1000, 100},
    .large = {100, 10},
    .buffer_bytes = vector_bytes,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

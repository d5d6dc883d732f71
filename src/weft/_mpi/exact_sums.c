/* exact_sums.c -- vectors of floats whose sum over ranks is known exactly. */
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

/* Write this rank's vector of job->bytes. */
void fill_terms(const struct job *job, int iteration) {
    float *send = (float *)(void *)job->send.host;
    for (size_t i = 0; i < job->bytes / sizeof(float); i++)
        send[i] = term(job->rank, i, iteration);
}

/* Wrong elements among the n received, which are those from `first` on of the summed vector. */
long wrong_sums(const struct job *job, size_t first, size_t n, int iteration) {
    const float *receive = (const float *)(const void *)job->receive.host;
    long wrong = 0;
    for (size_t i = 0; i < n; i++) {
        float expected = sum_of_terms(job->n_ranks, first + i, iteration);
        wrong += receive[i] < expected || receive[i] > expected || receive[i] != receive[i];
    }
    return wrong;
}

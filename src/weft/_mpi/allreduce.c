/* allreduce.c -- MPI_Allreduce, sum of MPI_FLOAT. The size is that of one rank's vector.
 *
 * Bus bandwidth = algorithm bandwidth x 2(n-1)/n, n ranks (SOURCE: nccl-tests, PERFORMANCE.md). */
#include "weft.h"

static void once(const struct job *job) {
    int n_elements = (int)(job->bytes / sizeof(float));
    CHECK(MPI_Allreduce(job->send.at, job->receive.at, n_elements, MPI_FLOAT, MPI_SUM, job->comm));
}

/* Wrong elements of the result. */
static long n_wrong(const struct job *job, int iteration) {
    return wrong_sums(job, 0, job->bytes / sizeof(float), iteration);
}

const struct benchmark allreduce = {
    .name = "allreduce",
    COLLECTIVE(sizeof(float)),
    .extent = message_extent,
    .once = once,
    .fill = fill_terms,
    .n_wrong = n_wrong,
};

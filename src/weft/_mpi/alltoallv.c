/* alltoallv.c -- MPI_Alltoallv of bytes. The size is the mean block from each rank to each.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4, osu_alltoallv: all blocks have the size. With --skew S the
 * block from i to j has size x (1 + S x u), u between -1 and 1 from a fixed hash of (i, j).
 *
 * Bus bandwidth = algorithm bandwidth x (n-1)/n on the bytes of the rank that sends or receives
 * most (SOURCE: nccl-tests, src/alltoallv.cu). */
#include "weft.h"

/* The block from one rank to another, in bytes: rounded down, in whole numbers, so that every
 * machine has the same. size x skew x u needs 70 bits: size is cut into two halves of 15. */
static int block_bytes(int64_t size, int64_t skew, int from, int to) {
    enum { HALF = 15, U_BITS = 21, WHOLE_BITS = 40 };
    uint64_t key = (uint64_t)from << 32 | (uint64_t)to;
    int64_t u = (int64_t)(mixed(key) >> (64 - U_BITS)) - WHOLE_SKEW, part = skew * u;
    int64_t high = size >> HALF, low = size & ((1 << HALF) - 1);
    return (int)(size + ((high * part + ((low * part) >> HALF)) >> (WHOLE_BITS - HALF)));
}

/* The sizes of all blocks I send and receive, one behind the other. */
static void lay_out(struct job *job) {
    int sent = 0, received = 0;
    for (int other = 0; other < job->n_ranks; other++) {
        job->sent.starts[other] = sent;
        job->received.starts[other] = received;
        job->sent.counts[other] =
            block_bytes((int64_t)job->bytes, job->skew, job->rank, other);
        job->received.counts[other] =
            block_bytes((int64_t)job->bytes, job->skew, other, job->rank);
        sent += job->sent.counts[other];
        received += job->received.counts[other];
    }
}

static struct extent all_blocks(const struct job *job, size_t bytes) {
    struct extent all = {0, 0};
    for (int other = 0; other < job->n_ranks; other++) {
        all.send += (size_t)block_bytes((int64_t)bytes, job->skew, job->rank, other);
        all.receive += (size_t)block_bytes((int64_t)bytes, job->skew, other, job->rank);
    }
    return all;
}

static void once(const struct job *job) {
    CHECK(MPI_Alltoallv(job->send.at, job->sent.counts, job->sent.starts, MPI_CHAR,
                        job->receive.at, job->received.counts, job->received.starts, MPI_CHAR,
                        job->comm));
}

static void fill(const struct job *job, int iteration) {
    for (int to = 0; to < job->n_ranks; to++)
        fill_pattern(job->send.host + job->sent.starts[to], (size_t)job->sent.counts[to],
                     source_of(job, job->rank, to), iteration);
}

/* Wrong bytes over all blocks received. */
static long n_wrong(const struct job *job, int iteration) {
    long n = 0;
    for (int from = 0; from < job->n_ranks; from++)
        n += wrong_bytes(job->receive.host + job->received.starts[from],
                         (size_t)job->received.counts[from], source_of(job, from, job->rank),
                         iteration);
    return n;
}

const struct benchmark alltoallv = {
    .name = "alltoallv",
    COLLECTIVE(1),
    .extent = all_blocks,
    .prepare = lay_out,
    .once = once,
    .fill = fill,
    .n_wrong = n_wrong,
};

/* latency.c -- round trips between two ranks, and the calls all point-to-point benchmarks share.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4, osu_latency: blocking send and receive, rank 0 times. One
 * iteration is the round trip; half of it is the latency. */
#include "weft.h"

#include <sched.h>

/* gcc takes MPICH's MPI_STATUSES_IGNORE, a constant address, for an array without room. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { TAG_LATENCY = 1 };

/* Wait for n requests. With more ranks than CPUs the CPU is given away between looks: the partner
 * may need it. */
void wait_all(const struct job *job, int n, MPI_Request *requests) {
    int done = 0;
    if (!job->yields) {
        CHECK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        return;
    }
    while (!done) {
        CHECK(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
        if (!done) sched_yield();
    }
}

/* Send the first `bytes` of the send buffer to my peer; back when the buffer may be reused. */
void send_bytes(const struct job *job, size_t bytes, int tag) {
    if (!job->yields) {
        CHECK(MPI_Send(job->send.at, (int)bytes, MPI_CHAR, job->peer, tag, job->comm));
        return;
    }
    MPI_Request request;
    CHECK(MPI_Isend(job->send.at, (int)bytes, MPI_CHAR, job->peer, tag, job->comm, &request));
    wait_all(job, 1, &request);
}

/* Receive `bytes` from my peer. */
void receive_bytes(const struct job *job, size_t bytes, int tag) {
    if (!job->yields) {
        CHECK(MPI_Recv(job->receive.at, (int)bytes, MPI_CHAR, job->peer, tag, job->comm,
                       MPI_STATUS_IGNORE));
        return;
    }
    MPI_Request request;
    CHECK(MPI_Irecv(job->receive.at, (int)bytes, MPI_CHAR, job->peer, tag, job->comm, &request));
    wait_all(job, 1, &request);
}

/* The leader sends and waits for the answer; its partner answers. */
static void once(const struct job *job) {
    if (job->leads) {
        send_bytes(job, job->bytes, TAG_LATENCY);
        receive_bytes(job, job->bytes, TAG_LATENCY);
    } else {
        receive_bytes(job, job->bytes, TAG_LATENCY);
        send_bytes(job, job->bytes, TAG_LATENCY);
    }
}

/* Who made up the message I receive: my peer, but where messages bounce always the leader. */
static int origin(const struct job *job) {
    return job->bounces && job->leads ? job->rank : job->peer;
}

/* Both sides prepare the message they send; where messages bounce only the leader makes one up. */
void message_fill(const struct job *job, int iteration) {
    if (!job->bounces || job->leads) fill_own(job, iteration);
}

/* Wrong bytes in the received message. */
long message_n_wrong(const struct job *job, int iteration) {
    return wrong_bytes(job->receive.host, job->bytes, origin(job), iteration);
}

struct extent message_extent(const struct job *job, size_t bytes) {
    (void)job;
    return (struct extent){bytes, bytes};
}

const struct benchmark latency = {
    .name = "latency",
    .loop = BACK_TO_BACK,
    .has_sizes = true,
    .element_bytes = 1,
    .small = {10000, 100},
    .large = {1000, 10},
    .extent = message_extent,
    .once = once,
    .fill = message_fill,
    .n_wrong = message_n_wrong,
};

/* fan.c -- one rank against all others: windows from all to it, or from it to all.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4, osu_bw_fan_in and osu_bw_fan_out: a window of non-blocking
 * messages with each other rank, all waited for, then a short acknowledgement from the
 * receivers; the clock of the one rank. OSU pairs equal local ranks of different nodes; here rank 0
 * is the one, and the ranks of its own node are among the others. */
#include "weft.h"

static int others(const struct job *job) { return job->n_ranks - 1; }

/* The root needs a request for each message of each window. */
static size_t n_requests(const struct job *job) {
    return (size_t)job->window * (size_t)(job->rank == ROOT ? others(job) : 1);
}

/* The root's place for the messages of a rank; each rank has its own. */
static unsigned char *place(const struct job *job, int from, size_t bytes) {
    return (unsigned char *)job->receive.at + (size_t)(from - 1) * bytes;
}

/* The root, which is the peer of all: one message of every rank's window after the other, and an
 * answer to or from each. */
static void receive_from_all(const struct job *job) {
    MPI_Request *next = job->requests;
    for (int i = 0; i < job->window; i++)
        for (int from = 1; from < job->n_ranks; from++)
            CHECK(MPI_Irecv(place(job, from, job->bytes), (int)job->bytes, MPI_CHAR, from,
                            TAG_WINDOW, job->comm, next++));
    wait_all(job, others(job) * job->window, job->requests);
    for (int to = 1; to < job->n_ranks; to++)
        CHECK(MPI_Isend(job->send.at, ACK_BYTES, MPI_CHAR, to, TAG_ACK, job->comm,
                        &job->requests[to - 1]));
    wait_all(job, others(job), job->requests);
}

static void send_to_all(const struct job *job) {
    MPI_Request *next = job->requests;
    for (int i = 0; i < job->window; i++)
        for (int to = 1; to < job->n_ranks; to++)
            CHECK(MPI_Isend(job->send.at, (int)job->bytes, MPI_CHAR, to, TAG_WINDOW, job->comm,
                            next++));
    wait_all(job, others(job) * job->window, job->requests);
    for (int from = 1; from < job->n_ranks; from++)
        CHECK(MPI_Irecv(place(job, from, ACK_BYTES), ACK_BYTES, MPI_CHAR, from, TAG_ACK,
                        job->comm, &job->requests[from - 1]));
    wait_all(job, others(job), job->requests);
}

static void fan_in_once(const struct job *job) {
    if (job->rank == ROOT)
        receive_from_all(job);
    else
        send_window(job);
}

static void fan_out_once(const struct job *job) {
    if (job->rank == ROOT)
        send_to_all(job);
    else
        receive_window(job);
}

static struct extent fan_in_extent(const struct job *job, size_t bytes) {
    size_t n = job->rank == ROOT ? (size_t)others(job) * bytes : ACK_BYTES;
    return (struct extent){bytes > ACK_BYTES ? bytes : ACK_BYTES, n};
}

static struct extent fan_out_extent(const struct job *job, size_t bytes) {
    size_t n = job->rank == ROOT ? (size_t)others(job) * ACK_BYTES : bytes;
    return (struct extent){bytes > ACK_BYTES ? bytes : ACK_BYTES, n};
}

static long fan_in_n_wrong(const struct job *job, int iteration) {
    return job->rank == ROOT ? wrong_blocks(job, 1, iteration) : 0;
}

const struct benchmark fan_in = {
    .name = "fan_in",
    .loop = SYNCHRONISED,
    .parties = FAN,
    WINDOWS_OF_64,
    .root_receives = true,
    .extent = fan_in_extent,
    .n_requests = n_requests,
    .once = fan_in_once,
    .fill = fill_own,
    .n_wrong = fan_in_n_wrong,
};

const struct benchmark fan_out = {
    .name = "fan_out",
    .loop = SYNCHRONISED,
    .parties = FAN,
    WINDOWS_OF_64,
    .extent = fan_out_extent,
    .n_requests = n_requests,
    .once = fan_out_once,
    .fill = fill_own,
    .n_wrong = wrong_from_root,
};

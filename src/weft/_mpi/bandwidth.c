/* bandwidth.c -- windows of messages: one way, both ways, and many pairs at once.
 *
 * SOURCE: OSU Micro-Benchmarks 7.4. osu_bw: a window of non-blocking sends from one buffer, all
 * waited for, then a short acknowledgement; the sender's clock. osu_bibw: both sides post a
 * window of receives, then of sends, no acknowledgement. osu_mbw_mr: osu_bw between the pairs
 * (i, i + p/2), a barrier before every window. One iteration is one window. */
#include "weft.h"

/* Post a window of sends or receives into requests[first ..]. */
static void post_sends(const struct job *job, int first) {
    for (int i = 0; i < job->window; i++)
        CHECK(MPI_Isend(job->send.at, (int)job->bytes, MPI_CHAR, job->peer, TAG_WINDOW, job->comm,
                        &job->requests[first + i]));
}

static void post_receives(const struct job *job, int first) {
    for (int i = 0; i < job->window; i++)
        CHECK(MPI_Irecv(job->receive.at, (int)job->bytes, MPI_CHAR, job->peer, TAG_WINDOW,
                        job->comm, &job->requests[first + i]));
}

/* A window to my peer, and its acknowledgement. */
void send_window(const struct job *job) {
    post_sends(job, 0);
    wait_all(job, job->window, job->requests);
    receive_bytes(job, ACK_BYTES, TAG_ACK);
}

void receive_window(const struct job *job) {
    post_receives(job, 0);
    wait_all(job, job->window, job->requests);
    send_bytes(job, ACK_BYTES, TAG_ACK);
}

static void one_way_once(const struct job *job) {
    if (job->leads)
        send_window(job);
    else
        receive_window(job);
}

/* Both ways at once. */
static void bidirectional_once(const struct job *job) {
    post_receives(job, 0);
    post_sends(job, job->window);
    wait_all(job, job->window, job->requests + job->window);
    wait_all(job, job->window, job->requests);
}

/* Only the partner received the window; the leader's buffer holds an acknowledgement. */
static long one_way_n_wrong(const struct job *job, int iteration) {
    return job->leads ? 0 : message_n_wrong(job, iteration);
}

/* The acknowledgement needs a byte even where messages are empty. */
static struct extent window_extent(const struct job *job, size_t bytes) {
    (void)job;
    size_t room = bytes > ACK_BYTES ? bytes : ACK_BYTES;
    return (struct extent){room, room};
}

const struct benchmark bandwidth = {
    .name = "bandwidth",
    .loop = BACK_TO_BACK,
    WINDOWS_OF_64,
    .extent = window_extent,
    .once = one_way_once,
    .fill = message_fill,
    .n_wrong = one_way_n_wrong,
};

const struct benchmark bidirectional = {
    .name = "bidirectional",
    .loop = BACK_TO_BACK,
    WINDOWS_OF_64,
    .extent = window_extent,
    .once = bidirectional_once,
    .fill = message_fill,
    .n_wrong = message_n_wrong,
};

const struct benchmark message_rate = {
    .name = "message_rate",
    .loop = SYNCHRONISED,
    .parties = HALVES,
    WINDOWS_OF_64,
    .extent = window_extent,
    .once = one_way_once,
    .fill = message_fill,
    .n_wrong = one_way_n_wrong,
};

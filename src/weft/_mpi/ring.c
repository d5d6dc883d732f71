/* ring.c -- every rank exchanges with both neighbours of a ring, natural or random.
 *
 * SOURCE: HPC Challenge 1.5, bench_lat_bw, and GPCNeT 1.3, random_ring: two receives and two sends
 * a message of the window, all waited for; half of the time is the latency; a rank's bandwidth
 * counts the bytes that it sends to both. 30 random rings, as both draw, but from a seed in the
 * record: ring k is the order of seed + k. The iterations of a series are shared out among its
 * rings. A closing barrier is that of GPCNeT's BW+Sync. */
#include "weft.h"

enum { TAG_TO_RIGHT = 41, TAG_TO_LEFT = 42 };

static size_t n_requests(const struct job *job) { return 4 * (size_t)job->window; }

/* In each buffer: the message to (from) the left, then the right. */
static struct extent two_messages(const struct job *job, size_t bytes) {
    (void)job;
    return (struct extent){2 * bytes, 2 * bytes};
}

/* Take my place in the ring whose order is written. */
static void sit_down(struct ring *ring, const struct job *job) {
    int n = job->n_ranks, seat = 0;
    while (ring->order[seat] != job->rank) seat++;
    ring->left = ring->order[(seat + n - 1) % n];
    ring->right = ring->order[(seat + 1) % n];
}

static void draw(struct job *job, int number) {
    job->ring.number = number;
    shuffle(job->ring.order, job->n_ranks, job->ring.seed + (uint64_t)number);
    sit_down(&job->ring, job);
}

static void draw_first(struct job *job) { draw(job, 0); }

static void take_natural(struct job *job) {
    for (int rank = 0; rank < job->n_ranks; rank++) job->ring.order[rank] = rank;
    sit_down(&job->ring, job);
}

static void once(const struct job *job) {
    const struct ring *ring = &job->ring;
    char *send = job->send.at, *receive = job->receive.at;
    size_t right = job->bytes;
    MPI_Request *next = job->requests;
    int n = (int)job->bytes;
    for (int i = 0; i < job->window; i++) {
        CHECK(MPI_Irecv(receive, n, MPI_CHAR, ring->left, TAG_TO_RIGHT, job->comm, next++));
        CHECK(MPI_Irecv(receive + right, n, MPI_CHAR, ring->right, TAG_TO_LEFT, job->comm, next++));
    }
    for (int i = 0; i < job->window; i++) {
        CHECK(MPI_Isend(send + right, n, MPI_CHAR, ring->right, TAG_TO_RIGHT, job->comm, next++));
        CHECK(MPI_Isend(send, n, MPI_CHAR, ring->left, TAG_TO_LEFT, job->comm, next++));
    }
    wait_all(job, 4 * job->window, job->requests);
    if (job->closing_barrier) CHECK(MPI_Barrier(job->comm));
}

/* The next ring where its share of the iterations begins. Neighbours who meet for the first time
 * pay for it in an exchange of its own, once all have left the ring before. */
static void next_ring(struct job *job, int iteration, int n_iterations) {
    int n_rings = job->ring.most < n_iterations ? job->ring.most : n_iterations;
    int number = (int)((int64_t)iteration * n_rings / n_iterations);
    if (number == job->ring.number) return;
    draw(job, number);
    CHECK(MPI_Barrier(job->comm));
    once(job);
}

/* A message is known by who sent it, and to which side. */
enum { TO_LEFT, TO_RIGHT };
static int sent_by(int rank, int side) { return 2 * rank + side; }

static void fill(const struct job *job, int iteration) {
    for (int side = TO_LEFT; side <= TO_RIGHT; side++)
        fill_pattern(job->send.host + (size_t)side * job->bytes, job->bytes,
                     sent_by(job->rank, side), iteration);
}

/* Wrong bytes from both sides. */
static long n_wrong(const struct job *job, int iteration) {
    const struct ring *ring = &job->ring;
    return wrong_bytes(job->receive.host, job->bytes, sent_by(ring->left, TO_RIGHT), iteration) +
           wrong_bytes(job->receive.host + job->bytes, job->bytes,
                       sent_by(ring->right, TO_LEFT), iteration);
}

/* What the three have in common. */
#define RING_OF_ALL \
    .loop = SYNCHRONISED, .parties = RING, .has_sizes = true, .has_window = true, \
    .element_bytes = 1, .large = {240, 8}, .extent = two_messages, .n_requests = n_requests, \
    .once = once, .fill = fill, .n_wrong = n_wrong

const struct benchmark random_ring_latency = {
    .name = "random_ring_latency",
    RING_OF_ALL,
    .small = {1200, 40},
    .default_window = 1,
    .prepare = draw_first,
    .turn = next_ring,
};

const struct benchmark random_ring_bandwidth = {
    .name = "random_ring_bandwidth",
    RING_OF_ALL,
    .small = {240, 8},
    .default_window = 8,
    .prepare = draw_first,
    .turn = next_ring,
};

const struct benchmark natural_ring_bandwidth = {
    .name = "natural_ring_bandwidth",
    RING_OF_ALL,
    .small = {240, 8},
    .default_window = 8,
    .prepare = take_natural,
};

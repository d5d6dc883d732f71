/* pairs.c -- rounds of pairs inside one launch: latency, then bandwidth each way.
 *
 * All pairs of a round run at once, and all ranks meet between the phases of a round, so that the
 * pairs load the fabric together. Each pair talks untimed first: first contact of two ranks costs
 * milliseconds. After a round the series go to rank 0, which writes them. */
#include "weft.h"

#include <stdlib.h>

enum { N_PHASES = 3, TAG_SERIES = 21, TAG_SWAP = 22 };

/* A phase: what is timed, at which of the two sizes, and whether b sends instead of a. */
static const struct phase {
    const char *kind;
    const struct benchmark *benchmark;
    int size;
    bool b_leads;
} phases[N_PHASES] = {
    {"latency", &latency, 0, false},
    {"bandwidth_ab", &bandwidth, 1, false},
    {"bandwidth_ba", &bandwidth, 1, true},
};

/* What a phase of one pair gave: counts, wrong bytes, times. One block, to be sent as it is. */
enum { ITERATIONS, WARMUP, N_WRONG, TIMES };

const struct benchmark pairs = {
    .name = "pairs",
    .loop = PAIRS,
    .has_sizes = false,
    .has_window = true,
    .element_bytes = 1,
    .small = {200, 20},
    .large = {20, 2},
    .default_window = 16,
};

/* A barrier of everyone, which gives CPUs away where there are fewer than ranks. */
static void meet(const struct job *job) {
    if (job->yields)
        wait_quietly(job->comm);
    else
        CHECK(MPI_Barrier(job->comm));
}

/* Point the job at its partner for one phase. */
static void aim(struct job *job, const struct group *group, const struct phase *phase,
                struct pair pair) {
    int leader = phase->b_leads ? pair.b : pair.a;
    job->leads = job->rank == leader;
    job->peer = job->rank == pair.a ? pair.b : pair.a;
    job->bytes = (size_t)group->pair_sizes[phase->size];
}

/* Iterations and warm-up of a phase; `pairs` keeps its own defaults whatever the sizes. */
static struct counts counts_of(const struct group *group, const struct phase *phase) {
    struct counts counts = phase->size == 0 ? pairs.small : pairs.large;
    if (group->iterations != UNSET) counts.iterations = group->iterations;
    if (group->warmup != UNSET) counts.warmup = group->warmup;
    return counts;
}

/* First contact of a pair, and the warm-up of every phase; at least one message each way. */
static void warm_up(struct job *job, const struct group *group, struct pair pair) {
    for (const struct phase *phase = phases; phase < phases + N_PHASES; phase++) {
        aim(job, group, phase, pair);
        int n = counts_of(group, phase).warmup;
        for (int i = 0; i < (n > 0 ? n : 1); i++) phase->benchmark->once(job);
    }
}

/* My partner's number for mine. */
static int64_t swap(const struct job *job, int64_t mine) {
    int64_t theirs;
    CHECK(MPI_Sendrecv(&mine, 1, MPI_INT64_T, job->peer, TAG_SWAP, &theirs, 1, MPI_INT64_T,
                       job->peer, TAG_SWAP, job->comm, MPI_STATUS_IGNORE));
    return theirs;
}

/* Fewer iterations where the slower of the two partners would exceed the time limit. */
static struct counts within_limit(const struct job *job, const struct group *group,
                                  const struct phase *phase, struct counts counts) {
    if (group->max_seconds <= 0) return counts;
    int64_t mine_ns = typical_ns(job, phase->benchmark->once), theirs_ns = swap(job, mine_ns);
    return affordable(counts, group->max_seconds, mine_ns > theirs_ns ? mine_ns : theirs_ns);
}

/* Run one phase of my pair and leave its block in `out`. */
static void run_phase(struct job *job, const struct group *group, const struct phase *phase,
                      struct pair pair, int64_t *out) {
    aim(job, group, phase, pair);
    struct counts counts = within_limit(job, group, phase, counts_of(group, phase));
    out[ITERATIONS] = counts.iterations;
    out[WARMUP] = counts.warmup;
    time_back_to_back(job, phase->benchmark->once, counts.iterations, out + TIMES);
    if (!group->validate) return;
    out[N_WRONG] = validate(job, phase->benchmark, counts.iterations);
    out[N_WRONG] += swap(job, out[N_WRONG]);
}

static void write_pair_row(const struct group *group, const struct phase *phase, int window,
                           struct pair pair, int round, int n_concurrent, const int64_t *block) {
    json_open("pair_row");
    json_text("benchmark", pairs.name);
    json_int("round", round);
    json_int("n_concurrent", n_concurrent);
    json_int("rank_a", pair.a);
    json_int("rank_b", pair.b);
    json_int("size_bytes", group->pair_sizes[phase->size]);
    json_text("kind", phase->kind);
    json_int("iterations", block[ITERATIONS]);
    json_int("warmup", block[WARMUP]);
    if (phase->benchmark->has_window)
        json_int("window", window);
    else
        json_null("window");
    json_ints("times_ns", block + TIMES, (int)block[ITERATIONS]);
    json_bool("validated", group->validate);
    json_int("n_errors", block[N_WRONG]);
    json_close();
}

/* Bring the block of one phase of one pair to rank 0. `mine` is my own block of that phase,
 * `room` space for a partner's; n covers the longest series. Returns the block at rank 0, NULL
 * elsewhere. */
static const int64_t *fetch_block(const struct job *job, int timer, int n, const int64_t *mine,
                                  int64_t *room) {
    if (job->rank == 0 && timer == 0) return mine;
    if (job->rank == 0)
        CHECK(MPI_Recv(room, n, MPI_INT64_T, timer, TAG_SERIES, job->comm, MPI_STATUS_IGNORE));
    if (job->rank == timer)
        CHECK(MPI_Send(mine, n, MPI_INT64_T, 0, TAG_SERIES, job->comm));
    return job->rank == 0 ? room : NULL;
}

/* One round: every pair warms up, then the phases, then the records in the order of the pairs. */
static void run_round(struct job *job, const struct group *group, int round,
                      const struct pair *of_round, int n_concurrent, int64_t *blocks[]) {
    const struct pair *mine = NULL;
    for (int i = 0; i < n_concurrent; i++)
        if (of_round[i].a == job->rank || of_round[i].b == job->rank) mine = &of_round[i];
    if (mine != NULL) warm_up(job, group, *mine);
    if (round == 0) test_hook();
    for (int k = 0; k < N_PHASES; k++) {
        meet(job);
        if (mine != NULL) run_phase(job, group, &phases[k], *mine, blocks[k]);
    }
    meet(job);
    for (int i = 0; i < n_concurrent; i++) {
        for (int k = 0; k < N_PHASES; k++) {
            int timer = phases[k].b_leads ? of_round[i].b : of_round[i].a;
            int n = TIMES + counts_of(group, &phases[k]).iterations;
            const int64_t *block = fetch_block(job, timer, n, blocks[k], blocks[N_PHASES]);
            if (block != NULL)
                write_pair_row(group, &phases[k], job->window, of_round[i], round, n_concurrent,
                               block);
        }
    }
}

/* The job of a rank: buffers for the larger size, partners to be chosen round by round. */
static void open_job(const struct world *world, const struct group *group, enum memory memory,
                     struct job *job) {
    long small = group->pair_sizes[0], large = group->pair_sizes[1];
    size_t bytes = (size_t)(small > large ? small : large) + 1; /* + 1: the acknowledgement */
    *job = (struct job){.rank = world->rank, .n_ranks = world->n_ranks, .batch = 1};
    job->yields = world->oversubscribed;
    job->window = group->window == UNSET ? pairs.default_window : group->window;
    job->send = open_buffer(memory, bytes, true);
    job->receive = open_buffer(memory, bytes, true);
    job->requests = claim((size_t)job->window, sizeof *job->requests);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &job->comm));
}

/* All rounds of the schedule. Collective over the world. */
void run_pairs(const struct world *world, const struct group *group, enum memory memory,
               const struct schedule *schedule) {
    struct job job;
    int64_t *blocks[N_PHASES + 1] = {NULL};
    size_t longest = 0;
    open_job(world, group, memory, &job);
    for (int k = 0; k < N_PHASES; k++) {
        size_t n = (size_t)TIMES + (size_t)counts_of(group, &phases[k]).iterations;
        blocks[k] = claim(n, sizeof(int64_t));
        if (n > longest) longest = n;
    }
    blocks[N_PHASES] = claim(longest, sizeof(int64_t));
    struct pair *of_round = claim((size_t)world->n_ranks, sizeof *of_round);
    for (int round = 0; round < schedule->n_rounds; round++) {
        int n = pairs_of_round(schedule, round, of_round);
        run_round(&job, group, round, of_round, n, blocks);
    }
    free(of_round);
    for (int k = 0; k <= N_PHASES; k++) free(blocks[k]);
    free(job.requests);
    close_buffer(&job.send);
    close_buffer(&job.receive);
    CHECK(MPI_Comm_free(&job.comm));
}

/* pairs.c -- rounds of pairs inside one launch: latency, bandwidth each way, both ways at once.
 *
 * All pairs of a round run at once, and their ranks meet before each phase, so that the pairs load
 * the fabric together. Each pair talks untimed first: first contact of two ranks costs
 * milliseconds. Rank 0 starts each round by a message to those who take part, and gets from each
 * pair its measurements; a rank without a partner in a round sleeps through it. */
#include "weft.h"

#include <stdlib.h>
#include <string.h>

enum { N_KINDS = 4, MAX_TIMES = 33 };
enum { TAG_SERIES = 21, TAG_SWAP = 22, TAG_MEET = 23, TAG_START = 24 };
enum { RANKS_A_CPU = 4 };

const char *const phase_names[N_PHASES] = {"latency", "bandwidth", "bidirectional"};
enum { LATENCY, BANDWIDTH, BIDIRECTIONAL, DEFAULT_PHASES = 1 << LATENCY | 1 << BANDWIDTH };

/* A kind of series: its timed operation, its phase, its size of the two, and whether b sends
 * instead of a. */
static const struct kind {
    const char *name;
    const struct benchmark *benchmark;
    int phase, size;
    bool b_leads;
} kinds[N_KINDS] = {
    {"latency", &latency, LATENCY, 0, false},
    {"bandwidth_ab", &bandwidth, BANDWIDTH, 1, false},
    {"bandwidth_ba", &bandwidth, BANDWIDTH, 1, true},
    {"bidirectional", &bidirectional, BIDIRECTIONAL, 1, false},
};

/* What a series of one pair gave; sent as it is. */
struct series_kept {
    int64_t iterations, warmup, window, n_wrong, crowded, total_ns, times_ns[MAX_TIMES];
};

/* A rank of my machine, and the CPUs it may use. */
struct mate {
    int rank;
    cpu_set_t cpus;
};

/* One round, as one rank sees it. */
struct round {
    int number, n, n_ranks;
    struct pair *pairs;
    int *active, n_active; /* the ranks that take part */
    int place;             /* mine among them, UNSET where I rest */
    struct pair mine;
    bool crowded; /* whether those who take part on my machine have to share CPUs */
    bool *takes_part; /* by rank */
    struct mate *mates; /* of my machine, myself among them */
    int n_mates, n_cpus_here;
    int64_t longest_nap_ns;
};

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

/* How long a rank of this machine may sleep at a time: a millisecond; longer where so many may rest
 * that their waiting would keep the CPUs busy. */
static int64_t longest_nap_ns(const struct world *world) {
    int crowd = world->n_ranks_here / (RANKS_A_CPU * world->n_cpus_here);
    return (int64_t)LONGEST_SLEEP_NS * (crowd > 1 ? crowd : 1);
}

/* Collective. Room for any round, and who shares my machine. */
static void open_round(const struct world *world, struct round *out) {
    size_t n = (size_t)world->n_ranks;
    struct mate mine = {.rank = world->rank};
    MPI_Comm machine;
    my_cpus(&mine.cpus);
    *out = (struct round){.n_ranks = world->n_ranks, .longest_nap_ns = longest_nap_ns(world)};
    out->n_mates = world->n_ranks_here;
    out->n_cpus_here = world->n_cpus_here;
    out->pairs = allocate(n, sizeof *out->pairs);
    out->active = allocate(n, sizeof *out->active);
    out->takes_part = allocate(n, sizeof *out->takes_part);
    out->mates = allocate((size_t)out->n_mates, sizeof *out->mates);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, world->machine, world->rank, &machine));
    CHECK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, out->mates, sizeof mine, MPI_BYTE, machine));
    CHECK(MPI_Comm_free(&machine));
}

/* Whether more of my machine's ranks take part than it has CPUs, or more than I have among those
 * that may use no others. */
static bool is_crowded(const struct round *round, int rank) {
    const struct mate *me = round->mates;
    cpu_set_t both;
    int n_here = 0, n_within_mine = 0;
    while (me->rank != rank) me++;
    for (const struct mate *mate = round->mates; mate < round->mates + round->n_mates; mate++) {
        if (!round->takes_part[mate->rank]) continue;
        CPU_AND(&both, &mate->cpus, &me->cpus);
        n_here++;
        n_within_mine += CPU_EQUAL(&both, &mate->cpus) ? 1 : 0;
    }
    return n_here > round->n_cpus_here || n_within_mine > CPU_COUNT(&me->cpus);
}

/* The round of that number, as `rank` sees it. */
static void next_round(struct round *round, const struct schedule *schedule, int number, int rank) {
    round->number = number;
    round->n = pairs_of_round(schedule, number, round->pairs);
    round->n_active = 0;
    round->place = UNSET;
    memset(round->takes_part, 0, (size_t)round->n_ranks * sizeof *round->takes_part);
    for (int i = 0; i < round->n; i++) {
        int both[2] = {round->pairs[i].a, round->pairs[i].b};
        for (int k = 0; k < 2; k++) {
            if (both[k] == rank) {
                round->place = round->n_active;
                round->mine = round->pairs[i];
            }
            round->active[round->n_active++] = both[k];
            round->takes_part[both[k]] = true;
        }
    }
    round->crowded = round->place != UNSET && is_crowded(round, rank);
}

static void close_round(struct round *round) {
    free(round->pairs);
    free(round->active);
    free(round->takes_part);
    free(round->mates);
    *round = (struct round){0};
}

/* What is kept of a series of n times: all of a short one in order, else MAX_TIMES quantiles,
 * evenly from the least to the greatest. */
static void keep_times(const int64_t *times_ns, int n, struct series_kept *out) {
    out->total_ns = 0;
    for (int i = 0; i < n; i++) out->total_ns += times_ns[i];
    out->iterations = n;
    if (n <= MAX_TIMES) {
        memcpy(out->times_ns, times_ns, (size_t)n * sizeof *times_ns);
        return;
    }
    int64_t *sorted = allocate((size_t)n, sizeof *sorted);
    memcpy(sorted, times_ns, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < MAX_TIMES; i++)
        out->times_ns[i] = quantile(sorted, n, (double)i / (MAX_TIMES - 1));
    free(sorted);
}

/* Rank 0 only: one series of one pair. */
static void write_pair_row(const struct group *group, const struct kind *kind,
                           const struct round *round, struct pair pair,
                           const struct series_kept *series) {
    bool whole = series->iterations <= MAX_TIMES;
    json_open("pair_row");
    json_text("benchmark", pairs.name);
    json_int("round", round->number);
    json_int("n_concurrent", round->n);
    json_int("rank_a", pair.a);
    json_int("rank_b", pair.b);
    json_int("size_bytes", group->pair_sizes[kind->size]);
    json_text("kind", kind->name);
    json_int("iterations", series->iterations);
    json_int("warmup", series->warmup);
    if (kind->benchmark->has_window)
        json_int("window", series->window);
    else
        json_null("window");
    json_ints("times_ns", series->times_ns, whole ? (int)series->iterations : MAX_TIMES);
    json_text("times", whole ? "all" : "quantiles");
    json_int("total_ns", series->total_ns);
    json_bool("crowded", series->crowded != 0);
    json_bool("validated", group->validate);
    json_int("n_errors", series->n_wrong);
    json_close();
}

static bool runs(const struct group *group, const struct kind *kind) {
    unsigned asked = group->phases == 0 ? DEFAULT_PHASES : group->phases;
    return (asked >> kind->phase & 1) != 0;
}

/* Point the job at its partner for one kind. */
static void aim(struct job *job, const struct group *group, const struct kind *kind,
                struct pair pair) {
    int leader = kind->b_leads ? pair.b : pair.a;
    job->leads = job->rank == leader;
    job->peer = job->rank == pair.a ? pair.b : pair.a;
    job->bytes = (size_t)group->pair_sizes[kind->size];
}

/* Messages of an iteration, where the time limit lets them. */
static int window_of(const struct group *group) {
    return group->window == UNSET ? pairs.default_window : group->window;
}

/* Iterations and warm-up of a kind; `pairs` keeps its own defaults whatever the sizes. */
static struct counts counts_of(const struct group *group, const struct kind *kind) {
    struct counts counts = kind->size == 0 ? pairs.small : pairs.large;
    if (group->iterations != UNSET) counts.iterations = group->iterations;
    if (group->warmup != UNSET) counts.warmup = group->warmup;
    return counts;
}

/* How often a kind runs untimed: at least one message each way. */
static int n_warmups(struct counts counts) { return counts.warmup > 0 ? counts.warmup : 1; }

/* First contact of a pair, and the warm-up of every kind; where time is limited only the first, by
 * one message at a time, because the time of more is not known yet. */
static void warm_up(struct job *job, const struct group *group, struct pair pair) {
    bool limited = group->max_seconds > 0;
    for (const struct kind *kind = kinds; kind < kinds + N_KINDS; kind++) {
        if (!runs(group, kind)) continue;
        aim(job, group, kind, pair);
        int n = limited ? 1 : n_warmups(counts_of(group, kind));
        job->window = limited ? 1 : window_of(group);
        for (int i = 0; i < n; i++) kind->benchmark->once(job);
    }
}

/* My partner's number for mine. */
static int64_t swap(const struct job *job, int64_t mine) {
    int64_t theirs;
    CHECK(MPI_Sendrecv(&mine, 1, MPI_INT64_T, job->peer, TAG_SWAP, &theirs, 1, MPI_INT64_T,
                       job->peer, TAG_SWAP, job->comm, MPI_STATUS_IGNORE));
    return theirs;
}

/* What an iteration takes the slower of the two partners. */
static int64_t slower_ns(const struct job *job, const struct kind *kind) {
    int64_t mine_ns = typical_ns(job, kind->benchmark->once), theirs_ns = swap(job, mine_ns);
    return mine_ns > theirs_ns ? mine_ns : theirs_ns;
}

/* Where a series would exceed the time limit: first smaller windows, down to a message, of which
 * the fewest iterations fit, then fewer iterations. Sets the job's window. */
static struct counts within_limit(struct job *job, const struct group *group,
                                  const struct kind *kind) {
    struct counts counts = counts_of(group, kind);
    job->window = window_of(group);
    if (group->max_seconds <= 0) return counts;
    if (kind->benchmark->has_window) {
        job->window = 1;
        double most = group->max_seconds * 1e9 / MIN_ITERATIONS / (double)slower_ns(job, kind);
        job->window = most > window_of(group) ? window_of(group) : most > 1 ? (int)most : 1;
    }
    counts = affordable(counts, group->max_seconds, slower_ns(job, kind));
    for (int i = 1; i < n_warmups(counts); i++) kind->benchmark->once(job);
    return counts;
}

/* Time one kind in my pair; `times_ns` holds its longest series. */
static void run_kind(struct job *job, const struct group *group, const struct kind *kind,
                      struct pair pair, int64_t *times_ns, struct series_kept *out) {
    aim(job, group, kind, pair);
    struct counts counts = within_limit(job, group, kind);
    time_back_to_back(job, kind->benchmark->once, counts.iterations, times_ns);
    keep_times(times_ns, counts.iterations, out);
    out->warmup = n_warmups(counts);
    out->window = job->window;
    out->n_wrong = 0;
    if (!group->validate) return;
    out->n_wrong = validate(job, kind->benchmark, counts.iterations);
    out->n_wrong += swap(job, out->n_wrong);
}

/* A barrier of the ranks of a round, by dissemination; ranks without a pair take no part. */
static void meet(const struct job *job, const struct round *round) {
    char nothing = 0, got;
    for (int reach = 1; reach < round->n_active; reach *= 2) {
        MPI_Request requests[2];
        int to = round->active[(round->place + reach) % round->n_active];
        int from = round->active[(round->place - reach + round->n_active) % round->n_active];
        CHECK(MPI_Irecv(&got, 1, MPI_CHAR, from, TAG_MEET, job->comm, &requests[0]));
        CHECK(MPI_Isend(&nothing, 1, MPI_CHAR, to, TAG_MEET, job->comm, &requests[1]));
        wait_all(job, 2, requests);
    }
}

/* Rank 0 starts the ranks of a round; the others sleep until then. */
static void await_start(const struct job *job, const struct round *round) {
    char nothing = 0;
    MPI_Request request;
    if (job->rank == 0) {
        for (int i = 0; i < round->n_active; i++)
            if (round->active[i] != 0)
                CHECK(MPI_Send(&nothing, 1, MPI_CHAR, round->active[i], TAG_START, job->comm));
    } else {
        CHECK(MPI_Irecv(&nothing, 1, MPI_CHAR, 0, TAG_START, job->comm, &request));
        sleep_until_complete(&request, round->longest_nap_ns);
    }
}

/* What b's clock measured goes to a, and whether b had to share CPUs. */
static void bring_together(const struct job *job, const struct round *round,
                           struct series_kept *all) {
    struct pair pair = round->mine;
    bool crowded = round->crowded;
    for (int k = 0; k < N_KINDS; k++) {
        all[k].crowded = round->crowded;
        if (!kinds[k].b_leads) continue;
        if (job->rank == pair.b)
            CHECK(MPI_Send(&all[k], sizeof all[k], MPI_BYTE, pair.a, TAG_SERIES, job->comm));
        else
            CHECK(MPI_Recv(&all[k], sizeof all[k], MPI_BYTE, pair.b, TAG_SERIES, job->comm,
                           MPI_STATUS_IGNORE));
        crowded |= all[k].crowded != 0;
    }
    for (int k = 0; k < N_KINDS; k++) all[k].crowded = crowded;
}

/* Rank 0 gets the times of each pair from its first rank, and writes them in the order of pairs. */
static void write_round(const struct job *job, const struct group *group,
                        const struct round *round, const struct series_kept *mine) {
    struct series_kept theirs[N_KINDS];
    MPI_Request request;
    for (int i = 0; i < round->n; i++) {
        struct pair pair = round->pairs[i];
        if (pair.a != 0) {
            CHECK(MPI_Irecv(theirs, sizeof theirs, MPI_BYTE, pair.a, TAG_SERIES, job->comm,
                            &request));
            sleep_until_complete(&request, round->longest_nap_ns);
        }
        for (int k = 0; k < N_KINDS; k++)
            if (runs(group, &kinds[k]))
                write_pair_row(group, &kinds[k], round, pair, pair.a == 0 ? &mine[k] : &theirs[k]);
    }
}

/* One round: every pair warms up, then the kinds one by one, then the records. */
static void run_round(struct job *job, const struct group *group, const struct round *round,
                      int64_t *times_ns) {
    struct series_kept all[N_KINDS] = {{0}};
    bool active = round->place != UNSET;
    job->yields = round->crowded;
    if (active || job->rank == 0) await_start(job, round);
    if (active) warm_up(job, group, round->mine);
    if (round->number == 0) test_hook();
    for (int k = 0; active && k < N_KINDS; k++) {
        if (!runs(group, &kinds[k])) continue;
        meet(job, round);
        run_kind(job, group, &kinds[k], round->mine, times_ns, &all[k]);
    }
    if (active) {
        meet(job, round);
        bring_together(job, round, all);
        if (job->rank == round->mine.a && job->rank != 0)
            CHECK(MPI_Send(all, sizeof all, MPI_BYTE, 0, TAG_SERIES, job->comm));
    }
    if (job->rank == 0) write_round(job, group, round, all);
}

/* The job of a rank: buffers for the larger size, partners to be chosen round by round. */
static void open_pair(const struct world *world, const struct group *group, enum memory memory,
                     struct job *job) {
    long small = group->pair_sizes[0], large = group->pair_sizes[1];
    size_t bytes = (size_t)(small > large ? small : large) + 1; /* + 1: the acknowledgement */
    *job = (struct job){.rank = world->rank, .n_ranks = world->n_ranks, .batch = 1};
    job->window = window_of(group);
    job->send = open_buffer(memory, bytes, true);
    job->receive = open_buffer(memory, bytes, true);
    job->requests = allocate(2 * (size_t)job->window, sizeof *job->requests);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &job->comm));
}

/* All rounds of the schedule. Collective over the world. */
void run_pairs(const struct world *world, const struct group *group, enum memory memory,
               const struct schedule *schedule) {
    struct job job;
    struct round round;
    int longest = 0;
    open_pair(world, group, memory, &job);
    open_round(world, &round);
    for (int k = 0; k < N_KINDS; k++) {
        int n = counts_of(group, &kinds[k]).iterations;
        if (n > longest) longest = n;
    }
    int64_t *times_ns = allocate((size_t)longest, sizeof *times_ns);
    for (int number = 0; number < schedule->n_rounds; number++) {
        next_round(&round, schedule, number, job.rank);
        run_round(&job, group, &round, times_ns);
    }
    sleeping_barrier(job.comm);
    free(times_ns);
    close_round(&round);
    free(job.requests);
    close_buffer(&job.send);
    close_buffer(&job.receive);
    CHECK(MPI_Comm_free(&job.comm));
}

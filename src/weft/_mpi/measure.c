/* measure.c -- one group: for every size warm up, time, validate, and hand the series to records.c.
 *
 * Ranks that take part work on a communicator of their own; the others wait quietly. */
#include "weft.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This process's rank in MPI_COMM_WORLD, whatever communicator it works on. */
int rank_in_world(void) {
    int rank;
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    return rank;
}

/* Two ranks: 0 and n/2, so that with several ranks a node in blocks the two sit on different
 * nodes. Halves: all but the last of an odd number. */
bool takes_part(const struct benchmark *benchmark, int rank, int n_ranks) {
    if (benchmark->parties == TWO_RANKS) return rank == 0 || rank == n_ranks / 2;
    if (benchmark->parties == HALVES) return rank < n_ranks / 2 * 2;
    return true;
}

/* What follows from the rank's place in the job and from the group. */
void set_place(struct job *job, const struct group *group) {
    const struct benchmark *benchmark = group->benchmark;
    int half = job->n_ranks / 2;
    bool fan = benchmark->parties == FAN;
    job->leads = fan ? job->rank == 0 : job->rank < half;
    job->peer = fan ? 0 : job->rank < half ? job->rank + half : job->rank - half;
    job->window = group->window == UNSET ? benchmark->default_window : group->window;
    job->batch = group->batch;
    job->closing_barrier = group->closing_barrier;
    job->skew = group->skew;
    job->ring.most = group->n_rings;
    job->ring.seed = group->seed;
}

/* Requests under way at a time: two a message of the window, or n_requests of the benchmark. */
size_t request_count(const struct job *job, const struct benchmark *benchmark) {
    if (benchmark->n_requests != NULL) return benchmark->n_requests(job);
    return 2 * (size_t)job->window;
}

/* What `prepare` writes: a number for each rank, five times. */
static void open_tables(struct job *job) {
    size_t n = (size_t)job->n_ranks;
    int *table = allocate(5 * n, sizeof *table);
    job->sent = (struct blocks){table, table + n};
    job->received = (struct blocks){table + 2 * n, table + 3 * n};
    job->ring.order = table + 4 * n;
}

/* What this rank is in the group: its communicator, partner and buffers. Collective over the
 * rank's job; returns false on a rank that does not take part. */
bool open_job(const struct world *world, const struct group *group, enum memory memory,
              struct job *job) {
    const struct benchmark *benchmark = group->benchmark;
    struct extent most = {0, 0};
    int rank, n_ranks;
    *job = (struct job){.yields = world->oversubscribed, .window_of_root = MPI_WIN_NULL};
    CHECK(MPI_Comm_rank(world->job, &rank));
    CHECK(MPI_Comm_size(world->job, &n_ranks));
    bool active = takes_part(benchmark, rank, n_ranks);
    CHECK(MPI_Comm_split(world->job, active ? 0 : MPI_UNDEFINED, rank, &job->comm));
    if (!active) return false;
    CHECK(MPI_Comm_rank(job->comm, &job->rank));
    CHECK(MPI_Comm_size(job->comm, &job->n_ranks));
    set_place(job, group);
    for (int i = 0; i < group->n_sizes; i++) {
        struct extent needed = benchmark->extent(job, (size_t)group->sizes[i]);
        if (needed.send > most.send) most.send = needed.send;
        if (needed.receive > most.receive) most.receive = needed.receive;
    }
    job->send = open_buffer(memory, most.send, group->buffers != BUFFERS_UNTOUCHED);
    job->bounces = group->buffers == BUFFERS_ONE;
    job->receive = job->bounces ? job->send : open_buffer(memory, most.receive, true);
    job->requests = allocate(request_count(job, benchmark), sizeof *job->requests);
    open_tables(job);
    return true;
}

void close_job(struct job *job) {
    if (job->window_of_root != MPI_WIN_NULL) {
        CHECK(MPI_Win_unlock_all(job->window_of_root));
        CHECK(MPI_Win_free(&job->window_of_root));
    }
    free(job->requests);
    free(job->sent.counts);
    close_buffer(&job->send);
    if (!job->bounces) close_buffer(&job->receive);
    CHECK(MPI_Comm_free(&job->comm));
}

/* Where a test wants this rank to die or to stop. */
void test_hook(void) {
    int rank = rank_in_world();
    const char *crash = environment("WEFT_TEST_CRASH_RANK");
    const char *hang = environment("WEFT_TEST_HANG_RANK");
    if (crash[0] != '\0' && atoi(crash) == rank) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (hang[0] != '\0' && atoi(hang) == rank) pause();
}

/* What an iteration takes this rank: the shorter of a second and a third one, because the first
 * pays for first contact. */
int64_t typical_ns(const struct job *job, void (*once)(const struct job *)) {
    int64_t times_ns[3];
    time_back_to_back(job, once, 3, times_ns);
    return 1 + (times_ns[1] < times_ns[2] ? times_ns[1] : times_ns[2]);
}

/* Fewer iterations, but at least five, where they would exceed the time limit; a tenth of what is
 * affordable to warm up. */
struct counts affordable(struct counts counts, double max_seconds, int64_t once_ns) {
    double most = max_seconds * 1e9 / (double)once_ns;
    if (most < MIN_ITERATIONS) most = MIN_ITERATIONS;
    if (most < counts.iterations) counts.iterations = (int)most;
    if (most / 10 < counts.warmup) counts.warmup = (int)(most / 10);
    return counts;
}

/* Iterations and warm-up of one size: as asked for, else the benchmark's own, within the time
 * limit by the slowest rank's measure. Collective over the job. */
static struct counts choose_counts(const struct job *job, const struct group *group) {
    struct counts counts = default_counts(group->benchmark, job->bytes);
    if (group->iterations != UNSET) counts.iterations = group->iterations;
    if (group->warmup != UNSET) counts.warmup = group->warmup;
    if (group->max_seconds <= 0) return counts;
    int64_t mine_ns = typical_ns(job, group->benchmark->once), slowest_ns;
    CHECK(MPI_Allreduce(&mine_ns, &slowest_ns, 1, MPI_INT64_T, MPI_MAX, job->comm));
    return affordable(counts, group->max_seconds, slowest_ns);
}

/* n iterations, one after the other. One clock reading an iteration: the end of one is the start
 * of the next, so the times add up to the whole. An iteration is the mean of a batch of
 * calls, rounded to a nanosecond; of one, unless the clock would be felt (HPCC: once in 8). */
void time_back_to_back(const struct job *job, void (*once)(const struct job *), int n,
                       int64_t *times_ns) {
    int64_t before = now_ns();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < job->batch; k++) once(job);
        int64_t after = now_ns();
        times_ns[i] = (after - before + job->batch / 2) / job->batch;
        before = after;
    }
}

/* n iterations, each from a barrier that is not timed. */
static void time_from_barrier(struct job *job, const struct benchmark *benchmark,
                              const struct series *series) {
    int n = series->counts.iterations;
    for (int i = 0; i < n; i++) {
        if (benchmark->turn != NULL) benchmark->turn(job, i, n);
        CHECK(MPI_Barrier(job->comm));
        series->starts_ns[i] = now_ns();
        benchmark->once(job);
        series->times_ns[i] = now_ns() - series->starts_ns[i];
    }
}

/* Collective. When the first iteration starts, on rank 0's clock, and how far apart iterations
 * are: twice the slowest of `n` trial iterations and 20 us, so that few ranks come late. */
static void agree_on_window(const struct job *job, void (*once)(const struct job *), int n,
                            int64_t *first_ns, int64_t *step_ns) {
    int64_t plan[2] = {0, 0}, slowest_ns = 0;
    int64_t *trial_ns = allocate((size_t)n, sizeof *trial_ns);
    time_back_to_back(job, once, n, trial_ns);
    qsort(trial_ns, (size_t)n, sizeof *trial_ns, by_value);
    CHECK(MPI_Allreduce(&trial_ns[n / 2], &slowest_ns, 1, MPI_INT64_T, MPI_MAX, job->comm));
    free(trial_ns);
    plan[1] = 2 * slowest_ns + 20000;
    plan[0] = now_ns() + 1000000 + 50 * plan[1];
    CHECK(MPI_Bcast(plan, 2, MPI_INT64_T, 0, job->comm));
    *first_ns = plan[0];
    *step_ns = plan[1];
}

/* n iterations at agreed times. A rank that reaches an iteration after its time starts at once
 * and marks the iteration as late. */
static void time_in_windows(const struct job *job, void (*once)(const struct job *),
                            struct series *series) {
    int64_t first_ns, step_ns;
    agree_on_window(job, once, 11, &first_ns, &step_ns);
    int64_t due_ns = from_root_clock(&series->clock, first_ns);
    for (int i = 0; i < series->counts.iterations; i++, due_ns += step_ns) {
        int64_t start_ns = now_ns();
        series->late[i] = start_ns > due_ns;
        while (start_ns < due_ns) start_ns = now_ns();
        series->starts_ns[i] = start_ns;
        once(job);
        series->times_ns[i] = now_ns() - start_ns;
    }
}

/* Overwrites the last message, so that a message that never came is not taken for the last
 * one. As floats it is no number, so no sum either. */
enum { SPOILT = 0xff };

/* An untimed pass that checks every received byte. Its own pass, because preparing and checking
 * would warm caches and delay partners. Returns the wrong elements of this rank. */
long validate(struct job *job, const struct benchmark *benchmark, int n_iterations) {
    int victim = benchmark->root_receives ? 0 : job->n_ranks - 1;
    bool corrupt = environment("WEFT_TEST_CORRUPT")[0] == '1' && job->rank == victim;
    struct extent all = benchmark->extent(job, job->bytes);
    long n_wrong = 0;
    for (int i = 0; i < n_iterations; i++) {
        if (benchmark->turn != NULL) benchmark->turn(job, i, n_iterations);
        memset(job->receive.host, SPOILT, all.receive);
        benchmark->fill(job, i);
        publish_buffer(&job->receive, all.receive);
        publish_buffer(&job->send, all.send);
        benchmark->once(job);
        fetch_buffer(&job->receive, all.receive);
        if (corrupt && i == 0 && job->bytes > 0) job->receive.host[0] ^= 0x40;
        n_wrong += benchmark->n_wrong(job, i);
    }
    return n_wrong;
}

/* The timed loop of one size, with the clocks compared before and after where starts matter. */
static void time_series(const struct world *world, struct job *job, const struct group *group,
                        struct series *series) {
    void (*once)(const struct job *) = group->benchmark->once;
    if (group->benchmark->loop == BACK_TO_BACK) {
        time_back_to_back(job, once, series->counts.iterations, series->times_ns);
        return;
    }
    sync_clock(job->comm, world->common_clock, &series->clock, 0);
    if (series->late != NULL)
        time_in_windows(job, once, series);
    else
        time_from_barrier(job, group->benchmark, series);
    sync_clock(job->comm, world->common_clock, &series->clock, 1);
}

/* One size: warm up, time, validate, write the row. Collective over the job. */
static void measure_size(const struct world *world, struct job *job, const struct group *group,
                         size_t bytes) {
    const struct benchmark *benchmark = group->benchmark;
    enum { MAX_VALIDATED = 100 };
    job->bytes = bytes;
    if (benchmark->prepare != NULL) benchmark->prepare(job);
    CHECK(MPI_Barrier(job->comm));
    struct series series = {.counts = choose_counts(job, group)};
    size_t n = (size_t)series.counts.iterations;
    series.times_ns = allocate(n, sizeof *series.times_ns);
    if (benchmark->loop == SYNCHRONISED) series.starts_ns = allocate(n, sizeof *series.starts_ns);
    if (group->sync == SYNC_WINDOW) series.late = allocate(n, sizeof *series.late);
    for (int i = 0; i < series.counts.warmup; i++) benchmark->once(job);
    test_hook();
    CHECK(MPI_Barrier(job->comm));
    time_series(world, job, group, &series);
    if (group->validate) {
        series.n_validated = n < MAX_VALIDATED ? (int)n : MAX_VALIDATED;
        series.n_wrong = validate(job, benchmark, series.n_validated);
    }
    write_row(job, benchmark, group, &series);
    free(series.times_ns);
    free(series.starts_ns);
    free(series.late);
}

/* All sizes of one group, in the order given. Collective over the ranks that measure. */
void run_group(const struct world *world, const struct group *group, enum memory memory) {
    struct job job;
    if (open_job(world, group, memory, &job)) {
        for (int i = 0; i < group->n_sizes; i++)
            measure_size(world, &job, group, (size_t)group->sizes[i]);
        close_job(&job);
    }
}

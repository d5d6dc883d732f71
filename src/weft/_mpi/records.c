/* records.c -- the records of measurements.
 *
 * Reductions happen here, after the timed loop: the maximum over ranks of every iteration, the
 * spread of the starts, a summary of every rank. */
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_FOR_P99 = 500 };

/* The times of one rank; `counts` false where it timed nothing (the far side of a pair). */
struct summary {
    int rank, counts;
    int64_t min, p50, p90, p99, max;
    double mean;
};

int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The smallest value that at least a share q of the n sorted values does not exceed. */
int64_t quantile(const int64_t *sorted, int n, double q) {
    int index = (int)(q * n);
    if ((double)index < q * n) index++;
    if (index < 1) index = 1;
    return sorted[index - 1];
}

/* Collectives and rings: every clock. Otherwise the leader's. */
static bool clock_counts(const struct job *job, const struct benchmark *benchmark) {
    return benchmark->parties == RING || benchmark->parties == EVERYONE || job->leads;
}

static struct summary summarise(int rank, bool counts, const int64_t *times_ns, int n) {
    struct summary out = {.rank = rank, .counts = counts};
    int64_t *sorted = allocate((size_t)n, sizeof *sorted);
    memcpy(sorted, times_ns, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < n; i++) out.mean += (double)sorted[i] / n;
    out.min = sorted[0];
    out.p50 = quantile(sorted, n, 0.5);
    out.p90 = quantile(sorted, n, 0.9);
    out.p99 = quantile(sorted, n, 0.99);
    out.max = sorted[n - 1];
    free(sorted);
    return out;
}

static void write_summaries(const struct summary *summaries, int n_ranks, int n) {
    json_begin("ranks_ns", '[');
    for (const struct summary *s = summaries; s < summaries + n_ranks; s++) {
        if (!s->counts) continue;
        json_begin(NULL, '{');
        json_int("rank", s->rank);
        json_int("min", s->min);
        json_int("p50", s->p50);
        json_int("p90", s->p90);
        if (n >= MIN_FOR_P99)
            json_int("p99", s->p99);
        else
            json_null("p99");
        json_int("max", s->max);
        json_decimal("mean", s->mean);
        json_finish('}');
    }
    json_finish(']');
}

/* How far apart the ranks that send first started each iteration, at rank 0; NULL elsewhere.
 * Collective. */
static int64_t *start_skew(const struct job *job, const struct benchmark *benchmark,
                           const struct series *series) {
    int n = series->counts.iterations;
    bool root = job->rank == 0, counts = benchmark->parties != HALVES || job->leads;
    int64_t *first = allocate((size_t)n, sizeof *first), *last = allocate((size_t)n, sizeof *last);
    for (int i = 0; i < n; i++) {
        int64_t start_ns = to_root_clock(&series->clock, series->starts_ns[i]);
        first[i] = counts ? start_ns : INT64_MAX;
        last[i] = counts ? start_ns : INT64_MIN;
    }
    CHECK(MPI_Reduce(root ? MPI_IN_PLACE : first, first, n, MPI_INT64_T, MPI_MIN, 0, job->comm));
    CHECK(MPI_Reduce(root ? MPI_IN_PLACE : last, last, n, MPI_INT64_T, MPI_MAX, 0, job->comm));
    for (int i = 0; root && i < n; i++) last[i] -= first[i];
    free(first);
    if (root) return last;
    free(last);
    return NULL;
}

static void write_skew(int64_t *skew_ns, int n) {
    if (skew_ns == NULL) {
        json_null("skew_ns");
        return;
    }
    qsort(skew_ns, (size_t)n, sizeof *skew_ns, by_value);
    json_begin("skew_ns", '{');
    json_int("p50", quantile(skew_ns, n, 0.5));
    json_int("p90", quantile(skew_ns, n, 0.9));
    json_int("max", skew_ns[n - 1]);
    json_finish('}');
}

/* Which iterations some rank started late, at rank 0; NULL where starts are not agreed. */
static signed char *any_late(const struct job *job, const struct series *series) {
    int n = series->counts.iterations;
    if (series->late == NULL) return NULL;
    signed char *any = allocate((size_t)n, sizeof *any);
    CHECK(MPI_Reduce(series->late, any, n, MPI_SIGNED_CHAR, MPI_MAX, 0, job->comm));
    return any;
}

/* Their places in the series; null where starts are not agreed. */
static void write_late(const signed char *late, int n) {
    if (late == NULL) {
        json_null("late");
        return;
    }
    json_begin("late", '[');
    for (int i = 0; i < n; i++)
        if (late[i]) json_int(NULL, i);
    json_finish(']');
}

/* The benchmark and its settings. */
static void write_measurement(const struct job *job, const struct benchmark *benchmark,
                       const struct group *group, const struct series *series) {
    json_open("row");
    json_text("benchmark", benchmark->name);
    json_int("size_bytes", (int64_t)job->bytes);
    json_int("iterations", series->counts.iterations);
    json_int("warmup", series->counts.warmup);
    if (benchmark->has_window)
        json_int("window", job->window);
    else
        json_null("window");
    json_int("batch", job->batch);
    json_text("buffers", buffers_names[group->buffers]);
    if (benchmark->loop == SYNCHRONISED)
        json_text("sync", group->sync == SYNC_WINDOW ? "window" : "barrier");
    if (benchmark->parties == TWO_RANKS || benchmark->parties == HALVES)
        json_int("n_pairs", job->n_ranks / 2);
    else if (benchmark->parties == FAN)
        json_int("n_pairs", job->n_ranks - 1);
    else
        json_null("n_pairs");
}

/* Fields of some benchmarks only, at rank 0: the most bytes a rank of an alltoallv sends or
 * receives; how many random rings were drawn from which seed, and the order of the first. */
static void write_extras(const struct job *job, const struct benchmark *benchmark,
                          int64_t most_bytes, int iterations) {
    if (benchmark == &alltoallv) json_int("most_bytes", most_bytes);
    if (benchmark->turn == NULL) return;
    int *order = allocate((size_t)job->n_ranks, sizeof *order);
    shuffle(order, job->n_ranks, job->ring.seed);
    json_int("seed", (int64_t)job->ring.seed);
    json_int("n_rings", job->ring.most < iterations ? job->ring.most : iterations);
    json_begin("ring", '[');
    for (int i = 0; i < job->n_ranks; i++) json_int(NULL, order[i]);
    json_finish(']');
    free(order);
}

/* Collective over the job: reduce the series to rank 0, which writes the row. */
void write_row(const struct job *job, const struct benchmark *benchmark, const struct group *group,
               const struct series *series) {
    int n = series->counts.iterations;
    bool counts = clock_counts(job, benchmark);
    struct summary mine = summarise(rank_in_world(), counts, series->times_ns, n);
    struct summary *all = allocate((size_t)job->n_ranks, sizeof *all);
    int64_t *times_ns = allocate((size_t)n, sizeof *times_ns);
    int64_t wrong = series->n_wrong, all_wrong = 0;
    struct extent extent = benchmark->extent(job, job->bytes);
    int64_t most_bytes = (int64_t)(extent.send > extent.receive ? extent.send : extent.receive);
    signed char *late = any_late(job, series);
    int64_t *skew_ns = series->starts_ns == NULL ? NULL : start_skew(job, benchmark, series);
    if (!counts) memset(series->times_ns, 0, (size_t)n * sizeof *series->times_ns);
    CHECK(MPI_Reduce(series->times_ns, times_ns, n, MPI_INT64_T, MPI_MAX, 0, job->comm));
    CHECK(MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT64_T, MPI_SUM, 0, job->comm));
    CHECK(MPI_Reduce(job->rank == 0 ? MPI_IN_PLACE : &most_bytes, &most_bytes, 1, MPI_INT64_T,
                     MPI_MAX, 0, job->comm));
    CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, job->comm));
    if (job->rank == 0) {
        write_measurement(job, benchmark, group, series);
        json_ints("times_ns", times_ns, n);
        write_skew(skew_ns, n);
        write_summaries(all, job->n_ranks, n);
        write_late(late, n);
        json_bool("validated", group->validate);
        json_int("n_validated", series->n_validated);
        json_int("n_errors", all_wrong);
        write_extras(job, benchmark, most_bytes, n);
        json_close();
    }
    free(late);
    free(skew_ns);
    free(times_ns);
    free(all);
}

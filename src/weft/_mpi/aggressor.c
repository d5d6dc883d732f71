/* aggressor.c -- other jobs of the launch, which send while one benchmark is measured.
 *
 * The last ranks of the launch are theirs, each aggressor's in a row. They warm up, which releases
 * the ranks that measure, and repeat until these are done.
 * SOURCE: the order of GPCNeT 1.3, network_load_test: congestors run before the first test begins
 * and until the last one has ended. */
#include "weft.h"

#include <stdlib.h>

enum { TAG_SENT = 61, N_SENT = 2 };
/* Between two looks whether the others are done: long enough that looking costs little. */
static const int64_t pass_ns = 2000000;
enum { MOST_A_PASS = 10000 };

/* Collective over the world: which ranks measure, and which aggressor each other rank is of. */
void open_jobs(const struct options *options, struct world *world) {
    world->n_measuring = world->n_ranks;
    for (int i = 0; i < options->n_aggressors; i++)
        world->n_measuring -= options->aggressors[i].n_ranks;
    int end = world->n_measuring;
    world->aggressor = UNSET;
    for (int i = 0; i < options->n_aggressors && world->rank >= end; i++) {
        world->aggressor = i;
        end += options->aggressors[i].n_ranks;
    }
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, world->aggressor + 1, world->rank, &world->job));
}

/* What this rank's job does while a group is measured: the group itself, or its aggressor's part,
 * which is written to `own`. */
const struct group *my_group(const struct options *options, const struct world *world,
                             const struct group *group, struct group *own) {
    if (world->aggressor == UNSET) return group;
    const struct aggressor *mine = &options->aggressors[world->aggressor];
    *own = (struct group){.benchmark = mine->benchmark, .sizes = {mine->bytes}, .n_sizes = 1,
                          .iterations = UNSET, .warmup = UNSET, .window = UNSET, .batch = 1,
                          .n_rings = 1, .seed = group->seed};
    return own;
}

/* How often a pass repeats its benchmark, alike on all ranks. Collective over the job. */
static int a_pass(const struct job *job, void (*once)(const struct job *)) {
    int64_t mine_ns = typical_ns(job, once), slowest_ns;
    CHECK(MPI_Allreduce(&mine_ns, &slowest_ns, 1, MPI_INT64_T, MPI_MAX, job->comm));
    int64_t n = 1 + pass_ns / slowest_ns;
    return n < MOST_A_PASS ? (int)n : MOST_A_PASS;
}

/* Repeat passes of n until the ranks that measure are done: all ranks of the job stop after the
 * same pass. `sent` gets how often, and the time it took. */
static void send_until_done(const struct job *job, void (*once)(const struct job *), int n,
                            MPI_Request *done, int64_t *sent) {
    int over = 0;
    int64_t begin_ns = now_ns();
    for (;;) {
        CHECK(MPI_Test(done, &over, MPI_STATUS_IGNORE));
        CHECK(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MIN, job->comm));
        if (over) break;
        for (int i = 0; i < n; i++) once(job);
        sent[0] += n;
    }
    sent[1] = now_ns() - begin_ns;
    CHECK(MPI_Wait(done, MPI_STATUS_IGNORE));
}

/* Rank 0: one record an aggressor, of what it did meanwhile. */
static void write_aggressors(const struct options *options, const struct world *world,
                             const struct group *group) {
    int first = world->n_measuring;
    for (int i = 0; i < options->n_aggressors; i++) {
        const struct aggressor *aggressor = &options->aggressors[i];
        int64_t sent[N_SENT];
        CHECK(MPI_Recv(sent, N_SENT, MPI_INT64_T, first, TAG_SENT, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        json_open("aggressor");
        json_text("beside", group->benchmark->name);
        json_text("benchmark", aggressor->benchmark->name);
        json_int("size_bytes", aggressor->bytes);
        json_int("n_ranks", aggressor->n_ranks);
        json_int("iterations", sent[0]);
        json_int("elapsed_ns", sent[1]);
        json_close();
        first += aggressor->n_ranks;
    }
}

/* An aggressor's ranks, while a group is measured. */
static void send_beside(const struct options *options, const struct world *world,
                        const struct group *group) {
    MPI_Request started, done;
    struct group own;
    struct job job;
    const struct benchmark *benchmark = my_group(options, world, group, &own)->benchmark;
    bool active = open_job(world, &own, options->memory, &job);
    int64_t sent[N_SENT] = {0, 0};
    int n = 0;
    if (active) {
        job.bytes = (size_t)own.sizes[0];
        if (benchmark->prepare != NULL) benchmark->prepare(&job);
        n = a_pass(&job, benchmark->once);
    }
    CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &started));
    CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &done));
    if (active)
        send_until_done(&job, benchmark->once, n, &done, sent);
    else
        sleep_until_complete(&done, LONGEST_SLEEP_NS);
    CHECK(MPI_Wait(&started, MPI_STATUS_IGNORE));
    if (active && job.rank == 0)
        CHECK(MPI_Send(sent, N_SENT, MPI_INT64_T, 0, TAG_SENT, MPI_COMM_WORLD));
    if (active) close_job(&job);
}

/* Collective over the world, before a group is measured. Ranks that measure return when all
 * aggressors send; those of an aggressor when the others are done. */
void open_aggressors(const struct options *options, const struct world *world,
                     const struct group *group) {
    if (options->n_aggressors == 0) return;
    if (world->aggressor == UNSET)
        sleeping_barrier(MPI_COMM_WORLD);
    else
        send_beside(options, world, group);
}

/* Collective over the ranks that measure, after a group: its aggressors end. */
void close_aggressors(const struct options *options, const struct world *world,
                      const struct group *group) {
    if (options->n_aggressors == 0) return;
    sleeping_barrier(MPI_COMM_WORLD);
    if (world->rank == 0) write_aggressors(options, world, group);
}

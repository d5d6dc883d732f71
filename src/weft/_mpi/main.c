/* main.c -- weft-kernel: measures MPI between its ranks and prints records as JSON Lines. */
#include "weft.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* The schedules of all groups that have rounds, read before anything is measured: a mistake in a
 * file is reported at once. Collective; the first problem is returned. */
static struct problem open_schedules(const struct world *world, const struct options *options,
                                     struct schedule *schedules) {
    struct problem problem = {0};
    for (int i = 0; i < options->n_groups && problem.exit_code == 0; i++) {
        const struct group *group = &options->groups[i];
        if (group->benchmark->loop == PAIRS)
            problem = open_schedule(group->rounds_file, world, &schedules[i]);
    }
    return problem;
}

/* All but collectives need a partner. */
static struct problem check_ranks(const struct world *world, const struct options *options) {
    struct problem problem = {0};
    if (options->n_aggressors > 0 && world->n_measuring < 2)
        set_problem(&problem, EXIT_INPUT, "--aggressor",
                    "%d of %d ranks are left to measure, two are needed", world->n_measuring,
                    world->n_ranks);
    for (int i = 0; i < options->n_groups; i++) {
        const struct benchmark *benchmark = options->groups[i].benchmark;
        if (options->n_aggressors > 0 && benchmark->loop == PAIRS)
            set_problem(&problem, EXIT_INPUT, "--aggressor", "pairs have the fabric to themselves");
        if (world->n_ranks < 2 && benchmark->parties != EVERYONE)
            set_problem(&problem, EXIT_INPUT, "--benchmark", "%s needs two ranks or more",
                        benchmark->name);
    }
    return problem;
}

/* A group, with the aggressors of the launch beside it. Collective over the world. */
static void run_beside(const struct world *world, const struct options *options,
                       const struct group *group) {
    open_aggressors(options, world, group);
    if (world->rank < world->n_measuring) {
        run_group(world, group, options->memory);
        close_aggressors(options, world, group);
    }
    sleeping_barrier(MPI_COMM_WORLD);
}

/* Everything after the arguments are known to be right. Collective. */
static int measure(const struct world *world, const struct options *options,
                   const struct rail *rail, int argc, char **argv) {
    static struct schedule schedules[MAX_GROUPS];
    struct counters counters = {0};
    struct rank_facts facts;
    struct problem problem = open_schedules(world, options, schedules);
    if (problem.exit_code == 0) problem = check_memory(world, options);
    if (problem.exit_code == 0) problem = open_memory(options->memory, world->local_rank);
    int exit_code = agree(&problem);
    if (exit_code != 0) return exit_code;
    int64_t started_unix_ns = unix_ns(), start_ns = now_ns();
    if (world->rank == 0) write_header(world, options, argc, argv, started_unix_ns);
    rank_facts(world, rail, &facts);
    write_ranks(world, &facts);
    if (options->quiet_seconds > 0) record_background_traffic(world, options->quiet_seconds);
    read_counters(world, &counters, true);
    for (int i = 0; i < options->n_groups; i++) {
        const struct group *group = &options->groups[i];
        if (group->benchmark->loop == PAIRS)
            run_pairs(world, group, options->memory, &schedules[i]);
        else
            run_beside(world, options, group);
        close_schedule(&schedules[i]);
    }
    read_counters(world, &counters, false);
    write_counters(world, &counters, false);
    write_transports(world);
    if (world->rank == 0) write_end(now_ns() - start_ns);
    free(counters.of);
    return EXIT_SUCCESS;
}

/* Arguments and rail come first, because MPI_Init reads the environment that rail.c sets.
 * Their faults are reported once all ranks can agree on one. */
int main(int argc, char **argv) {
    static struct options options;
    struct world world = {0};
    struct rail rail = {.local_rank = UNSET, .rank = UNSET, .n_ranks = UNSET};
    struct problem problem = parse_options(argc, argv, &options);
    if (problem.exit_code == 0) problem = choose_rail(&options, &rail);
    if (problem.exit_code == 0) problem = choose_level(&options, &rail);
    CHECK(MPI_Init(&argc, &argv));
    signal(SIGTERM, SIG_DFL);
    open_world(&world);
    open_jobs(&options, &world);
    if (problem.exit_code == 0) problem = check_ranks(&world, &options);
    if (problem.exit_code == 0) problem = check_level(&rail, &world);
    int exit_code = agree(&problem);
    if (exit_code == 0 && options.help) {
        if (world.rank == 0) fputs(usage(), stdout);
    } else if (exit_code == 0) {
        exit_code = measure(&world, &options, &rail, argc, argv);
    }
    close_world(&world);
    CHECK(MPI_Finalize());
    return exit_code;
}

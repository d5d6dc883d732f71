/* memory_check.c -- whether the message buffers fit into this host, before a measurement. */
#include "weft.h"

#include <limits.h>
#include <stdio.h>

/* Bytes that Linux can still allocate; INT64_MAX where it does not report them.
 * SOURCE: proc(5), MemAvailable of /proc/meminfo, in KiB. */
static int64_t available_bytes(void) {
    char line[MAX_LIST];
    long long kib = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL) return INT64_MAX;
    while (kib < 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "MemAvailable: %lld", &kib);
    fclose(file);
    return kib < 0 ? INT64_MAX : (int64_t)kib * 1024;
}

/* Both buffers of this rank and its requests, for the largest size. A buffer that the ints of
 * MPI_Alltoallv cannot address, or too many requests for an int, is a problem. */
static int64_t needed_bytes(const struct world *world, const struct group *group,
                            struct problem *problem) {
    const struct benchmark *benchmark = group->benchmark;
    struct job job = {0};
    size_t send = 0, receive = 0;
    CHECK(MPI_Comm_rank(world->job, &job.rank));
    CHECK(MPI_Comm_size(world->job, &job.n_ranks));
    if (benchmark->extent == NULL || !takes_part(benchmark, job.rank, job.n_ranks)) return 0;
    set_place(&job, group);
    for (int i = 0; i < group->n_sizes; i++) {
        struct extent extent = benchmark->extent(&job, (size_t)group->sizes[i]);
        if (extent.send > send) send = extent.send;
        if (extent.receive > receive) receive = extent.receive;
    }
    if (benchmark == &alltoallv && (send > INT_MAX || receive > INT_MAX))
        set_problem(problem, EXIT_INPUT, "--sizes",
                    "all blocks of %s on %d ranks pass 2 GiB, the most that MPI addresses",
                    benchmark->name, job.n_ranks);
    size_t n_requests = request_count(&job, benchmark);
    if (n_requests > INT_MAX)
        set_problem(problem, EXIT_INPUT, "--window", "%zu messages at once of %s", n_requests,
                    benchmark->name);
    return (int64_t)(send + receive + n_requests * sizeof(MPI_Request));
}

/* Collective over the host's ranks. The first group whose buffers do not fit is the problem. */
struct problem check_memory(const struct world *world, const struct options *options) {
    struct problem problem = {0};
    int64_t available = available_bytes();
    for (int i = 0; i < options->n_groups; i++) {
        struct group own;
        const struct group *group = my_group(options, world, &options->groups[i], &own);
        int64_t mine = needed_bytes(world, group, &problem), all = 0;
        CHECK(MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, world->node));
        if (all > available && problem.exit_code == 0)
            set_problem(&problem, EXIT_INPUT, "--sizes",
                        "%s needs %lld MiB on %s for its message buffers, which has %lld MiB free",
                        group->benchmark->name, (long long)(all >> 20), world->host,
                        (long long)(available >> 20));
    }
    return problem;
}

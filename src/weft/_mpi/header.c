/* header.c -- the records of the launch as a whole: header, one a rank, end. */
#include "weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_SCHEMA "weft.kernel/1"
#define KERNEL_VERSION "0.1.0"

/* The first line of MPI_Get_library_version, and the standard the library claims. */
static void write_library(void) {
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    char standard[MAX_NAME];
    int length = 0, major, minor;
    CHECK(MPI_Get_library_version(version, &length));
    CHECK(MPI_Get_version(&major, &minor));
    version[strcspn(version, "\n")] = '\0';
    snprintf(standard, sizeof standard, "%d.%d", major, minor);
    json_text("mpi_library", version);
    json_text("mpi_standard", standard);
}

/* Rank 0 only: the first record. */
void write_header(const struct world *world, const struct options *options, int argc, char **argv,
                  int64_t started_unix_ns) {
    static const char *const memories[] = {"host", "cuda", "rocm"};
    json_open("header");
    json_text("schema", KERNEL_SCHEMA);
    json_text("kernel_version", KERNEL_VERSION);
    write_library();
    json_int("n_ranks", world->n_ranks);
    json_begin("argv", '[');
    for (int i = 0; i < argc; i++) json_text(NULL, argv[i]);
    json_finish(']');
    json_int("started_unix_ns", started_unix_ns);
    json_text("clock", "CLOCK_MONOTONIC");
    json_int("clock_resolution_ns", clock_resolution_ns());
    json_int("clock_cost_ns", clock_cost_ns());
    json_bool("common_clock", world->common_clock);
    json_int("n_machines", world->n_machines);
    json_int("quiet_ns", (int64_t)(options->quiet_seconds * 1e9));
    json_text("memory", memories[options->memory]);
    json_close();
}

static void write_rank(const struct rank_facts *facts) {
    json_open("rank");
    json_int("rank", facts->rank);
    json_text("host", facts->host);
    json_int("local_rank", facts->local_rank);
    json_int("tasks_per_node", facts->tasks_per_node);
    json_int("pid", facts->pid);
    json_text("cpus", facts->cpus);
    json_text("numa_nodes", facts->numa_nodes);
    json_int("cpu", facts->cpu);
    json_int("n_cpus", facts->n_cpus);
    json_int("n_sharing_cpus", facts->n_sharing_cpus);
    json_int("n_machine_cpus", facts->n_machine_cpus);
    json_text("cpu_numa_nodes", facts->cpu_numa_nodes[0] == '\0' ? NULL : facts->cpu_numa_nodes);
    json_text("rail", facts->rail[0] == '\0' ? NULL : facts->rail);
    json_begin("rail_settings", '{');
    for (int i = 0; i < N_RAIL_VARIABLES; i++)
        if (facts->settings[i][0] != '\0') json_text(rail_variables[i], facts->settings[i]);
    json_finish('}');
    json_bool("oversubscribed", facts->oversubscribed);
    json_close();
}

/* Collective. One record a rank, in the order of ranks. */
void write_ranks(const struct world *world, const struct rank_facts *mine) {
    int n = world->rank == 0 ? world->n_ranks : 0;
    struct rank_facts *all = allocate((size_t)n, sizeof *all);
    CHECK(MPI_Gather(mine, sizeof *mine, MPI_BYTE, all, sizeof *mine, MPI_BYTE, 0,
                     MPI_COMM_WORLD));
    for (int rank = 0; rank < n; rank++) write_rank(&all[rank]);
    free(all);
}

/* Rank 0 only: the last record, written only when all went well. */
void write_end(int64_t elapsed_ns) {
    json_open("end");
    json_int("elapsed_ns", elapsed_ns);
    json_close();
}

/* world.c -- ranks and hosts: my rank, the ranks of my host, whether ranks outnumber CPUs. */
#include "weft.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* SOURCE: pmodels/mpich pull request 6596 (July 2023, first in MPICH 4.2). Before it MPI_Finalize
 * over UCX closes the connections, and then waits outside of MPI. Over those by which a rank sent
 * anything the peer must answer its close, and does so as long as its own close waits: a rank
 * that no other keeps waiting has ended before the last ones ask. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
#define IS_BEFORE_MPICH_4_2 true
#else
#define IS_BEFORE_MPICH_4_2 false
#endif
enum { TAG_LAST = 51, MAX_CONNECTED = 512, SLEEP_BEFORE_FINALIZE_NS = 100000000 };

/* 64-bit FNV-1a of a string: a key that ranks compare instead of sending the string around. */
static uint64_t digest(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* Collective. The ranks that gave the same key as I did, in world order. The lowest such rank is
 * the colour, so that no two keys can fall together. */
static MPI_Comm ranks_like_me(uint64_t key) {
    int rank, n_ranks, colour = 0;
    MPI_Comm comm;
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &n_ranks));
    uint64_t *keys = allocate((size_t)n_ranks, sizeof *keys);
    CHECK(MPI_Allgather(&key, 1, MPI_UINT64_T, keys, 1, MPI_UINT64_T, MPI_COMM_WORLD));
    while (keys[colour] != key) colour++;
    free(keys);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comm));
    return comm;
}

/* Collective. Which ranks run on my machine (one running kernel, containers included), whether
 * more of them live on it than there are CPUs that any of them may use, how many of them share
 * mine, and how many machines there are. */
static void find_machine(struct world *world) {
    char boot_id[MAX_NAME];
    cpu_set_t mine, any;
    int place, first;
    my_cpus(&mine);
    bool known = read_text("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
    MPI_Comm machine = ranks_like_me(digest(known ? boot_id : world->host));
    CHECK(MPI_Allreduce(&mine, &any, sizeof mine, MPI_BYTE, MPI_BOR, machine));
    CHECK(MPI_Comm_size(machine, &world->n_ranks_here));
    CHECK(MPI_Comm_rank(machine, &place));
    CHECK(MPI_Allreduce(&world->rank, &world->machine, 1, MPI_INT, MPI_MIN, machine));
    first = place == 0;
    CHECK(MPI_Allreduce(&first, &world->n_machines, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    world->n_sharing_cpus = ranks_within_my_cpus(machine);
    CHECK(MPI_Comm_free(&machine));
    world->n_cpus_here = CPU_COUNT(&any);
    world->oversubscribed = world->n_ranks_here > world->n_cpus_here;
}

/* Collective, right after MPI_Init: from here on errors come back to us and name rank and host. */
void open_world(struct world *world) {
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &world->rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &world->n_ranks));
    if (gethostname(world->host, sizeof world->host - 1) != 0) strcpy(world->host, "?");
    set_error_place(world->rank, world->host);
    world->node = ranks_like_me(digest(world->host));
    CHECK(MPI_Comm_rank(world->node, &world->local_rank));
    CHECK(MPI_Comm_size(world->node, &world->tasks_per_node));
    find_machine(world);
    world->common_clock = same_clock_everywhere(MPI_COMM_WORLD);
}

/* Whether this library is one of those, and its network UCX. */
static bool finalize_may_hang(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (!IS_BEFORE_MPICH_4_2) return false;
    CHECK(MPI_Get_library_version(version, &length));
    return strstr(version, "ch4:ucx") != NULL;
}

/* Collective: every rank sends something to every other one; not where they are so many that the
 * connections would take more than a launch is worth that hangs now and then. */
static void send_between_all(const struct world *world) {
    char out = 0, in = 0;
    if (world->n_ranks > MAX_CONNECTED) return;
    for (int step = 1; step < world->n_ranks; step++) {
        int to = (world->rank + step) % world->n_ranks;
        int from = (world->rank + world->n_ranks - step) % world->n_ranks;
        CHECK(MPI_Sendrecv(&out, 1, MPI_CHAR, to, TAG_LAST, &in, 1, MPI_CHAR, from, TAG_LAST,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* Collective, before MPI_Finalize. Where that may hang every close is answered: all connections
 * have been used both ways, and no rank closes one before all have left their last call of MPI,
 * so that the first thing each then does there is to ask for its own answers. */
void close_world(struct world *world) {
    const struct timespec rest = {0, SLEEP_BEFORE_FINALIZE_NS};
    bool several_hosts = world->tasks_per_node < world->n_ranks;
    CHECK(MPI_Comm_free(&world->node));
    CHECK(MPI_Comm_free(&world->job));
    if (!several_hosts || !finalize_may_hang()) return;
    send_between_all(world);
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    nanosleep(&rest, NULL);
}

/* The value of `key` in /proc/self/status, such as "Cpus_allowed_list". */
static void process_status(const char *key, char *out, size_t capacity) {
    char line[4096];
    size_t length = strlen(key);
    FILE *file = fopen("/proc/self/status", "r");
    out[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) != 0 || line[length] != ':') continue;
        const char *value = line + length + 1;
        value += strspn(value, " \t");
        snprintf(out, capacity, "%.*s", (int)strcspn(value, "\n"), value);
    }
    if (file != NULL) fclose(file);
}

/* The contents of this rank's record; local. */
void rank_facts(const struct world *world, const struct rail *rail, struct rank_facts *out) {
    cpu_set_t mine;
    memset(out, 0, sizeof *out);
    out->rank = world->rank;
    out->local_rank = world->local_rank;
    out->tasks_per_node = world->tasks_per_node;
    out->oversubscribed = world->oversubscribed;
    out->cpu = sched_getcpu();
    out->n_sharing_cpus = world->n_sharing_cpus;
    out->n_machine_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    out->pid = (long)getpid();
    memcpy(out->host, world->host, sizeof out->host);
    memcpy(out->rail, rail->device, sizeof out->rail);
    for (int i = 0; i < N_RAIL_VARIABLES; i++)
        snprintf(out->settings[i], MAX_NAME, "%.63s", environment(rail_variables[i]));
    process_status("Cpus_allowed_list", out->cpus, sizeof out->cpus);
    my_cpus(&mine);
    out->n_cpus = CPU_COUNT(&mine);
    cpu_numa_nodes(out->cpu_numa_nodes, sizeof out->cpu_numa_nodes);
    process_status("Mems_allowed_list", out->numa_nodes, sizeof out->numa_nodes);
}

/* Collective. At rank 0 the world ranks of the hosts' local rank 0, ascending (its own first), to
 * be freed; NULL and 0 elsewhere. */
int *host_leaders(const struct world *world, int *n) {
    bool root = world->rank == 0;
    int *locals = root ? allocate((size_t)world->n_ranks, sizeof *locals) : NULL;
    CHECK(MPI_Gather(&world->local_rank, 1, MPI_INT, locals, 1, MPI_INT, 0, MPI_COMM_WORLD));
    *n = 0;
    for (int rank = 0; root && rank < world->n_ranks; rank++)
        if (locals[rank] == 0) locals[(*n)++] = rank;
    return locals;
}

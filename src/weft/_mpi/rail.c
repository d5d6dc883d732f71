/* rail.c -- before MPI_Init: which network device this rank uses, the CPUs next to it, and the
 * service level of an aggressor's rank.
 *
 * MPI libraries read their device settings while they start, so the choice must be made before
 * MPI_Init, from the ranks the launcher put into the environment. A setting the user made is
 * replaced only by the level that an aggressor asks for. */
#include "weft.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Launchers' variables of the local rank and of the number of ranks on the host, the innermost
 * first: under mpirun inside a batch job, the batch system's variable is that of the daemon. */
static const char *const local_rank_names[] = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "JSM_NAMESPACE_LOCAL_RANK",
    "SLURM_LOCALID", NULL};
static const char *const local_size_names[] = {
    "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
    "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE", NULL};

/* Of a launcher, the innermost first: the rank, and the number of ranks. */
static const char *const rank_and_size_names[][2] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"}};

const char *const rail_variables[] = {"UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "MV2_IBA_HCA",
                                      "UCX_TLS",         "FI_PROVIDER",        "OMPI_MCA_pml",
                                      "OMPI_MCA_btl",    "UCX_IB_SL",          NULL};

/* The value of an environment variable, "" where it is not set. */
const char *environment(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

/* /sys, or where a test wants it read instead. */
const char *sysfs_root(void) {
    const char *root = environment("WEFT_SYSFS");
    return root[0] == '\0' ? "/sys" : root;
}

/* The first line of a file without its end; false where it cannot be read. */
bool read_text(const char *path, char *out, size_t capacity) {
    FILE *file = fopen(path, "r");
    out[0] = '\0';
    if (file == NULL) return false;
    bool got = fgets(out, (int)capacity, file) != NULL;
    fclose(file);
    out[strcspn(out, "\n")] = '\0';
    return got;
}

/* The number that a variable holds, or UNSET. */
static int number(const char *name) {
    char *end;
    const char *text = environment(name);
    long value = strtol(text, &end, 10);
    bool is_one = end != text && *end == '\0' && value >= 0 && value < 10000000;
    return is_one ? (int)value : UNSET;
}

/* The first of these variables that holds a number, or UNSET. */
static int first_number(const char *const *names) {
    for (; *names != NULL; names++)
        if (number(*names) != UNSET) return number(*names);
    return UNSET;
}

/* `mlx5_0:1` without its port. */
static void device_name(const char *rail, char *out) {
    snprintf(out, MAX_NAME, "%.*s", (int)strcspn(rail, ":"), rail);
}

/* Set the variable of the transport library that knows such a device.
 * SOURCE: UCX's UCX_NET_DEVICES (device:port), libfabric's fi_cxi(7) FI_CXI_DEVICE_NAME,
 * MVAPICH2's MV2_IBA_HCA (device without port). */
static void export_rail(const char *rail, const char *device) {
    const int keep_the_users = 0;
    if (strncmp(device, "cxi", 3) == 0) {
        setenv("FI_CXI_DEVICE_NAME", device, keep_the_users);
        return;
    }
    setenv("UCX_NET_DEVICES", rail, keep_the_users);
    setenv("MV2_IBA_HCA", device, keep_the_users);
}

/* The NUMA node a device hangs on; UNSET where the kernel has none (or -1). */
int device_numa_node(const char *device) {
    static const char *const classes[] = {"infiniband", "cxi", "net"};
    for (int i = 0; i < 3; i++) {
        char path[512], text[MAX_NAME];
        snprintf(path, sizeof path, "%s/class/%s/%s/device/numa_node", sysfs_root(), classes[i],
                 device);
        if (read_text(path, text, sizeof text)) return atoi(text) >= 0 ? atoi(text) : UNSET;
    }
    return UNSET;
}

/* Stay on the CPUs of that NUMA node, of those we may use. Nothing is bound where none is left or
 * where the ranks of this host would outnumber the CPUs we may use. */
static void bind_near(int numa_node, int local_size) {
    char path[512], list[4096];
    cpu_set_t near, allowed;
    snprintf(path, sizeof path, "%s/devices/system/node/node%d/cpulist", sysfs_root(), numa_node);
    if (!read_text(path, list, sizeof list)) return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (local_size > CPU_COUNT(&allowed)) return;
    parse_cpus(list, &near);
    CPU_AND(&near, &near, &allowed);
    if (CPU_COUNT(&near) > 0) sched_setaffinity(0, sizeof near, &near);
}

/* Choose, export and bind. A problem where a rail is asked for and no variable has the local rank:
 * a guess would put every rank on one device. */
struct problem choose_rail(const struct options *options, struct rail *out) {
    struct problem problem = {0};
    out->local_rank = first_number(local_rank_names);
    out->numa_node = UNSET;
    if (options->n_rails == 0) return problem;
    if (out->local_rank == UNSET) {
        set_problem(&problem, EXIT_MISSING, "--rails",
                    "the launcher does not set the local rank before MPI_Init (%s, ...)",
                    local_rank_names[0]);
        return problem;
    }
    const char *rail = options->rails[out->local_rank % options->n_rails];
    char device[MAX_NAME];
    device_name(rail, device);
    snprintf(out->device, sizeof out->device, "%s", rail);
    export_rail(rail, device);
    out->numa_node = device_numa_node(device);
    if (out->numa_node != UNSET) bind_near(out->numa_node, first_number(local_size_names));
    return problem;
}

/* The service level that an aggressor asks for, where this rank is one of its: the last ranks are.
 * SOURCE: UCX's UCX_IB_SL. */
struct problem choose_level(const struct options *options, struct rail *out) {
    struct problem problem = {0};
    bool asked = false;
    for (int i = 0; i < options->n_aggressors; i++)
        asked |= options->aggressors[i].service_level != UNSET;
    if (!asked) return problem;
    for (size_t i = 0; i < sizeof rank_and_size_names / sizeof *rank_and_size_names; i++) {
        out->rank = number(rank_and_size_names[i][0]);
        out->n_ranks = number(rank_and_size_names[i][1]);
        if (out->rank != UNSET && out->n_ranks != UNSET) break;
    }
    if (out->rank == UNSET || out->n_ranks == UNSET) {
        set_problem(&problem, EXIT_MISSING, "--aggressor",
                    "the launcher does not set rank and number of ranks before MPI_Init (%s, ...)",
                    rank_and_size_names[0][0]);
        return problem;
    }
    int end = out->n_ranks;
    for (int i = options->n_aggressors - 1; i >= 0; i--) {
        const struct aggressor *one = &options->aggressors[i];
        int first = end - one->n_ranks;
        if (first <= out->rank && out->rank < end && one->service_level != UNSET) {
            char level[MAX_NAME];
            snprintf(level, sizeof level, "%d", one->service_level);
            setenv("UCX_IB_SL", level, 1);
        }
        end = first;
    }
    return problem;
}

/* After MPI_Init: a level was chosen by the rank that MPI gives, not by another launcher's. */
struct problem check_level(const struct rail *rail, const struct world *world) {
    struct problem problem = {0};
    if (rail->n_ranks == UNSET) return problem;
    if (rail->rank != world->rank || rail->n_ranks != world->n_ranks)
        set_problem(&problem, EXIT_MISSING, "--aggressor",
                    "the launcher's variables say rank %d of %d, MPI rank %d of %d", rail->rank,
                    rail->n_ranks, world->rank, world->n_ranks);
    return problem;
}

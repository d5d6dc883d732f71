/* cpus.c -- the CPUs this rank may use: how many, near which memory, and shared with whom.
 *
 * Two ranks that may use one CPU only take turns on it, and what is measured is then the operating
 * system's scheduler: milliseconds instead of microseconds. A launcher that sees only a part of a
 * machine (a container, another job's share) does that. */
#include "weft.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPU_LIST = 4096 };

/* CPUs of a list such as "0-3,8". */
void parse_cpus(const char *list, cpu_set_t *out) {
    CPU_ZERO(out);
    while (*list >= '0' && *list <= '9') {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) CPU_SET((int)cpu, out);
        list = *end == ',' ? end + 1 : end;
    }
}

/* The CPUs this rank may use; all, where there are more than the set holds. */
void my_cpus(cpu_set_t *out) {
    memset(out, 0, sizeof *out);
    if (sched_getaffinity(0, sizeof *out, out) != 0) memset(out, 0xff, sizeof *out);
}

static int by_number(const struct dirent **left, const struct dirent **right) {
    return atoi((*left)->d_name + 4) - atoi((*right)->d_name + 4);
}

static int is_node(const struct dirent *entry) {
    const char *name = entry->d_name;
    return strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

/* The NUMA nodes my CPUs belong to, as "0,1"; "" where the system does not say. */
void cpu_numa_nodes(char *out, size_t capacity) {
    char folder[512], path[1024], list[MAX_CPU_LIST];
    struct dirent **entries;
    cpu_set_t mine, of_node;
    my_cpus(&mine);
    out[0] = '\0';
    snprintf(folder, sizeof folder, "%.400s/devices/system/node", sysfs_root());
    int n = scandir(folder, &entries, is_node, by_number);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(out);
        snprintf(path, sizeof path, "%s/%.255s/cpulist", folder, entries[i]->d_name);
        if (!read_text(path, list, sizeof list)) list[0] = '\0';
        parse_cpus(list, &of_node);
        CPU_AND(&of_node, &of_node, &mine);
        if (CPU_COUNT(&of_node) > 0)
            snprintf(out + used, capacity - used, "%s%d", used > 0 ? "," : "",
                     atoi(entries[i]->d_name + 4));
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* Collective over the ranks of one machine. How many of them may use no CPU but mine, this one
 * included; more than my CPUs means that some of us wait for one another's turn. */
int ranks_within_my_cpus(MPI_Comm machine) {
    int n_ranks, n = 0;
    cpu_set_t mine, both;
    my_cpus(&mine);
    CHECK(MPI_Comm_size(machine, &n_ranks));
    cpu_set_t *all = allocate((size_t)n_ranks, sizeof *all);
    CHECK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, machine));
    for (int i = 0; i < n_ranks; i++) {
        CPU_AND(&both, &all[i], &mine);
        n += CPU_EQUAL(&both, &all[i]) ? 1 : 0;
    }
    free(all);
    return n;
}

/* transport.c -- the transport that the MPI library chose, as far as it can be seen.
 *
 * Two kinds of evidence. The library's own report: its version text names the device it was
 * built with. What the process holds: the components the library keeps loaded after it has chosen
 * (Open MPI closes those it did not take), and the device files it opened (/dev/infiniband/uverbs0
 * means that a host channel adapter is in use, whatever a setting said). */
#include "weft.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_TRANSPORT = 41, MAX_TEXT = 1024 };

struct transport {
    char host[MAX_NAME];
    char selected[MAX_TEXT]; /* "" where nothing can be said */
    char devices[MAX_TEXT];  /* open device files, one a line */
};

/* Whether `word` stands in `list` as a whole: uverbs1 does not stand in uverbs10. */
static bool holds(const char *list, const char *separator, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == list || at[-1] == separator[0];
        if (begins && (at[length] == '\0' || at[length] == separator[0])) return true;
    }
    return false;
}

/* Append `word` to `list`, parted by `separator`, unless it is there or does not fit. */
static void append(char *list, const char *separator, const char *word) {
    size_t used = strlen(list);
    if (holds(list, separator, word) || used + strlen(word) + 3 > MAX_TEXT) return;
    snprintf(list + used, MAX_TEXT - used, "%s%s", used > 0 ? separator : "", word);
}

/* "ch4:ucx" from the line `MPICH Device: ch4:ucx` of MPICH's version text. */
static void mpich_device(char *out) {
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    CHECK(MPI_Get_library_version(version, &length));
    const char *line = strstr(version, "Device:");
    if (line == NULL) return;
    line += strlen("Device:");
    line += strspn(line, " \t");
    char device[MAX_NAME];
    snprintf(device, sizeof device, "%.*s", (int)strcspn(line, "\n"), line);
    append(out, " ", device);
}

/* Open MPI's loaded components that carry messages: "pml/ob1 btl/vader btl/tcp". */
static void loaded_components(char *out) {
    static const char *const kinds[] = {"mca_pml_", "mca_mtl_", "mca_btl_"};
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        for (int i = 0; i < 3; i++) {
            const char *found = strstr(line, kinds[i]);
            if (found == NULL) continue;
            char word[MAX_NAME];
            const char *name = found + strlen(kinds[i]);
            snprintf(word, sizeof word, "%.3s/%.*s", kinds[i] + 4, (int)strcspn(name, "."), name);
            append(out, " ", word);
        }
    }
    if (maps != NULL) fclose(maps);
}

/* Device files this process holds open, but for terminals, null and random. */
static void open_devices(char *out) {
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[MAX_LIST + 32], target[MAX_LIST] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%.200s", entry->d_name);
        if (readlink(path, target, sizeof target - 1) < 0) continue;
        bool device = strncmp(target, "/dev/", 5) == 0;
        bool plain = strncmp(target, "/dev/pts", 8) == 0 || strncmp(target, "/dev/shm", 8) == 0 ||
                     strncmp(target, "/dev/null", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0 ||
                     strstr(target, "random") != NULL;
        if (device && !plain) append(out, "\n", target);
    }
    if (folder != NULL) closedir(folder);
}

static void write_one(const struct transport *transport) {
    const char *rest = transport->devices;
    json_open("transport");
    json_text("host", transport->host);
    json_text("mpi_selected", transport->selected[0] == '\0' ? NULL : transport->selected);
    json_begin("open_devices", '[');
    while (*rest != '\0') {
        char device[MAX_LIST];
        size_t length = strcspn(rest, "\n");
        snprintf(device, sizeof device, "%.*s", (int)length, rest);
        json_text(NULL, device);
        rest += length + (rest[length] == '\n');
    }
    json_finish(']');
    json_close();
}

/* Collective. One record a host, from its local rank 0. */
void write_transports(const struct world *world) {
    struct transport mine = {.selected = ""};
    int n_leaders, *leaders = host_leaders(world, &n_leaders);
    if (world->local_rank == 0) {
        memcpy(mine.host, world->host, sizeof mine.host);
        mpich_device(mine.selected);
        loaded_components(mine.selected);
        open_devices(mine.devices);
        if (world->rank != 0)
            CHECK(MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, TAG_TRANSPORT, MPI_COMM_WORLD));
    }
    if (world->rank == 0) write_one(&mine);
    for (int i = 1; i < n_leaders; i++) {
        CHECK(MPI_Recv(&mine, sizeof mine, MPI_BYTE, leaders[i], TAG_TRANSPORT, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        write_one(&mine);
    }
    free(leaders);
}

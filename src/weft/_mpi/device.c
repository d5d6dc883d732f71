/* device.c -- byte and error counters of every network device, before and after.
 *
 * Local rank 0 of each host reads them, so that "which device carried the bytes" has an answer
 * that does not depend on the MPI library's own report. Values are written as the kernel
 * gives them: InfiniBand counts port_xmit_data in units of four bytes. */
#include "weft.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_COUNTERS = 31, MAX_PATH = 1024, MAX_COUNTERS = 1024 };

struct counter {
    char device[MAX_NAME], link_layer[MAX_NAME], name[MAX_NAME];
    char state[MAX_NAME]; /* "ACTIVE", "up"; "" where not known */
    int port, numa_node; /* UNSET for a network interface; UNSET where not known */
    double link_rate_gbps; /* 0 where not known */
    bool is_virtual;
    uint64_t before, after;
};

/* SOURCE: the Linux kernel's Documentation/ABI/stable/sysfs-class-infiniband. */
static const char *const infiniband_names[] = {
    "counters/port_xmit_data",     "counters/port_rcv_data",
    "counters/port_xmit_packets",  "counters/port_rcv_packets",
    "counters/port_xmit_wait",     "counters/port_xmit_discards",
    "counters/port_rcv_errors",    "counters/symbol_error",
    "counters/link_downed",        "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err",  "hw_counters/local_ack_timeout_err",
    "hw_counters/np_cnp_sent",     "hw_counters/rp_cnp_handled",
    NULL};
static const char *const interface_names[] = {"statistics/tx_bytes", "statistics/rx_bytes", NULL};

/* A counter file's value; false where it cannot be read. */
static bool read_count(const char *path, uint64_t *out) {
    char text[MAX_NAME], *end;
    if (!read_text(path, text, sizeof text)) return false;
    *out = strtoull(text, &end, 10);
    return end != text;
}

static void copy_name(char *to, const char *from) { snprintf(to, MAX_NAME, "%.63s", from); }

/* The first line of folder/name, "" where it cannot be read. */
static void read_in(const char *folder, const char *name, char *out) {
    char path[MAX_PATH + 32];
    snprintf(path, sizeof path, "%.1000s/%s", folder, name);
    read_text(path, out, MAX_NAME);
}

/* An interface's own report: `operstate` "up", `speed` in Mb/s (-1: not known).
 * SOURCE: the Linux kernel's Documentation/ABI/testing/sysfs-class-net. */
static void interface_facts(struct counter *like, const char *path) {
    char speed[MAX_NAME];
    read_in(path, "operstate", like->state);
    read_in(path, "speed", speed);
    if (atof(speed) > 0) like->link_rate_gbps = atof(speed) / 1e3;
}

/* Keep one count: a new entry before, the matching entry after. */
static void keep(struct counters *out, bool before, const struct counter *like, const char *name,
                 uint64_t value) {
    const char *last = strrchr(name, '/');
    const char *bare = last == NULL ? name : last + 1;
    for (int i = 0; !before && i < out->n; i++) {
        struct counter *known = &out->of[i];
        if (strcmp(known->device, like->device) == 0 && known->port == like->port &&
            strcmp(known->name, bare) == 0)
            known->after = value;
    }
    if (!before || out->n == MAX_COUNTERS) return;
    struct counter *new = &out->of[out->n++];
    *new = *like;
    copy_name(new->name, bare);
    new->before = new->after = value;
}

/* Read one counter and keep it. */
static void note(struct counters *out, bool before, const struct counter *like, const char *name,
                 const char *path) {
    uint64_t value;
    if (read_count(path, &value)) keep(out, before, like, name, value);
}

/* All counters of `names` below `folder`. */
static void note_all(struct counters *out, bool before, const struct counter *like,
                     const char *folder, const char *const *names) {
    for (; *names != NULL; names++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%.800s/%s", folder, *names);
        note(out, before, like, *names, path);
    }
}

static int by_name(const struct dirent **left, const struct dirent **right) {
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int not_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Call `visit` with every entry of a folder, in the order of names; nothing where it is absent. */
static void each_entry(const char *folder,
                       void (*visit)(struct counters *, bool, const char *, const char *),
                       struct counters *out, bool before, const char *device) {
    struct dirent **entries;
    int n = scandir(folder, &entries, not_hidden, by_name);
    for (int i = 0; i < n; i++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%.700s/%.255s", folder, entries[i]->d_name);
        visit(out, before, device == NULL ? entries[i]->d_name : device, path);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* .../infiniband/mlx5_0/ports/1 */
static void visit_port(struct counters *out, bool before, const char *device, const char *path) {
    struct counter like = {.port = atoi(strrchr(path, '/') + 1),
                           .numa_node = device_numa_node(device)};
    char state[MAX_NAME], rate[MAX_NAME]; /* "4: ACTIVE", "200 Gb/sec (4X HDR)" */
    copy_name(like.device, device);
    read_in(path, "link_layer", like.link_layer);
    read_in(path, "state", state);
    read_in(path, "rate", rate);
    const char *word = strrchr(state, ' ');
    copy_name(like.state, word == NULL ? state : word + 1);
    like.link_rate_gbps = atof(rate);
    note_all(out, before, &like, path, infiniband_names);
}

static void visit_hca(struct counters *out, bool before, const char *device, const char *path) {
    char ports[MAX_PATH + 16];
    snprintf(ports, sizeof ports, "%s/ports", path);
    each_entry(ports, visit_port, out, before, device);
}

/* .../net/eth0. A virtual interface (lo, a bridge, a container's) has no device behind it. */
static void visit_interface(struct counters *out, bool before, const char *device,
                            const char *path) {
    struct counter like = {.port = UNSET, .numa_node = device_numa_node(device)};
    char file[MAX_PATH + 16], type[MAX_NAME];
    copy_name(like.device, device);
    interface_facts(&like, path);
    snprintf(file, sizeof file, "%s/device", path);
    DIR *behind = opendir(file);
    like.is_virtual = behind == NULL;
    if (behind != NULL) closedir(behind);
    read_in(path, "type", type); /* SOURCE: linux/if_arp.h: 772 loopback, 32 InfiniBand */
    bool loopback = strcmp(type, "772") == 0, infiniband = strcmp(type, "32") == 0;
    copy_name(like.link_layer, loopback ? "Loopback" : infiniband ? "InfiniBand" : "Ethernet");
    note_all(out, before, &like, path, interface_names);
}

/* A Slingshot device reports little; its interface (.../device/net/hsn0) has state and rate. */
static void cxi_facts(struct counter *like, const char *device) {
    char folder[MAX_PATH / 2], path[MAX_PATH];
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%.300s/class/cxi/%.63s/device/net", sysfs_root(), device);
    int n = scandir(folder, &entries, not_hidden, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%.255s", folder, entries[i]->d_name);
        if (i == 0) interface_facts(like, path);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* .../cxi/cxi0/device/telemetry/<name>: Slingshot's counters, of which there are hundreds; those
 * that count bytes or pauses are kept. A file reads `value@time`. */
static void visit_telemetry(struct counters *out, bool before, const char *device,
                            const char *path) {
    struct counter like = {.port = UNSET, .link_layer = "Slingshot", .numa_node = UNSET};
    const char *name = strrchr(path, '/') + 1;
    if (strstr(name, "octets") == NULL && strstr(name, "pause") == NULL) return;
    copy_name(like.device, device);
    if (before) {
        like.numa_node = device_numa_node(device);
        cxi_facts(&like, device);
    }
    note(out, before, &like, name, path);
}

static void visit_cxi(struct counters *out, bool before, const char *device, const char *path) {
    char telemetry[MAX_PATH + 32];
    snprintf(telemetry, sizeof telemetry, "%s/device/telemetry", path);
    each_entry(telemetry, visit_telemetry, out, before, device);
}

/* Segments that TCP sent again, of all connections of the host (of its network namespace).
 * SOURCE: RFC 1213, tcpRetransSegs; the Linux kernel's /proc/net/snmp: a line of names, one of
 * values. */
static void note_tcp(struct counters *out, bool before) {
    struct counter like = {.device = "tcp", .link_layer = "TCP", .port = UNSET,
                           .numa_node = UNSET, .is_virtual = true};
    char path[MAX_PATH], names[MAX_PATH], values[MAX_PATH], *name_left, *value_left;
    snprintf(path, sizeof path, "%.400s/../proc/net/snmp", sysfs_root());
    FILE *file = fopen(path, "r");
    if (file == NULL) return;
    while (fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
        const char *name = strtok_r(names, " \n", &name_left);
        const char *value = strtok_r(values, " \n", &value_left);
        bool is_tcp = name != NULL && strcmp(name, "Tcp:") == 0;
        for (; is_tcp && name != NULL && value != NULL;
             name = strtok_r(NULL, " \n", &name_left), value = strtok_r(NULL, " \n", &value_left))
            if (strcmp(name, "RetransSegs") == 0)
                keep(out, before, &like, name, strtoull(value, NULL, 10));
    }
    fclose(file);
}

/* Local rank 0 reads the counters of its host; the others leave `out` empty. */
void read_counters(const struct world *world, struct counters *out, bool before) {
    static const struct {
        const char *class;
        void (*visit)(struct counters *, bool, const char *, const char *);
    } classes[] = {{"infiniband", visit_hca}, {"cxi", visit_cxi}, {"net", visit_interface}};
    if (world->local_rank != 0) return;
    if (before) *out = (struct counters){.of = allocate(MAX_COUNTERS, sizeof *out->of)};
    out->elapsed_ns = before ? now_ns() : now_ns() - out->elapsed_ns;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        char folder[MAX_PATH / 2];
        snprintf(folder, sizeof folder, "%.400s/class/%s", sysfs_root(), classes[i].class);
        each_entry(folder, classes[i].visit, out, before, NULL);
    }
    note_tcp(out, before);
}

/* The keys that say which counter of which device a record is about. */
static void write_place(const char *host, const struct counter *c) {
    json_text("host", host);
    json_text("device", c->device);
    if (c->port == UNSET)
        json_null("port");
    else
        json_int("port", c->port);
    json_text("link_layer", c->link_layer);
    json_bool("virtual", c->is_virtual);
    json_text("state", c->state[0] == '\0' ? NULL : c->state);
    if (c->link_rate_gbps > 0)
        json_decimal("link_rate_gbps", c->link_rate_gbps);
    else
        json_null("link_rate_gbps");
    if (c->numa_node == UNSET)
        json_null("numa_node");
    else
        json_int("numa_node", c->numa_node);
    json_text("counter", c->name);
}

/* The `device` records of one host: every counter, before and after. */
static void write_devices(const char *host, const struct counters *counters) {
    for (const struct counter *c = counters->of; c < counters->of + counters->n; c++) {
        json_open("device");
        write_place(host, c);
        json_int("before", (int64_t)c->before);
        json_int("after", (int64_t)c->after);
        json_close();
    }
}

/* The `quiet` records of one host: counters that moved. One that went backwards was reset. */
static void write_quiet(const char *host, const struct counters *counters) {
    for (const struct counter *c = counters->of; c < counters->of + counters->n; c++) {
        if (c->after <= c->before) continue;
        json_open("quiet");
        write_place(host, c);
        json_int("delta", (int64_t)(c->after - c->before));
        json_int("elapsed_ns", counters->elapsed_ns);
        json_close();
    }
}

/* Collective. The records of every host, written by rank 0 in the order of its leaders' ranks:
 * `quiet` ones or `device` ones. */
void write_counters(const struct world *world, const struct counters *counters, bool quiet) {
    void (*write)(const char *, const struct counters *) = quiet ? write_quiet : write_devices;
    int n_leaders, *leaders = host_leaders(world, &n_leaders);
    char host[MAX_NAME];
    if (world->rank != 0 && world->local_rank == 0) {
        int bytes = counters->n * (int)sizeof *counters->of;
        CHECK(MPI_Send(world->host, MAX_NAME, MPI_CHAR, 0, TAG_COUNTERS, MPI_COMM_WORLD));
        CHECK(MPI_Send(&counters->n, 1, MPI_INT, 0, TAG_COUNTERS, MPI_COMM_WORLD));
        CHECK(MPI_Send(&counters->elapsed_ns, 1, MPI_INT64_T, 0, TAG_COUNTERS, MPI_COMM_WORLD));
        CHECK(MPI_Send(counters->of, bytes, MPI_BYTE, 0, TAG_COUNTERS, MPI_COMM_WORLD));
    }
    if (world->rank == 0) write(world->host, counters);
    for (int i = 1; i < n_leaders; i++) {
        struct counters theirs = {.of = allocate(MAX_COUNTERS, sizeof *theirs.of)};
        int bytes = MAX_COUNTERS * (int)sizeof *theirs.of;
        CHECK(MPI_Recv(host, MAX_NAME, MPI_CHAR, leaders[i], TAG_COUNTERS, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        CHECK(MPI_Recv(&theirs.n, 1, MPI_INT, leaders[i], TAG_COUNTERS, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        CHECK(MPI_Recv(&theirs.elapsed_ns, 1, MPI_INT64_T, leaders[i], TAG_COUNTERS,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(MPI_Recv(theirs.of, bytes, MPI_BYTE, leaders[i], TAG_COUNTERS, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
        write(host, &theirs);
        free(theirs.of);
    }
    free(leaders);
}

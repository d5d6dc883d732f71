/* clock.c -- time, and how the clocks of different hosts are brought together.
 *
 * Durations need only the local clock. Start skew and agreed starts compare clocks of several
 * ranks: each rank learns the offset between rank 0's clock and its own by ping-pong, keeping the
 * exchange with the shortest round trip, whose half bounds the error. Offsets are taken before
 * and after a measurement and interpolated, because clocks of hosts drift by microseconds a
 * second. Ranks on one running kernel share CLOCK_MONOTONIC: their offset is zero by definition. */
#include "weft.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_EXCHANGES = 20, TAG_CLOCK = 11 };

/* Nanoseconds of CLOCK_MONOTONIC on this host. */
int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds since the Unix epoch. */
int64_t unix_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The smallest step the clock claims. */
int64_t clock_resolution_ns(void) {
    struct timespec t;
    clock_getres(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What one reading costs: the floor under every time of this run. Median of blocks of readings. */
int64_t clock_cost_ns(void) {
    enum { N_BLOCKS = 21, N_READINGS = 100 };
    int64_t cost[N_BLOCKS];
    for (int block = 0; block < N_BLOCKS; block++) {
        int64_t start = now_ns(), last = start;
        for (int i = 0; i < N_READINGS; i++) last = now_ns();
        cost[block] = (last - start) / N_READINGS;
    }
    qsort(cost, N_BLOCKS, sizeof *cost, by_value);
    return cost[N_BLOCKS / 2];
}

/* Rank `other` answers N_EXCHANGES requests with its clock; rank 0 keeps the tightest exchange.
 * Returns, on both, rank 0's clock minus the other's; best[1] bounds its error. */
static int64_t offset_of(MPI_Comm comm, int rank, int other) {
    int64_t best[2] = {0, INT64_MAX}, theirs = 0;
    for (int i = 0; i < N_EXCHANGES; i++) {
        if (rank == 0) {
            int64_t sent = now_ns();
            CHECK(MPI_Send(&sent, 1, MPI_INT64_T, other, TAG_CLOCK, comm));
            CHECK(MPI_Recv(&theirs, 1, MPI_INT64_T, other, TAG_CLOCK, comm, MPI_STATUS_IGNORE));
            int64_t half_trip = (now_ns() - sent + 1) / 2;
            if (half_trip < best[1]) {
                best[0] = sent + half_trip - theirs;
                best[1] = half_trip;
            }
        } else {
            CHECK(MPI_Recv(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, comm, MPI_STATUS_IGNORE));
            theirs = now_ns();
            CHECK(MPI_Send(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, comm));
        }
    }
    if (rank == 0)
        CHECK(MPI_Send(best, 2, MPI_INT64_T, other, TAG_CLOCK, comm));
    else
        CHECK(MPI_Recv(best, 2, MPI_INT64_T, 0, TAG_CLOCK, comm, MPI_STATUS_IGNORE));
    return best[0];
}

/* Collective over comm: my offset to rank 0, one rank after the other. */
static int64_t measure_offset(MPI_Comm comm) {
    int rank, n_ranks;
    int64_t mine = 0;
    CHECK(MPI_Comm_rank(comm, &rank));
    CHECK(MPI_Comm_size(comm, &n_ranks));
    for (int other = 1; other < n_ranks; other++)
        if (rank == 0 || rank == other) mine = offset_of(comm, rank, other);
    return rank == 0 ? 0 : mine;
}

/* Collective. True where every rank reads the same clock: one running kernel (one boot id)
 * and one time namespace (kernels before 5.6 have none). */
bool same_clock_everywhere(MPI_Comm comm) {
    struct {
        char boot_id[MAX_NAME], time_namespace[MAX_NAME];
    } mine, root;
    int all, same;
    memset(&mine, 0, sizeof mine);
    bool known = read_text("/proc/sys/kernel/random/boot_id", mine.boot_id, sizeof mine.boot_id);
    if (readlink("/proc/self/ns/time", mine.time_namespace, sizeof mine.time_namespace - 1) < 0)
        mine.time_namespace[0] = '\0';
    root = mine;
    CHECK(MPI_Bcast(&root, sizeof root, MPI_BYTE, 0, comm));
    same = known && memcmp(&root, &mine, sizeof mine) == 0;
    CHECK(MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_LAND, comm));
    return all != 0;
}

/* Collective. Fill point `which` (0 before, 1 after the measurement) of my clock map. */
void sync_clock(MPI_Comm comm, bool common_clock, struct clock_map *map, int which) {
    map->offset_ns[which] = common_clock ? 0 : measure_offset(comm);
    map->at_ns[which] = now_ns();
    if (which == 0) { /* until the second point is known, the offset is taken as constant */
        map->offset_ns[1] = map->offset_ns[0];
        map->at_ns[1] = map->at_ns[0] + 1;
    }
}

/* A local time on rank 0's clock: the offset interpolated between the two points. */
int64_t to_root_clock(const struct clock_map *map, int64_t local_ns) {
    double span = (double)(map->at_ns[1] - map->at_ns[0]);
    double along = (double)(local_ns - map->at_ns[0]) / span;
    double drift = (double)(map->offset_ns[1] - map->offset_ns[0]) * along;
    return local_ns + map->offset_ns[0] + (int64_t)drift;
}

/* A time on rank 0's clock on mine, by the offset of the first point. */
int64_t from_root_clock(const struct clock_map *map, int64_t root_ns) {
    return root_ns - map->offset_ns[0];
}

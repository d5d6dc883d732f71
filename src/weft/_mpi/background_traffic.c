/* background_traffic.c -- traffic of other jobs before the measurement. Counters that move while no
 * rank sends count it; it would look like slow cables. */
#include "weft.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* The last messages of the barrier need a moment to arrive before the counters are first read. */
static const double settle_share = 0.1;

/* Sleep, through interruptions. */
static void sleep_seconds(double seconds) {
    int64_t until_ns = now_ns() + (int64_t)(seconds * 1e9);
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

/* Collective. After a barrier no rank sends for `seconds` (and a tenth before it), while local
 * rank 0 of each host reads its counters twice. Rank 0 writes a record for each that moved. */
void record_background_traffic(const struct world *world, double seconds) {
    struct counters counters = {0};
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    sleep_seconds(seconds * settle_share);
    read_counters(world, &counters, true);
    sleep_seconds(seconds);
    read_counters(world, &counters, false);
    sleeping_barrier(MPI_COMM_WORLD);
    write_counters(world, &counters, true);
    free(counters.of);
}

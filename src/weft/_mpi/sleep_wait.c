/* sleep_wait.c -- waiting without taking a CPU from the ranks that measure.
 *
 * A waiting rank tests its request and sleeps between two tests, at first shortly, then longer.
 * The wait of an MPI library would test all the time. */
#include "weft.h"

#include <time.h>

enum { FIRST_SLEEP_NS = 20000 };

/* Sleep until the request is complete, `longest_ns` at a time at most. */
void sleep_until_complete(MPI_Request *request, int64_t longest_ns) {
    int done = 0;
    for (int64_t sleep_ns = FIRST_SLEEP_NS;; sleep_ns *= 2) {
        if (sleep_ns > longest_ns) sleep_ns = longest_ns;
        const struct timespec pause = {(time_t)(sleep_ns / 1000000000),
                                       (long)(sleep_ns % 1000000000)};
        CHECK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done) return;
        nanosleep(&pause, NULL);
    }
}

/* Collective. A barrier whose waiting ranks sleep: for ranks without a measurement. */
void sleeping_barrier(MPI_Comm comm) {
    MPI_Request request;
    CHECK(MPI_Ibarrier(comm, &request));
    sleep_until_complete(&request, LONGEST_SLEEP_NS);
}

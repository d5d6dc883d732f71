/* rest.c -- waiting without taking a CPU from those who measure.
 *
 * A rank that waits for something far away looks for it now and then and sleeps in between, at
 * first shortly, then longer. A library's own wait would look all the time. */
#include "weft.h"

#include <time.h>

enum { FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 1000000 };

/* Sleep until the request is complete, `longest_ns` at a time at most. */
void rest_until(MPI_Request *request, int64_t longest_ns) {
    int done = 0;
    for (int64_t nap_ns = FIRST_NAP_NS;; nap_ns *= 2) {
        if (nap_ns > longest_ns) nap_ns = longest_ns;
        const struct timespec nap = {(time_t)(nap_ns / 1000000000), (long)(nap_ns % 1000000000)};
        CHECK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done) return;
        nanosleep(&nap, NULL);
    }
}

/* Collective. A barrier whose waiting ranks sleep: for ranks that have nothing to measure. */
void wait_quietly(MPI_Comm comm) {
    MPI_Request request;
    CHECK(MPI_Ibarrier(comm, &request));
    rest_until(&request, LONGEST_NAP_NS);
}

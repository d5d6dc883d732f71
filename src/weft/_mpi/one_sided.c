/* one_sided.c -- aggressors by remote memory: puts of all into one rank, gets of all from it.
 *
 * SOURCE: GPCNeT 1.3, its put incast and get broadcast: MPI_Put or MPI_Get of every rank, each
 * completed by a flush; the one rank does nothing. */
#include "weft.h"

static struct extent one_block_each(const struct job *job, size_t bytes) {
    size_t n = job->rank == ROOT ? (size_t)job->n_ranks * bytes : 1;
    return (struct extent){bytes, n > bytes ? n : bytes};
}

/* Collective. The receive buffer of the one rank is open to all. */
static void expose(struct job *job) {
    CHECK(MPI_Win_create(job->receive.at, (MPI_Aint)job->receive.bytes, 1, MPI_INFO_NULL, job->comm,
                         &job->window_of_root));
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, job->window_of_root));
}

static void put(const struct job *job) {
    if (job->rank == ROOT) return;
    CHECK(MPI_Put(job->send.at, (int)job->bytes, MPI_CHAR, ROOT,
                  (MPI_Aint)((size_t)job->rank * job->bytes), (int)job->bytes, MPI_CHAR,
                  job->window_of_root));
    CHECK(MPI_Win_flush(ROOT, job->window_of_root));
}

static void get(const struct job *job) {
    if (job->rank == ROOT) return;
    CHECK(MPI_Get(job->send.at, (int)job->bytes, MPI_CHAR, ROOT, 0, (int)job->bytes, MPI_CHAR,
                  job->window_of_root));
    CHECK(MPI_Win_flush(ROOT, job->window_of_root));
}

/* What both have in common. */
#define WITH_ROOT \
    .parties = FAN, .has_sizes = true, .element_bytes = 1, .default_window = 1, \
    .extent = one_block_each, .prepare = expose

const struct benchmark put_incast = {.name = "put_incast", WITH_ROOT, .once = put};
const struct benchmark get_broadcast = {.name = "get_broadcast", WITH_ROOT, .once = get};

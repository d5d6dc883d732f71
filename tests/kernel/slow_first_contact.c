/* slow_first_contact.c -- a layer of MPI's profiling interface: the first message of a size that a
 * rank sends to another costs a fifth of a second, as setting up a connection may. Not of a byte:
 * such a message only says that a rank is there, also to ranks that it is not measured with. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdbool.h>
#include <time.h>

enum { MOST_RANKS = 8, MOST_SIZES = 8, FIRST_NS = 200000000 };

static int sizes[MOST_SIZES], n_sizes;
static bool met[MOST_RANKS][MOST_SIZES];

static int place_of(int size) {
    for (int i = 0; i < n_sizes; i++)
        if (sizes[i] == size) return i;
    sizes[n_sizes] = size;
    return n_sizes++;
}

static void meet(int peer, int size) {
    if (size <= 1) return;
    bool *before = &met[peer][place_of(size)];
    if (!*before) nanosleep(&(struct timespec){.tv_nsec = FIRST_NS}, NULL);
    *before = true;
}

int MPI_Send(const void *at, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    meet(peer, n);
    return PMPI_Send(at, n, type, peer, tag, comm);
}

int MPI_Isend(const void *at, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request) {
    meet(peer, n);
    return PMPI_Isend(at, n, type, peer, tag, comm, request);
}

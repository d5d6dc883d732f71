/* recorded_program.c -- calls of every kind that a recorder writes down, a known number of each.
 *
 *   recorded_program [crash | threads | one-sided | spawn | poll | wrapped]
 *
 * crash: rank 1 dies of SIGSEGV in the middle. threads: calls of two threads at once. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, n;
static char out[1 << 16], in[1 << 16];

static void two_sided(void)
{
    int right = (rank + 1) % n, left = (rank + n - 1) % n, flag = 0, index, n_done, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int k = 0; k < 10; k++) {
        MPI_Irecv(in, 1000, MPI_BYTE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 100, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Sendrecv(out, 7, MPI_BYTE, right, 1, in, 7, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 9, MPI_BYTE, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 8, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 8, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 8, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 8, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
    for (int n_left = 2; n_left > 0; n_left -= n_done)
        MPI_Waitsome(2, requests, &n_done, indices, statuses);
    MPI_Send(out, 5, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 5, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void from_any(void)
{
    if (rank > 0) {
        MPI_Send(out, 11, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
        MPI_Send(out, 12, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
        return;
    }
    MPI_Request requests[16];
    for (int k = 1; k < n; k++)
        MPI_Recv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 1; k < n; k++)
        MPI_Irecv(in + 100 * k, 100, MPI_BYTE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[k]);
    MPI_Waitall(n - 1, requests + 1, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(in, 21, MPI_BYTE, (rank + n - 1) % n, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 21, MPI_BYTE, (rank + 1) % n, 5, MPI_COMM_WORLD, &requests[1]);
    for (int k = 0; k < 3; k++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* A receive that is cancelled, a send whose request is freed, a message that is matched first. */
static void odd_ends(void)
{
    MPI_Request request;
    MPI_Comm half;
    MPI_Message message;
    int mine;
    MPI_Irecv(in, 9, MPI_BYTE, (rank + n - 1) % n, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, 6, MPI_BYTE, (rank + 1) % n, 6, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Recv(in, 6, MPI_BYTE, (rank + n - 1) % n, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Comm_rank(half, &mine);
    MPI_Send(out, 13, MPI_BYTE, 1 - mine, 7, half);
    MPI_Mprobe(1 - mine, 7, half, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 13, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Comm_free(&half);
}

static void collectives(void)
{
    MPI_Comm half;
    MPI_Request request;
    int counts[64], places[64], whole[64], whole_places[64];
    for (int k = 0; k < n; k++) {
        counts[k] = 10 * rank + k;
        places[k] = 1000 * k;
        whole[k] = k + 1;
        whole_places[k] = 100 * k;
    }
    int received[64];
    for (int k = 0; k < n; k++)
        received[k] = 10 * k + rank;
    for (int k = 0; k < 6; k++)
        MPI_Allreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Bcast(out, 30, MPI_BYTE, 1, half);
    MPI_Reduce(out, in, 2, MPI_INT, MPI_SUM, 0, half);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Allgather(out, 3, MPI_BYTE, in, 3, MPI_BYTE, half);
    MPI_Comm_free(&half);
    MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoall(out, 6, MPI_BYTE, in, 6, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoallv(out, counts, places, MPI_BYTE, in, received, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Gatherv(out, rank + 1, MPI_BYTE, in, whole, whole_places, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(out, whole, whole_places, MPI_BYTE, in, rank + 1, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Allgatherv(out, rank + 1, MPI_BYTE, in, whole, whole_places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Gather(out, 2, MPI_BYTE, in, 2, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Scatter(out, 2, MPI_BYTE, in, 2, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A copy of the world, halves of the copy in reverse order, a copy of the own half; four ranks.
 * Two messages of one tag, one on the half and one on its copy, are received in reverse order. */
static void wrapped(void)
{
    MPI_Comm copy, half, half_copy;
    MPI_Request requests[2];
    int mine;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &half_copy);
    MPI_Comm_rank(half, &mine);
    MPI_Bcast(out, 31, MPI_BYTE, 1, copy);
    MPI_Allreduce(out, in, 3, MPI_DOUBLE, MPI_SUM, half);
    MPI_Allgather(out, 17, MPI_BYTE, in, 17, MPI_BYTE, half_copy);
    MPI_Sendrecv(out, 19, MPI_BYTE, 1 - mine, 0, in, 19, MPI_BYTE, 1 - mine, 0, half_copy,
                 MPI_STATUS_IGNORE);
    if (mine == 0) {
        MPI_Isend(out, 23, MPI_BYTE, 1, 5, half, &requests[0]);
        MPI_Isend(out, 29, MPI_BYTE, 1, 5, half_copy, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 5, half_copy, MPI_STATUS_IGNORE);
        MPI_Recv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 5, half, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&half_copy);
    /* The handles of the halves may come again for these pairs. */
    MPI_Comm_split(copy, rank / 2, rank, &half);
    MPI_Comm_dup(half, &half_copy);
    MPI_Reduce(out, in, 37, MPI_BYTE, MPI_BOR, 0, half_copy);
    MPI_Comm_free(&half_copy);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

static void one_sided(void)
{
    MPI_Win window;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 50, MPI_BYTE, (rank + 1) % n, 0, 50, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* The first rank asks MPI_Test again and again while the others sleep for 0.2 s. */
static void polled(void)
{
    MPI_Request request;
    int flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        if (rank == n - 1)
            MPI_Send(out, 1, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(in, 1, MPI_BYTE, n - 1, 8, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
}

/* A job that this one starts, with the same environment; it is no part of the trace. */
static void spawned(char *program)
{
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return;
    char *argv[] = {(char *)"spawned", NULL};
    MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *other_thread(void *unused)
{
    (void)unused;
    MPI_Barrier(MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level = MPI_THREAD_SINGLE, wants = MPI_THREAD_MULTIPLE;
    if (strcmp(what, "threads") == 0)
        MPI_Init_thread(&argc, &argv, wants, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (strcmp(what, "spawned") == 0) {
        for (int k = 0; k < 1000; k++)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    if (strcmp(what, "wrapped") == 0) {
        wrapped();
        MPI_Finalize();
        return 0;
    }
    two_sided();
    from_any();
    if (strcmp(what, "crash") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            raise(SIGSEGV);
    }
    persistent();
    odd_ends();
    collectives();
    if (strcmp(what, "one-sided") == 0)
        one_sided();
    if (strcmp(what, "poll") == 0)
        polled();
    if (strcmp(what, "spawn") == 0)
        spawned(argv[0]);
    if (level == MPI_THREAD_MULTIPLE) {
        pthread_t thread;
        pthread_create(&thread, NULL, other_thread, NULL);
        pthread_join(thread, NULL);
    }
    MPI_Finalize();
    return 0;
}

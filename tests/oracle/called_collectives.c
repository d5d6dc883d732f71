/* called_collectives.c -- calls collectives by name and bytes, as the kernel of weft does:
 *
 *     called_collectives allreduce 4096 allgather 64 ...
 *
 * Rank 0 prints "call NAME BYTES" before each. What the library does in between is printed by a
 * library that is loaded in front of it. Bytes are the whole buffer of allreduce and broadcast, and
 * a block of allgather and alltoall.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void call(const char *name, int bytes, void *send, void *receive)
{
    if (strcmp(name, "allreduce") == 0)
        MPI_Allreduce(send, receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(name, "broadcast") == 0)
        MPI_Bcast(send, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    else if (strcmp(name, "allgather") == 0)
        MPI_Allgather(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
    else if (strcmp(name, "alltoall") == 0)
        MPI_Alltoall(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int n_words, char **words)
{
    int rank, n_ranks;

    MPI_Init(&n_words, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (int i = 1; i + 1 < n_words; i += 2) {
        int bytes = atoi(words[i + 1]);
        void *send = calloc((size_t)n_ranks, (size_t)bytes);
        void *receive = calloc((size_t)n_ranks, (size_t)bytes);

        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            printf("call %s %d\n", words[i], bytes);
            fflush(stdout);
        }
        call(words[i], bytes, send, receive);
        if (rank == 0) {
            printf("done\n");
            fflush(stdout);
        }
        free(send);
        free(receive);
    }
    MPI_Finalize();
    return 0;
}

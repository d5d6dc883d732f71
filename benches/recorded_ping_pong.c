/* recorded_ping_pong.c -- one-way time of 8 bytes between two ranks, in nanoseconds. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 200000 };

int main(int argc, char **argv)
{
    char buffer[8] = {0};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int k = 0; k < ROUNDS; k++) {
        for (int side = 0; side < 2; side++) {
            if (side == rank)
                MPI_Send(buffer, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        printf("%.1f\n", (MPI_Wtime() - start) / ROUNDS / 2 * 1e9);
    MPI_Finalize();
    return 0;
}

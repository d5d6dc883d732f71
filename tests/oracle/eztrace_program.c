/* eztrace_program.c -- blocking calls only: EZTrace 2.0 writes no end of what MPI_Waitall waits
 * for, and no message of MPI_Sendrecv. */
#include <mpi.h>

static char out[1 << 16], in[1 << 16];

int main(int argc, char **argv)
{
    int rank, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int right = (rank + 1) % n, left = (rank + n - 1) % n;
    for (int k = 0; k < 20; k++) {
        if (rank % 2 == 0)
            MPI_Send(out, 1000 + k, MPI_BYTE, right, k, MPI_COMM_WORLD);
        MPI_Recv(in, 4096, MPI_BYTE, left, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2 != 0)
            MPI_Send(out, 1000 + k, MPI_BYTE, right, k, MPI_COMM_WORLD);
        MPI_Allreduce(out, in, 11, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Alltoall(out, 16, MPI_INT, in, 16, MPI_INT, MPI_COMM_WORLD);
        MPI_Bcast(out, 30, MPI_BYTE, 1, MPI_COMM_WORLD);
        MPI_Reduce(out, in, 12, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Allgather(out, 15, MPI_DOUBLE, in, 15, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

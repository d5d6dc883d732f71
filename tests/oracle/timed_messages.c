/* Times of messages between two ranks: a table as OSU's osu_latency prints it, and a broadcast. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 65536, ROUND_TRIPS = 150, BROADCASTS = 30 };
static char buffer[LARGE];

/* The least time, in microseconds: another program on these cores adds to most. */
static double latency_us(int n_bytes, int rank) {
    double least = 1e9;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double started = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(buffer, n_bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, n_bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, n_bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, n_bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        double us = (MPI_Wtime() - started) / 2 * 1e6;
        least = us < least ? us : least;
    }
    return least;
}

static double broadcast_us(int n_bytes) {
    double least = 1e9;
    for (int repeat = 0; repeat < BROADCASTS; repeat++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double started = MPI_Wtime(), longest;
        MPI_Bcast(buffer, n_bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        double us = (MPI_Wtime() - started) * 1e6;
        MPI_Allreduce(&us, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        least = longest < least ? longest : least;
    }
    return least;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(buffer, 1, sizeof buffer);
    double small = latency_us(8, rank), large = latency_us(LARGE, rank);
    double broadcast = broadcast_us(LARGE);
    if (rank == 0) {
        printf("# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n");
        printf("%-10d%18.2f\n%-10d%18.2f\n", 8, small, LARGE, large);
        printf("\nbroadcast of 64 KiB: %.2f us\n", broadcast);
    }
    MPI_Finalize();
    return 0;
}

"""A stand-in for all_reduce_perf: a real MPI program that prints as nccl-tests does, with faults.

It measures nothing: its figures are planted by host in the file of NCCL_STAND_IN, one a line:
`HOST net FACTOR`, `HOST nvlink FACTOR`, `HOST wrong N`, `HOST crash`, `HOST hang`, `HOST silent`.
All but `nvlink` show with other hosts only.
"""

import subprocess
from pathlib import Path

SOURCE = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME 64
static char hosts[64][NAME];
static int n;

static double planted(const char *host, const char *kind, double otherwise)
{
    char line[256], of[NAME], what[NAME];
    double value;
    FILE *file = fopen(getenv("NCCL_STAND_IN"), "r");
    while (file && fgets(line, sizeof line, file)) {
        int got = sscanf(line, "%63s %63s %lf", of, what, &value);
        if (got >= 2 && !strcmp(of, host) && !strcmp(what, kind)) {
            fclose(file);
            return got == 3 ? value : 1.0;
        }
    }
    if (file) fclose(file);
    return otherwise;
}

int main(int argc, char **argv)
{
    int rank, r, others = 0, wrong = 0;
    char own[NAME];
    double busbw, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    gethostname(own, NAME);
    MPI_Allgather(own, NAME, MPI_CHAR, hosts, NAME, MPI_CHAR, MPI_COMM_WORLD);
    for (r = 1; r < argc - 1; r++) if (!strcmp(argv[r], "-e")) size = atof(argv[r + 1]);
    for (r = 0; r < n; r++) others |= strcmp(hosts[r], own) != 0;
    busbw = others ? 340 : 470;
    for (r = 0; r < n; r++) {
        double factor = planted(hosts[r], others ? "net" : "nvlink", 1);
        if (factor < 1) busbw = factor * (others ? 340 : 470);
        if (others) wrong += (int)planted(hosts[r], "wrong", 0);
        if (others && planted(hosts[r], "silent", 0)) { MPI_Finalize(); return 0; }
    }
    if (!rank) {
        printf("# nThread 1 nGpus 1 minBytes %.0f maxBytes %.0f step: 1048576(bytes)", size, size);
        printf(" warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n");
        printf("# Using devices\n");
        for (r = 0; r < n; r++)
            printf("#  Rank %2d Group  0 Pid %6d on %10s device %2d [0x%02x] NVIDIA A100\n", r,
                   1000 + r, hosts[r], r, r);
        fflush(stdout);
    }
    if (others && planted(own, "hang", 0)) pause();
    if (others && planted(own, "crash", 0)) raise(SIGSEGV);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        double algbw = busbw / (2.0 * (n - 1) / n);
        double us = size / algbw / 1e3;
        printf("#\n#%11s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s\n", "size",
               "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
               "algbw", "busbw", "#wrong");
        printf("%12.0f  %12.0f  %8s  %6s  %6d", size, size / 4, "float", "sum", -1);
        for (r = 0; r < 2; r++) printf("  %7.0f  %6.2f  %6.2f  %5d", us, algbw, busbw, wrong);
        printf("\n# Out of bounds values : %d %s\n# Avg bus bandwidth    : %g \n#\n", wrong,
               wrong ? "FAILED" : "OK", busbw);
    }
    MPI_Finalize();
    return wrong ? 1 : 0;
}
"""


def build(mpicc: Path, folder: Path) -> Path:
    """The stand-in, compiled with an MPI's wrapper, by the name that people give the real one."""
    source, program = folder / "stand_in.c", folder / "all_reduce_perf"
    source.write_text(SOURCE)
    subprocess.run([str(mpicc), "-O1", "-o", str(program), str(source)], check=True)
    return program

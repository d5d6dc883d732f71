/* counted_collectives.c -- loaded behind a library that records (LD_PRELOAD), counts collectives.
 *
 * Each rank writes "NAME CALLS BYTES" lines to the file counted-RANK.txt, with bytes as a trace of
 * weft has them. It stands where PMPI_ leads to, which Fortran calls, too; a call that the other
 * library does not know comes here by its own name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { BARRIER, BROADCAST, ALLREDUCE, REDUCE, ALLTOALL, ALLGATHER, GATHER, SCAN, N_NAMES };

static const char *names[N_NAMES] = {"barrier",  "broadcast", "allreduce", "reduce",
                                     "alltoall", "allgather", "gather",    "scan"};
static long calls[N_NAMES], bytes[N_NAMES];

static void count(int name, int n, MPI_Datatype type)
{
    int size = 0;
    if (n > 0)
        MPI_Type_size(type, &size);
    calls[name]++;
    bytes[name] += (long)n * size;
}

static int is_here(int root, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank == root;
}

#define NEXT(name) dlsym(RTLD_NEXT, "PMPI_" #name)
#define COUNTED(name, parameters, arguments, own) \
    int PMPI_##name parameters \
    { \
        int(*next) parameters; \
        own; \
        *(void **)&next = NEXT(name); \
        return next arguments; \
    } \
    int MPI_##name parameters { return PMPI_##name arguments; }

#define TO_ALL (const void *in, int n, MPI_Datatype a, void *out, int m, MPI_Datatype b, MPI_Comm c)
#define TO_ONE \
    (const void *in, int n, MPI_Datatype a, void *out, int m, MPI_Datatype b, int root, MPI_Comm c)
#define SUMS (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm c)

COUNTED(Barrier, (MPI_Comm c), (c), count(BARRIER, 0, MPI_BYTE))
COUNTED(Bcast, (void *buffer, int n, MPI_Datatype type, int root, MPI_Comm c),
        (buffer, n, type, root, c), count(BROADCAST, n, type))
COUNTED(Allreduce, SUMS, (in, out, n, type, op, c), count(ALLREDUCE, n, type))
COUNTED(Scan, SUMS, (in, out, n, type, op, c), count(SCAN, n, type))
COUNTED(Reduce,
        (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm c),
        (in, out, n, type, op, root, c), count(REDUCE, n, type))
COUNTED(Alltoall, TO_ALL, (in, n, a, out, m, b, c), count(ALLTOALL, m, b))
COUNTED(Allgather, TO_ALL, (in, n, a, out, m, b, c), count(ALLGATHER, m, b))
COUNTED(Gather, TO_ONE, (in, n, a, out, m, b, root, c),
        is_here(root, c) ? count(GATHER, m, b) : count(GATHER, n, a))

static void write_counts(void)
{
    char path[64];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "counted-%d.txt", rank);
    FILE *file = fopen(path, "w");
    for (int i = 0; file != NULL && i < N_NAMES; i++)
        fprintf(file, "%s %ld %ld\n", names[i], calls[i], bytes[i]);
    if (file != NULL)
        fclose(file);
}

COUNTED(Finalize, (void), (), write_counts())

/* taken_functions.c -- loaded before Open MPI (LD_PRELOAD), prints on rank 0 "took NAME" for each
 * function of an algorithm that coll/tuned calls, and lets it run.
 *
 * The functions take pointers and numbers, at most nine, which the calling conventions of x86-64
 * and aarch64 pass alike as longs; the wrapper hands on nine, whatever the function has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Algorithm(long, long, long, long, long, long, long, long, long);

static void print(const char *name)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (rank != NULL && strcmp(rank, "0") == 0) {
        printf("took %s\n", name);
        fflush(stdout);
    }
}

#define WATCHED(name)                                                                     \
    int ompi_coll_base_##name(long, long, long, long, long, long, long, long, long);      \
    int ompi_coll_base_##name(long a, long b, long c, long d, long e, long f, long g,     \
                              long h, long i)                                             \
    {                                                                                     \
        Algorithm *own;                                                                   \
                                                                                          \
        *(void **)&own = dlsym(RTLD_NEXT, "ompi_coll_base_" #name);                       \
        print(#name);                                                                     \
        return own(a, b, c, d, e, f, g, h, i);                                            \
    }

WATCHED(allreduce_intra_basic_linear)
WATCHED(allreduce_intra_nonoverlapping)
WATCHED(allreduce_intra_recursivedoubling)
WATCHED(allreduce_intra_ring)
WATCHED(allreduce_intra_ring_segmented)
WATCHED(allreduce_intra_redscat_allgather)
WATCHED(allgather_intra_basic_linear)
WATCHED(allgather_intra_bruck)
WATCHED(allgather_intra_k_bruck)
WATCHED(allgather_intra_recursivedoubling)
WATCHED(allgather_intra_ring)
WATCHED(allgather_intra_neighborexchange)
WATCHED(allgather_intra_two_procs)
WATCHED(allgather_direct_messaging)
WATCHED(alltoall_intra_basic_linear)
WATCHED(alltoall_intra_pairwise)
WATCHED(alltoall_intra_bruck)
WATCHED(alltoall_intra_linear_sync)
WATCHED(alltoall_intra_two_procs)
WATCHED(bcast_intra_basic_linear)
WATCHED(bcast_intra_chain)
WATCHED(bcast_intra_pipeline)
WATCHED(bcast_intra_split_bintree)
WATCHED(bcast_intra_bintree)
WATCHED(bcast_intra_binomial)
WATCHED(bcast_intra_knomial)
WATCHED(bcast_intra_scatter_allgather)
WATCHED(bcast_intra_scatter_allgather_ring)

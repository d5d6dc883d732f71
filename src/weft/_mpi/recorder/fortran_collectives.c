/* fortran_collectives.c -- collectives, in Fortran, with and without a request. */
#include "fortran.h"

#ifndef WEFT_NO_FORTRAN

#include <stdlib.h>

/* MPI_IN_PLACE has an address of its own in Fortran, which C cannot name. So each call is read at
 * the end that counts in place, too: what a rank receives, or at the root of a gather or scatter
 * what it receives or sends. */

static void leave_counts(enum call call, const Int *counts, MPI_Datatype type, int root,
                         MPI_Comm comm, const MPI_Request *request)
{
    int n = depth == 1 ? size_of(comm) : 0;
    uint64_t *blocks = malloc(sizeof *blocks * (size_t)(n + 1));
    for (int i = 0; blocks != NULL && i < n; i++)
        blocks[i] = bytes_of(counts[i], type);
    leave_blocks(call, blocks, blocks == NULL ? 0 : n, root, comm, request);
    free(blocks);
}

static void leave_scattered(const Int *counts, MPI_Datatype type, const Int *root, MPI_Comm comm,
                            const MPI_Request *request)
{
    if (is_root((int)*root, comm))
        leave_counts(CALL_SCATTERV, counts, type, (int)*root, comm, request);
    else
        leave_blocks(CALL_SCATTERV, NULL, 0, (int)*root, comm, request);
}

/* The root's own block of a gatherv stays where it is: it is no message. */
static void leave_own_block(const Int *n, const Int *type, const Int *root, MPI_Comm comm,
                            const MPI_Request *request)
{
    uint64_t bytes = is_root((int)*root, comm) ? 0 : bytes_of(*n, TYPE(type));
    leave_blocks(CALL_GATHERV, &bytes, 1, (int)*root, comm, request);
}

static uint64_t sum_of(const Int *counts, MPI_Comm comm, MPI_Datatype type)
{
    long sum = 0;
    for (int i = size_of(comm) - 1; i >= 0; i--)
        sum += counts[i];
    return bytes_of(sum, type);
}

#pragma GCC visibility push(default)

#define WITH(name, parameters, arguments, leaves) \
    FORTRAN_AS(name, parameters, arguments, \
               const MPI_Request *request = NULL; enter(), leaves) \
    FORTRAN_AS(i##name, (LIST parameters, Int *handle), (LIST arguments, handle), \
               enter(), MPI_Request own = REQUEST(handle); \
               const MPI_Request *request = &own; leaves)

#define COLLECTIVE(call, bytes, root) leave_collective(call, bytes, root, COMM(comm), request)

WITH(barrier, (Int *comm), (comm), COLLECTIVE(CALL_BARRIER, 0, 0))
WITH(bcast, (void *buffer, Int *n, Int *type, Int *root, Int *comm), (buffer, n, type, root, comm),
     COLLECTIVE(CALL_BROADCAST, bytes_of(*n, TYPE(type)), *root))
WITH(reduce, (void *in, void *out, Int *n, Int *type, Int *op, Int *root, Int *comm),
     (in, out, n, type, op, root, comm),
     COLLECTIVE(CALL_REDUCE, bytes_of(*n, TYPE(type)), *root))
WITH(allreduce, (void *in, void *out, Int *n, Int *type, Int *op, Int *comm),
     (in, out, n, type, op, comm), COLLECTIVE(CALL_ALLREDUCE, bytes_of(*n, TYPE(type)), 0))
WITH(scan, (void *in, void *out, Int *n, Int *type, Int *op, Int *comm),
     (in, out, n, type, op, comm), COLLECTIVE(CALL_SCAN, bytes_of(*n, TYPE(type)), 0))
WITH(exscan, (void *in, void *out, Int *n, Int *type, Int *op, Int *comm),
     (in, out, n, type, op, comm), COLLECTIVE(CALL_SCAN, bytes_of(*n, TYPE(type)), 0))
WITH(reduce_scatter, (void *in, void *out, Int *counts, Int *type, Int *op, Int *comm),
     (in, out, counts, type, op, comm),
     COLLECTIVE(CALL_REDUCE_SCATTER, sum_of(counts, COMM(comm), TYPE(type)), 0))
WITH(reduce_scatter_block, (void *in, void *out, Int *n, Int *type, Int *op, Int *comm),
     (in, out, n, type, op, comm),
     COLLECTIVE(CALL_REDUCE_SCATTER, bytes_of((long)*n * size_of(COMM(comm)), TYPE(type)), 0))

#define BLOCKS \
    (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *out_type, Int *comm)
#define BLOCK_ARGUMENTS (in, n_in, in_type, out, n_out, out_type, comm)
#define ROOTED \
    (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *out_type, Int *root, Int *comm)
#define ROOTED_ARGUMENTS (in, n_in, in_type, out, n_out, out_type, root, comm)

WITH(allgather, BLOCKS, BLOCK_ARGUMENTS,
     COLLECTIVE(CALL_ALLGATHER, bytes_of(*n_out, TYPE(out_type)), 0))
WITH(alltoall, BLOCKS, BLOCK_ARGUMENTS,
     COLLECTIVE(CALL_ALLTOALL, bytes_of(*n_out, TYPE(out_type)), 0))
WITH(gather, ROOTED, ROOTED_ARGUMENTS,
     COLLECTIVE(CALL_GATHER,
                is_root((int)*root, COMM(comm)) ? bytes_of(*n_out, TYPE(out_type))
                                          : bytes_of(*n_in, TYPE(in_type)), *root))
WITH(scatter, ROOTED, ROOTED_ARGUMENTS,
     COLLECTIVE(CALL_SCATTER,
                is_root((int)*root, COMM(comm)) ? bytes_of(*n_in, TYPE(in_type))
                                          : bytes_of(*n_out, TYPE(out_type)), *root))
WITH(gatherv,
     (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *at, Int *out_type, Int *root,
      Int *comm),
     (in, n_in, in_type, out, n_out, at, out_type, root, comm),
     leave_own_block(n_in, in_type, root, COMM(comm), request))
WITH(scatterv,
     (void *in, Int *n_in, Int *at, Int *in_type, void *out, Int *n_out, Int *out_type, Int *root,
      Int *comm),
     (in, n_in, at, in_type, out, n_out, out_type, root, comm),
     leave_scattered(n_in, TYPE(in_type), root, COMM(comm), request))
WITH(allgatherv,
     (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *at, Int *out_type, Int *comm),
     (in, n_in, in_type, out, n_out, at, out_type, comm),
     leave_counts(CALL_ALLGATHERV, n_out, TYPE(out_type), 0, COMM(comm), request))
WITH(alltoallv,
     (void *in, Int *n_in, Int *at_in, Int *in_type, void *out, Int *n_out, Int *at_out,
      Int *out_type, Int *comm),
     (in, n_in, at_in, in_type, out, n_out, at_out, out_type, comm),
     leave_counts(CALL_ALLTOALLV, n_out, TYPE(out_type), 0, COMM(comm), request))

#endif

/* collectives.c -- collectives, in C, with and without a request. */
#include "recorder.h"

#include <stdlib.h>

/* Sizes are those that a trace has (docs/reference/trace.md): the buffer of a barrier, broadcast,
 * reduction or scan; the block of one rank or pair of the others. */

/* Bytes of each of n blocks; NULL where there is no memory. */
static uint64_t *blocks_of(const int *counts, int n, MPI_Datatype type)
{
    uint64_t *blocks = malloc(sizeof *blocks * (size_t)(n > 0 ? n : 1));
    for (int i = 0; blocks != NULL && i < n; i++)
        blocks[i] = bytes_of(counts[i], type);
    return blocks;
}

static void leave_counts(enum call call, const int *counts, int n, MPI_Datatype type, int root,
                         MPI_Comm comm, const MPI_Request *request)
{
    uint64_t *blocks = depth == 1 ? blocks_of(counts, n, type) : NULL;
    leave_blocks(call, blocks, blocks == NULL ? 0 : n, root, comm, request);
    free(blocks);
}

static void leave_types(const int *counts, const MPI_Datatype *types, MPI_Comm comm,
                        const MPI_Request *request)
{
    int n = depth == 1 ? size_of(comm) : 0;
    uint64_t *blocks = malloc(sizeof *blocks * (size_t)(n + 1));
    for (int i = 0; blocks != NULL && i < n; i++)
        blocks[i] = counts[i] > 0 ? bytes_of(counts[i], types[i]) : 0;
    leave_blocks(CALL_ALLTOALLV, blocks, blocks == NULL ? 0 : n, 0, comm, request);
    free(blocks);
}

/* Of a gatherv: what this rank gives; in place it sends nothing. */
static void leave_own_block(const void *in, int count, MPI_Datatype type, int root, MPI_Comm comm,
                            const MPI_Request *request)
{
    uint64_t bytes = in == MPI_IN_PLACE || depth > 1 ? 0 : bytes_of(count, type);
    leave_blocks(CALL_GATHERV, &bytes, 1, root, comm, request);
}

/* Of a scatterv: all blocks at the root, none elsewhere. */
static void leave_scattered(const int *counts, MPI_Datatype type, int root, MPI_Comm comm,
                            const MPI_Request *request)
{
    if (is_root(root, comm))
        leave_counts(CALL_SCATTERV, counts, size_of(comm), type, root, comm, request);
    else
        leave_blocks(CALL_SCATTERV, NULL, 0, root, comm, request);
}

static uint64_t sum_of(const int *counts, MPI_Comm comm, MPI_Datatype type)
{
    long sum = 0;
    for (int i = size_of(comm) - 1; i >= 0; i--)
        sum += counts[i];
    return bytes_of(sum, type);
}

#pragma GCC visibility push(default)

/* WITH(name, iname, (parameters), (arguments), leaves): MPI_name, and MPI_iname with a request. */
#define LIST(...) __VA_ARGS__
#define WITH(name, iname, parameters, arguments, leaves) \
    int MPI_##name(LIST parameters) \
    { \
        const MPI_Request *request = NULL; \
        enter(); \
        int code = PMPI_##name(LIST arguments); \
        leaves; \
        return code; \
    } \
    int MPI_##iname(LIST parameters, MPI_Request *request) \
    { \
        enter(); \
        int code = PMPI_##iname(LIST arguments, request); \
        leaves; \
        return code; \
    }

WITH(Barrier, Ibarrier, (MPI_Comm comm), (comm),
     leave_collective(CALL_BARRIER, 0, 0, comm, request))

WITH(Bcast, Ibcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, count, type, root, comm),
     leave_collective(CALL_BROADCAST, bytes_of(count, type), root, comm, request))

WITH(Reduce, Ireduce,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (in, out, count, type, op, root, comm),
     leave_collective(CALL_REDUCE, bytes_of(count, type), root, comm, request))

WITH(Allreduce, Iallreduce,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm),
     leave_collective(CALL_ALLREDUCE, bytes_of(count, type), 0, comm, request))

WITH(Scan, Iscan,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm),
     leave_collective(CALL_SCAN, bytes_of(count, type), 0, comm, request))

WITH(Exscan, Iexscan,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm),
     leave_collective(CALL_SCAN, bytes_of(count, type), 0, comm, request))

WITH(Reduce_scatter_block, Ireduce_scatter_block,
     (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm),
     leave_collective(CALL_REDUCE_SCATTER, bytes_of((long)count * size_of(comm), type), 0, comm,
                      request))

WITH(Reduce_scatter, Ireduce_scatter,
     (const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, counts, type, op, comm),
     leave_collective(CALL_REDUCE_SCATTER, sum_of(counts, comm, type), 0, comm, request))

WITH(Gather, Igather,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, n_in, in_type, out, n_out, out_type, root, comm),
     leave_collective(CALL_GATHER,
                      in == MPI_IN_PLACE ? bytes_of(n_out, out_type) : bytes_of(n_in, in_type),
                      root, comm, request))

WITH(Scatter, Iscatter,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, n_in, in_type, out, n_out, out_type, root, comm),
     leave_collective(CALL_SCATTER,
                      out == MPI_IN_PLACE ? bytes_of(n_in, in_type) : bytes_of(n_out, out_type),
                      root, comm, request))

WITH(Allgather, Iallgather,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out, MPI_Datatype out_type,
      MPI_Comm comm),
     (in, n_in, in_type, out, n_out, out_type, comm),
     leave_collective(CALL_ALLGATHER, bytes_of(n_out, out_type), 0, comm, request))

WITH(Alltoall, Ialltoall,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out, MPI_Datatype out_type,
      MPI_Comm comm),
     (in, n_in, in_type, out, n_out, out_type, comm),
     leave_collective(CALL_ALLTOALL,
                      in == MPI_IN_PLACE ? bytes_of(n_out, out_type) : bytes_of(n_in, in_type), 0,
                      comm, request))

WITH(Gatherv, Igatherv,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, const int *n_out, const int *at,
      MPI_Datatype out_type, int root, MPI_Comm comm),
     (in, n_in, in_type, out, n_out, at, out_type, root, comm),
     leave_own_block(in, n_in, in_type, root, comm, request))

WITH(Scatterv, Iscatterv,
     (const void *in, const int *n_in, const int *at, MPI_Datatype in_type, void *out, int n_out,
      MPI_Datatype out_type, int root, MPI_Comm comm),
     (in, n_in, at, in_type, out, n_out, out_type, root, comm),
     leave_scattered(n_in, in_type, root, comm, request))

WITH(Allgatherv, Iallgatherv,
     (const void *in, int n_in, MPI_Datatype in_type, void *out, const int *n_out, const int *at,
      MPI_Datatype out_type, MPI_Comm comm),
     (in, n_in, in_type, out, n_out, at, out_type, comm),
     leave_counts(CALL_ALLGATHERV, n_out, size_of(comm), out_type, 0, comm, request))

WITH(Alltoallv, Ialltoallv,
     (const void *in, const int *n_in, const int *at_in, MPI_Datatype in_type, void *out,
      const int *n_out, const int *at_out, MPI_Datatype out_type, MPI_Comm comm),
     (in, n_in, at_in, in_type, out, n_out, at_out, out_type, comm),
     leave_counts(CALL_ALLTOALLV, n_out, size_of(comm), out_type, 0, comm, request))

WITH(Alltoallw, Ialltoallw,
     (const void *in, const int *n_in, const int *at_in, const MPI_Datatype *in_types, void *out,
      const int *n_out, const int *at_out, const MPI_Datatype *out_types, MPI_Comm comm),
     (in, n_in, at_in, in_types, out, n_out, at_out, out_types, comm),
     leave_types(n_out, out_types, comm, request))

#pragma GCC visibility pop

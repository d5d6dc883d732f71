/* unreplayed.c -- calls that are counted, with their bytes, and that no replay repeats. */
#include "recorder.h"

#pragma GCC visibility push(default)

#define ONE_SIDED(name, parameters, arguments, bytes) \
    int MPI_##name parameters \
    { \
        enter(); \
        int code = PMPI_##name arguments; \
        leave_unreplayed(CALL_ONE_SIDED, bytes); \
        return code; \
    }

ONE_SIDED(Put,
          (const void *from, int n, MPI_Datatype type, int target, MPI_Aint at, int n_there,
           MPI_Datatype type_there, MPI_Win window),
          (from, n, type, target, at, n_there, type_there, window), bytes_of(n, type))
ONE_SIDED(Get,
          (void *to, int n, MPI_Datatype type, int target, MPI_Aint at, int n_there,
           MPI_Datatype type_there, MPI_Win window),
          (to, n, type, target, at, n_there, type_there, window), bytes_of(n, type))
ONE_SIDED(Accumulate,
          (const void *from, int n, MPI_Datatype type, int target, MPI_Aint at, int n_there,
           MPI_Datatype type_there, MPI_Op op, MPI_Win window),
          (from, n, type, target, at, n_there, type_there, op, window), bytes_of(n, type))
ONE_SIDED(Get_accumulate,
          (const void *from, int n, MPI_Datatype type, void *to, int n_to, MPI_Datatype to_type,
           int target, MPI_Aint at, int n_there, MPI_Datatype type_there, MPI_Op op,
           MPI_Win window),
          (from, n, type, to, n_to, to_type, target, at, n_there, type_there, op, window),
          bytes_of(n_to, to_type))
ONE_SIDED(Fetch_and_op,
          (const void *from, void *to, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op,
           MPI_Win window),
          (from, to, type, target, at, op, window), bytes_of(1, type))
ONE_SIDED(Compare_and_swap,
          (const void *from, const void *compared, void *to, MPI_Datatype type, int target,
           MPI_Aint at, MPI_Win window),
          (from, compared, to, type, target, at, window), bytes_of(1, type))
ONE_SIDED(Rput,
          (const void *from, int n, MPI_Datatype type, int target, MPI_Aint at, int n_there,
           MPI_Datatype type_there, MPI_Win window, MPI_Request *request),
          (from, n, type, target, at, n_there, type_there, window, request), bytes_of(n, type))
ONE_SIDED(Rget,
          (void *to, int n, MPI_Datatype type, int target, MPI_Aint at, int n_there,
           MPI_Datatype type_there, MPI_Win window, MPI_Request *request),
          (to, n, type, target, at, n_there, type_there, window, request), bytes_of(n, type))
ONE_SIDED(Win_flush_local, (int rank, MPI_Win window), (rank, window), 0)
ONE_SIDED(Win_flush_local_all, (MPI_Win window), (window), 0)
ONE_SIDED(Win_fence, (int hints, MPI_Win window), (hints, window), 0)
ONE_SIDED(Win_lock, (int kind, int rank, int hints, MPI_Win window), (kind, rank, hints, window), 0)
ONE_SIDED(Win_unlock, (int rank, MPI_Win window), (rank, window), 0)
ONE_SIDED(Win_lock_all, (int hints, MPI_Win window), (hints, window), 0)
ONE_SIDED(Win_unlock_all, (MPI_Win window), (window), 0)
ONE_SIDED(Win_flush, (int rank, MPI_Win window), (rank, window), 0)
ONE_SIDED(Win_flush_all, (MPI_Win window), (window), 0)
ONE_SIDED(Win_start, (MPI_Group group, int hints, MPI_Win window), (group, hints, window), 0)
ONE_SIDED(Win_post, (MPI_Group group, int hints, MPI_Win window), (group, hints, window), 0)
ONE_SIDED(Win_complete, (MPI_Win window), (window), 0)
ONE_SIDED(Win_wait, (MPI_Win window), (window), 0)

int MPI_Neighbor_alltoall(const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out,
                          MPI_Datatype out_type, MPI_Comm comm)
{
    enter();
    int code = PMPI_Neighbor_alltoall(in, n_in, in_type, out, n_out, out_type, comm);
    leave_unreplayed(CALL_NEIGHBOURS, bytes_of(n_in, in_type));
    return code;
}

int MPI_Neighbor_allgather(const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out,
                           MPI_Datatype out_type, MPI_Comm comm)
{
    enter();
    int code = PMPI_Neighbor_allgather(in, n_in, in_type, out, n_out, out_type, comm);
    leave_unreplayed(CALL_NEIGHBOURS, bytes_of(n_in, in_type));
    return code;
}

int MPI_Neighbor_alltoallv(const void *in, const int *n_in, const int *at_in, MPI_Datatype in_type,
                           void *out, const int *n_out, const int *at_out, MPI_Datatype out_type,
                           MPI_Comm comm)
{
    enter();
    int code = PMPI_Neighbor_alltoallv(in, n_in, at_in, in_type, out, n_out, at_out, out_type,
                                       comm);
    leave_unreplayed(CALL_NEIGHBOURS, 0);
    return code;
}

int MPI_Comm_spawn(const char *command, char **argv, int n, MPI_Info hints, int root,
                   MPI_Comm comm, MPI_Comm *inter, int *errors)
{
    enter();
    int code = PMPI_Comm_spawn(command, argv, n, hints, root, comm, inter, errors);
    leave_unreplayed(CALL_SPAWN, 0);
    return code;
}

#pragma GCC visibility pop

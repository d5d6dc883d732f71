/* fortran_life.c -- the beginning, the end, communicators, and what is only counted, in Fortran. */
#include "fortran.h"

#ifndef WEFT_NO_FORTRAN

#pragma GCC visibility push(default)

#define LIFE(name, parameters, arguments, before, after) \
    FORTRAN_AS(name, parameters, arguments, before, after)

/* MPI_Init and MPI_Finalize have no other argument than the error. */
#define ALONE(name, before, after) \
    __attribute__((weak)) void pmpi_##name(Int *error); \
    void mpi_##name(Int *error) \
    { \
        before; \
        pmpi_##name(error); \
        after; \
    }

ALONE(init_, depth++, depth--; begin_recording())
ALONE(finalize_, end_recording(), (void)0)
#ifdef OPEN_MPI
ALONE(init_f08_, depth++, depth--; begin_recording())
ALONE(finalize_f08_, end_recording(), (void)0)
#endif
LIFE(init_thread, (Int *required, Int *provided), (required, provided), depth++,
     depth--; begin_recording())
LIFE(comm_free, (Int *comm), (comm), forget_group(COMM(comm)), (void)0)
LIFE(comm_disconnect, (Int *comm), (comm), forget_group(COMM(comm)), (void)0)

/* ---- counted, with their bytes ------------------------------------------------------------ */

#define ONE_SIDED(name, parameters, arguments, bytes) \
    FORTRAN(name, parameters, arguments, leave_unreplayed(CALL_ONE_SIDED, bytes))

#define TRANSFER \
    (void *buffer, Int *n, Int *type, Int *target, MPI_Aint *at, Int *n_there, Int *type_there, \
     Int *window)
#define TRANSFER_ARGUMENTS (buffer, n, type, target, at, n_there, type_there, window)

ONE_SIDED(put, TRANSFER, TRANSFER_ARGUMENTS, bytes_of(*n, TYPE(type)))
ONE_SIDED(get, TRANSFER, TRANSFER_ARGUMENTS, bytes_of(*n, TYPE(type)))
ONE_SIDED(accumulate,
          (void *buffer, Int *n, Int *type, Int *target, MPI_Aint *at, Int *n_there,
           Int *type_there, Int *op, Int *window),
          (buffer, n, type, target, at, n_there, type_there, op, window),
          bytes_of(*n, TYPE(type)))
ONE_SIDED(win_fence, (Int *hints, Int *window), (hints, window), 0)
ONE_SIDED(win_lock, (Int *kind, Int *rank, Int *hints, Int *window), (kind, rank, hints, window),
          0)
ONE_SIDED(win_unlock, (Int *rank, Int *window), (rank, window), 0)
ONE_SIDED(win_lock_all, (Int *hints, Int *window), (hints, window), 0)
ONE_SIDED(win_unlock_all, (Int *window), (window), 0)
ONE_SIDED(win_flush, (Int *rank, Int *window), (rank, window), 0)
ONE_SIDED(win_flush_all, (Int *window), (window), 0)

#define NEIGHBOURS(name, parameters, arguments) \
    FORTRAN(name, parameters, arguments, leave_unreplayed(CALL_NEIGHBOURS, 0))

NEIGHBOURS(neighbor_alltoall,
           (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *out_type, Int *comm),
           (in, n_in, in_type, out, n_out, out_type, comm))
NEIGHBOURS(neighbor_allgather,
           (void *in, Int *n_in, Int *in_type, void *out, Int *n_out, Int *out_type, Int *comm),
           (in, n_in, in_type, out, n_out, out_type, comm))
NEIGHBOURS(neighbor_alltoallv,
           (void *in, Int *n_in, Int *at_in, Int *in_type, void *out, Int *n_out, Int *at_out,
            Int *out_type, Int *comm),
           (in, n_in, at_in, in_type, out, n_out, at_out, out_type, comm))

#endif

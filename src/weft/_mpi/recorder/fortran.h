/* fortran.h -- MPI's functions as Fortran calls them: every argument by its address.
 *
 * They call Fortran's own profiling functions with what they were given, so buffers that are
 * constants (MPI_IN_PLACE, MPI_BOTTOM) need no translation. Open MPI's module mpi_f08 has names of
 * its own with the same arguments. That of MPICH passes descriptors and calls profiling functions
 * itself: nothing of it can be seen. */
#ifndef WEFT_RECORDER_FORTRAN_H
#define WEFT_RECORDER_FORTRAN_H

#include "recorder.h"

/* The ABI of the MPI standard (mpi_abi.h of MPI 5.0) has no functions for Fortran. */
#ifdef MPI_H_ABI
#define WEFT_NO_FORTRAN
#else

typedef MPI_Fint Int;

#define LIST(...) __VA_ARGS__

/* One name of a function: it calls its P name, then `after`. A program that lacks that name (it
 * has no Fortran) never calls this one. */
#define FORTRAN_ONE(name, suffix, parameters, arguments, before, after) \
    __attribute__((weak)) void pmpi_##name##suffix(LIST parameters, Int *error); \
    void mpi_##name##suffix(LIST parameters, Int *error) \
    { \
        before; \
        pmpi_##name##suffix(LIST arguments, error); \
        after; \
    }

#ifdef OPEN_MPI
#define FORTRAN_AS(name, parameters, arguments, before, after) \
    FORTRAN_ONE(name, _, parameters, arguments, before, after) \
    FORTRAN_ONE(name, _f08_, parameters, arguments, before, after)
#else
#define FORTRAN_AS(name, parameters, arguments, before, after) \
    FORTRAN_ONE(name, _, parameters, arguments, before, after)
#endif

#define FORTRAN(name, parameters, arguments, after) \
    FORTRAN_AS(name, parameters, arguments, enter(), after)

#define TYPE(type) MPI_Type_f2c(*type)
#define COMM(comm) MPI_Comm_f2c(*comm)
#define REQUEST(request) MPI_Request_f2c(*request)

#endif

#endif

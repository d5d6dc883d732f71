/* fortran.c -- sends, receives and waits, in Fortran. */
#include "fortran.h"

#ifndef WEFT_NO_FORTRAN

#include <stdlib.h>
#include <string.h>

/* A status that is ours where the program wants none. Its size differs from MPI to MPI. */
enum { STATUS_INTS = (sizeof(MPI_Status) + sizeof(Int) - 1) / sizeof(Int) };

struct status {
    Int *used;
    Int own[STATUS_INTS];
};

static bool is_ignored(const Int *status)
{
    return status == NULL || status == MPI_F_STATUS_IGNORE || status == MPI_F_STATUSES_IGNORE;
}

static Int *chosen(struct status *status, Int *given)
{
    status->used = is_ignored(given) ? status->own : given;
    return status->used;
}

static const MPI_Status *in_c(const struct status *status, MPI_Status *converted)
{
    memset(converted, 0, sizeof *converted);
    MPI_Status_f2c(status->used, converted);
    return converted;
}

#pragma GCC visibility push(default)

/* ---- sends and receives ------------------------------------------------------------------- */

#define SENDS(name) \
    FORTRAN(name, (void *buffer, Int *n, Int *type, Int *to, Int *tag, Int *comm), \
            (buffer, n, type, to, tag, comm), \
            leave_message(CALL_SEND, *n, TYPE(type), *to, *tag, COMM(comm)))

#define BEGINS(name, leaves, call) \
    FORTRAN(name, (void *buffer, Int *n, Int *type, Int *peer, Int *tag, Int *comm, Int *request), \
            (buffer, n, type, peer, tag, comm, request), \
            leaves(call, *n, TYPE(type), *peer, *tag, COMM(comm), REQUEST(request)))

SENDS(send)
SENDS(ssend)
SENDS(bsend)
SENDS(rsend)
BEGINS(isend, leave_begun, CALL_ISEND)
BEGINS(issend, leave_begun, CALL_ISEND)
BEGINS(ibsend, leave_begun, CALL_ISEND)
BEGINS(irsend, leave_begun, CALL_ISEND)
BEGINS(irecv, leave_begun, CALL_IRECV)
BEGINS(send_init, leave_prepared, CALL_ISEND)
BEGINS(ssend_init, leave_prepared, CALL_ISEND)
BEGINS(bsend_init, leave_prepared, CALL_ISEND)
BEGINS(rsend_init, leave_prepared, CALL_ISEND)
BEGINS(recv_init, leave_prepared, CALL_IRECV)

static void leave_one(enum call call, const struct status *status, MPI_Comm comm)
{
    MPI_Status converted;
    leave_received(call, comm, in_c(status, &converted));
}

FORTRAN_AS(recv, (void *buffer, Int *n, Int *type, Int *from, Int *tag, Int *comm, Int *given),
           (buffer, n, type, from, tag, comm, chosen(&status, given)),
           struct status status; enter(),
           leave_one(CALL_RECV, &status, COMM(comm)))

static void leave_both(Int n, MPI_Datatype type, Int to, Int tag, MPI_Comm comm,
                       const struct status *status, Int from)
{
    MPI_Status converted;
    leave_exchange(n, type, to, tag, comm, in_c(status, &converted), from != MPI_PROC_NULL);
}

FORTRAN_AS(sendrecv,
           (void *out, Int *n_out, Int *out_type, Int *to, Int *out_tag, void *in, Int *n_in,
            Int *in_type, Int *from, Int *in_tag, Int *comm, Int *given),
           (out, n_out, out_type, to, out_tag, in, n_in, in_type, from, in_tag, comm,
            chosen(&status, given)),
           struct status status; enter(),
           leave_both(*n_out, TYPE(out_type), *to, *out_tag, COMM(comm), &status, *from))

FORTRAN_AS(sendrecv_replace,
           (void *buffer, Int *n, Int *type, Int *to, Int *out_tag, Int *from, Int *in_tag,
            Int *comm, Int *given),
           (buffer, n, type, to, out_tag, from, in_tag, comm, chosen(&status, given)),
           struct status status; enter(),
           leave_both(*n, TYPE(type), *to, *out_tag, COMM(comm), &status, *from))

FORTRAN(probe, (Int *from, Int *tag, Int *comm, Int *status), (from, tag, comm, status),
        leave_poll())
FORTRAN(iprobe, (Int *from, Int *tag, Int *comm, Int *flag, Int *status),
        (from, tag, comm, flag, status), leave_poll())

/* ---- requests ----------------------------------------------------------------------------- */

enum { FEW = 16 };

/* The requests of a call in C's form, before it. */
struct wait {
    struct waiting waiting;
    MPI_Request few[FEW], *requests;
    Int few_statuses[FEW * STATUS_INTS], *statuses, *given;
    int n;
};

/* Statuses are always asked for: a receive from any source tells it only there. */
static void begin_wait(struct wait *wait, Int n, const Int *requests, Int *statuses)
{
    wait->n = (int)n;
    wait->given = is_ignored(statuses) ? NULL : statuses;
    bool is_long = n > FEW;
    wait->requests = is_long ? malloc(sizeof *wait->requests * (size_t)n) : wait->few;
    size_t ints = (size_t)(n > 0 ? n : 1) * STATUS_INTS;
    wait->statuses = wait->given != NULL ? wait->given
                     : is_long           ? malloc(sizeof *wait->statuses * ints)
                                         : wait->few_statuses;
    if (wait->requests == NULL || wait->statuses == NULL)
        abort();
    for (int i = 0; i < wait->n; i++)
        wait->requests[i] = MPI_Request_f2c(requests[i]);
    enter_wait(&wait->waiting, wait->n, wait->requests, MPI_STATUSES_IGNORE);
}

/* Fortran counts from 1. */
static void end_wait(struct wait *wait, Int n_done, const Int *indices)
{
    int few[FEW] = {0}, *from_zero = indices == NULL || n_done <= 0 ? NULL
                               : n_done > FEW ? malloc(sizeof *few * (size_t)n_done)
                                              : few;
    for (int k = 0; from_zero != NULL && k < n_done; k++)
        from_zero[k] = (int)indices[k] - 1;
    for (int k = 0; wait->waiting.is_noted && wait->waiting.statuses != NULL &&
                    wait->waiting.statuses != MPI_STATUSES_IGNORE && k < n_done;
         k++)
        MPI_Status_f2c(wait->statuses + k * STATUS_INTS, &wait->waiting.statuses[k]);
    leave_wait(&wait->waiting, (int)n_done, from_zero);
    if (from_zero != few)
        free(from_zero);
    if (wait->requests != wait->few)
        free(wait->requests);
    if (wait->statuses != wait->few_statuses && wait->given == NULL)
        free(wait->statuses);
}

static Int found(Int n, Int index)
{
    return n != 0 && index != MPI_UNDEFINED ? 1 : 0;
}

FORTRAN_AS(wait, (Int *request, Int *status), (request, wait.statuses),
           struct wait wait; begin_wait(&wait, 1, request, status), end_wait(&wait, 1, NULL))
FORTRAN_AS(waitall, (Int *n, Int *requests, Int *statuses), (n, requests, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, statuses),
           end_wait(&wait, *n, NULL))
FORTRAN_AS(waitany, (Int *n, Int *requests, Int *index, Int *status),
           (n, requests, index, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, status),
           end_wait(&wait, found(1, *index), index))
FORTRAN_AS(waitsome, (Int *n, Int *requests, Int *n_done, Int *indices, Int *statuses),
           (n, requests, n_done, indices, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, statuses),
           end_wait(&wait, *n_done == MPI_UNDEFINED ? 0 : *n_done, indices))
FORTRAN_AS(test, (Int *request, Int *flag, Int *status), (request, flag, wait.statuses),
           struct wait wait; begin_wait(&wait, 1, request, status),
           end_wait(&wait, *flag ? 1 : 0, NULL))
FORTRAN_AS(testall, (Int *n, Int *requests, Int *flag, Int *statuses),
           (n, requests, flag, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, statuses),
           end_wait(&wait, *flag ? *n : 0, NULL))
FORTRAN_AS(testany, (Int *n, Int *requests, Int *index, Int *flag, Int *status),
           (n, requests, index, flag, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, status),
           end_wait(&wait, found(*flag, *index), index))
FORTRAN_AS(testsome, (Int *n, Int *requests, Int *n_done, Int *indices, Int *statuses),
           (n, requests, n_done, indices, wait.statuses),
           struct wait wait; begin_wait(&wait, *n, requests, statuses),
           end_wait(&wait, *n_done == MPI_UNDEFINED ? 0 : *n_done, indices))

static void leave_starts(Int n, const Int *requests)
{
    MPI_Request few[FEW] = {0}, *in_c = n > FEW ? malloc(sizeof *in_c * (size_t)n) : few;
    for (int i = 0; in_c != NULL && i < n; i++)
        in_c[i] = MPI_Request_f2c(requests[i]);
    leave_started(in_c == NULL ? 0 : (int)n, in_c);
    if (in_c != few)
        free(in_c);
}

FORTRAN(start, (Int *request), (request), leave_starts(1, request))
FORTRAN(startall, (Int *n, Int *requests), (n, requests), leave_starts(*n, requests))

static void release(const Int *request)
{
    struct pending *pending = pending_of(MPI_Request_f2c(*request));
    if (pending != NULL)
        unfollow(pending);
}

FORTRAN_AS(cancel, (Int *request), (request), note_cancel(REQUEST(request)), (void)0)
FORTRAN_AS(request_free, (Int *request), (request), release(request), (void)0)

#endif

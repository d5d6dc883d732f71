/* point_to_point.c -- sends and receives, in C. */
#include "recorder.h"

#pragma GCC visibility push(default)

#define SENDS(name) \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, \
                   MPI_Comm comm) \
    { \
        enter(); \
        int code = PMPI_##name(buffer, count, type, to, tag, comm); \
        leave_message(CALL_SEND, count, type, to, tag, comm); \
        return code; \
    }

#define BEGINS(name, leaves) \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, \
                   MPI_Comm comm, MPI_Request *request) \
    { \
        enter(); \
        int code = PMPI_##name(buffer, count, type, to, tag, comm, request); \
        leaves(CALL_ISEND, count, type, to, tag, comm, *request); \
        return code; \
    }

SENDS(Send)
SENDS(Ssend)
SENDS(Bsend)
SENDS(Rsend)
BEGINS(Isend, leave_begun)
BEGINS(Issend, leave_begun)
BEGINS(Ibsend, leave_begun)
BEGINS(Irsend, leave_begun)
BEGINS(Send_init, leave_prepared)
BEGINS(Ssend_init, leave_prepared)
BEGINS(Bsend_init, leave_prepared)
BEGINS(Rsend_init, leave_prepared)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    enter();
    int code = PMPI_Recv(buffer, count, type, from, tag, comm, used);
    leave_received(CALL_RECV, comm, used);
    return code;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    enter();
    int code = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    leave_begun(CALL_IRECV, count, type, from, tag, comm, *request);
    return code;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    enter();
    int code = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
    leave_prepared(CALL_IRECV, count, type, from, tag, comm, *request);
    return code;
}

int MPI_Start(MPI_Request *request)
{
    enter();
    int code = PMPI_Start(request);
    leave_started(1, request);
    return code;
}

int MPI_Startall(int n, MPI_Request *requests)
{
    enter();
    int code = PMPI_Startall(n, requests);
    leave_started(n, requests);
    return code;
}

int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int n_in, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    enter();
    int code = PMPI_Sendrecv(out, n_out, out_type, to, out_tag, in, n_in, in_type, from, in_tag,
                             comm, used);
    leave_exchange(n_out, out_type, to, out_tag, comm, used, from != MPI_PROC_NULL);
    return code;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int out_tag, int from,
                         int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    enter();
    int code =
        PMPI_Sendrecv_replace(buffer, count, type, to, out_tag, from, in_tag, comm, used);
    leave_exchange(count, type, to, out_tag, comm, used, from != MPI_PROC_NULL);
    return code;
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    MPI_Comm comm = comm_of_matched(*message);
    enter();
    int code = PMPI_Mrecv(buffer, count, type, message, used);
    leave_received(CALL_RECV, comm, used);
    return code;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
               MPI_Request *request)
{
    MPI_Comm comm = comm_of_matched(*message);
    enter();
    int code = PMPI_Imrecv(buffer, count, type, message, request);
    leave_begun(CALL_IRECV, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, *request);
    return code;
}

/* ---- looks: waiting, but nothing is received ---------------------------------------------- */

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    enter();
    int code = PMPI_Probe(from, tag, comm, status);
    leave_poll();
    return code;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    enter();
    int code = PMPI_Iprobe(from, tag, comm, flag, status);
    leave_poll();
    return code;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    enter();
    int code = PMPI_Mprobe(from, tag, comm, message, status);
    remember_matched(*message, comm);
    leave_poll();
    return code;
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    enter();
    int code = PMPI_Improbe(from, tag, comm, flag, message, status);
    if (*flag)
        remember_matched(*message, comm);
    leave_poll();
    return code;
}

#pragma GCC visibility pop

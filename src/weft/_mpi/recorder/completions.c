/* completions.c -- waits and tests, in C. */
#include "recorder.h"

#pragma GCC visibility push(default)

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct waiting waiting;
    enter_wait(&waiting, 1, request, status);
    int code = PMPI_Wait(request, waiting.statuses);
    leave_wait(&waiting, 1, NULL);
    return code;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, statuses);
    int code = PMPI_Waitall(n, requests, waiting.statuses);
    leave_wait(&waiting, n, NULL);
    return code;
}

int MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, status);
    int code = PMPI_Waitany(n, requests, index, waiting.statuses);
    leave_wait(&waiting, *index == MPI_UNDEFINED ? 0 : 1, index);
    return code;
}

int MPI_Waitsome(int n, MPI_Request *requests, int *n_done, int *indices, MPI_Status *statuses)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, statuses);
    int code = PMPI_Waitsome(n, requests, n_done, indices, waiting.statuses);
    leave_wait(&waiting, *n_done == MPI_UNDEFINED ? 0 : *n_done, indices);
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct waiting waiting;
    enter_wait(&waiting, 1, request, status);
    int code = PMPI_Test(request, flag, waiting.statuses);
    leave_wait(&waiting, *flag ? 1 : 0, NULL);
    return code;
}

int MPI_Testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, statuses);
    int code = PMPI_Testall(n, requests, flag, waiting.statuses);
    leave_wait(&waiting, *flag ? n : 0, NULL);
    return code;
}

int MPI_Testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, status);
    int code = PMPI_Testany(n, requests, index, flag, waiting.statuses);
    leave_wait(&waiting, *flag && *index != MPI_UNDEFINED ? 1 : 0, index);
    return code;
}

int MPI_Testsome(int n, MPI_Request *requests, int *n_done, int *indices, MPI_Status *statuses)
{
    struct waiting waiting;
    enter_wait(&waiting, n, requests, statuses);
    int code = PMPI_Testsome(n, requests, n_done, indices, waiting.statuses);
    leave_wait(&waiting, *n_done == MPI_UNDEFINED ? 0 : *n_done, indices);
    return code;
}

int MPI_Cancel(MPI_Request *request)
{
    note_cancel(*request);
    return PMPI_Cancel(request);
}

/* A request that is freed is never waited for: a replay waits for it at the end. */
int MPI_Request_free(MPI_Request *request)
{
    struct pending *pending = pending_of(*request);
    if (pending != NULL)
        unfollow(pending);
    return PMPI_Request_free(request);
}

#pragma GCC visibility pop

/* notes.c -- one call, written down: what it is, the time since the last one, its own, numbers. */
#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_begun;

void lock_out(void)
{
    if (recorder.has_threads)
        pthread_mutex_lock(&lock);
}

void unlock(void)
{
    if (recorder.has_threads)
        pthread_mutex_unlock(&lock);
}

static bool is_elsewhere(void)
{
    static _Thread_local int known; /* 0: not asked, 1: the first thread, 2: another one */
    static pthread_t first;
    static bool has_first;
    if (known == 0) {
        if (!has_first) {
            first = pthread_self();
            has_first = true;
        }
        known = pthread_equal(first, pthread_self()) ? 1 : 2;
    }
    return known == 2;
}

bool is_to_note(void)
{
    if (--depth != 0)
        return false;
    if (!recorder.has_begun)
        begin_recording();
    if (!recorder.is_on)
        return false;
    lock_out();
    if (recorder.has_threads)
        recorder.n_elsewhere += is_elsewhere();
    return true;
}

void noted(void)
{
    unlock();
}

unsigned char *head(enum call call, size_t n_numbers)
{
    uint64_t now = ticks();
    unsigned char *at = room((n_numbers + 3) * MOST_NUMBER_BYTES);
    if (at == NULL)
        return NULL;
    at = put(at, call);
    /* Another thread's call may have ended after this one began. */
    uint64_t gap = entered > recorder.left ? entered - recorder.left : 0;
    at = put(at, recorder.computed + gap);
    at = put(at, recorder.polled + (now - entered));
    recorder.computed = recorder.polled = 0;
    recorder.left = now;
    return at;
}

uint64_t bytes_of(long count, MPI_Datatype type)
{
    int size = 0;
    if (count <= 0)
        return 0;
    PMPI_Type_size(type, &size);
    return (uint64_t)count * (uint64_t)size;
}

void leave(void)
{
    depth--;
}

/* A poll right after the last one is waiting, and so is the time between them. */
void count_poll(void)
{
    uint64_t now = ticks(), gap = entered > recorder.left ? entered - recorder.left : 0;
    if (gap > recorder.short_gap)
        recorder.computed += gap;
    else
        recorder.polled += gap;
    recorder.polled += now - entered;
    recorder.left = now;
}

void leave_poll(void)
{
    if (!is_to_note())
        return;
    count_poll();
    noted();
}

/* ---- messages ----------------------------------------------------------------------------- */

static void write_message(enum call call, uint64_t begun, int peer, uint64_t bytes, int tag,
                          const struct group *group)
{
    unsigned char *at = head(call, 5);
    if (at == NULL)
        return;
    if (begun > 0)
        at = put(at, begun);
    at = put(at, (uint64_t)(peer + 1)); /* 0: any source */
    at = put(at, bytes);
    at = put(at, (uint64_t)(tag < 0 ? 0 : tag + 1));
    at = put(at, group->number);
    advance(at);
}

void leave_message(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
    if (!is_to_note())
        return;
    const struct group *group = group_of(comm);
    int rank = group == NULL ? -1 : world_rank(group, peer);
    if (rank >= 0)
        write_message(call, 0, rank, bytes_of(count, type), tag, group);
    noted();
}

void leave_received(enum call call, MPI_Comm comm, const MPI_Status *status)
{
    if (!is_to_note())
        return;
    const struct group *group = group_of(comm);
    int rank = group == NULL ? -1 : world_rank(group, status->MPI_SOURCE);
    int bytes = 0;
    if (rank >= 0) {
        PMPI_Get_count(status, MPI_BYTE, &bytes);
        write_message(call, 0, rank, bytes < 0 ? 0 : (uint64_t)bytes, status->MPI_TAG, group);
    }
    noted();
}

/* A send and a receive that wait for each other's end: begun both, then waited for. */
void leave_exchange(int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                    const MPI_Status *status, bool receives)
{
    if (!is_to_note())
        return;
    const struct group *group = group_of(comm);
    int target = group == NULL ? -1 : world_rank(group, to);
    int source = group == NULL || !receives ? -1 : world_rank(group, status->MPI_SOURCE);
    uint32_t begun[2];
    int n = 0, bytes = 0;
    if (source >= 0) {
        PMPI_Get_count(status, MPI_BYTE, &bytes);
        begun[n++] = ++n_begun;
        write_message(CALL_IRECV, n_begun, source, bytes < 0 ? 0 : (uint64_t)bytes,
                      status->MPI_TAG, group);
        entered = recorder.left;
    }
    if (target >= 0) {
        begun[n++] = ++n_begun;
        write_message(CALL_ISEND, n_begun, target, bytes_of(count, type), tag, group);
        entered = recorder.left;
    }
    unsigned char *at = n > 0 ? head(CALL_WAIT, 7) : NULL;
    if (at != NULL) {
        at = put(at, (uint64_t)n);
        for (int i = 0; i < n; i++)
            at = put(put(put(at, begun[i]), 0), 0);
        advance(at);
    }
    noted();
}

/* ---- requests ----------------------------------------------------------------------------- */

static void begin_message(struct pending *pending)
{
    pending->number = ++n_begun;
    write_message(pending->call, pending->number, pending->peer, pending->bytes, pending->tag,
                  pending->group);
}

static struct pending *prepared(enum call call, int count, MPI_Datatype type, int peer, int tag,
                                MPI_Comm comm, MPI_Request request)
{
    const struct group *group = group_of(comm);
    bool is_from_any = call == CALL_IRECV && peer == MPI_ANY_SOURCE;
    int rank = group == NULL ? -1 : world_rank(group, peer);
    if (group == NULL || (rank < 0 && !is_from_any))
        return NULL;
    struct pending *pending = follow(request);
    if (pending == NULL)
        return NULL;
    pending->call = call;
    pending->is_from_any = is_from_any;
    pending->has_any_tag = call == CALL_IRECV && tag == MPI_ANY_TAG;
    pending->group = group;
    pending->peer = rank;
    pending->tag = tag;
    pending->bytes = bytes_of(count, type);
    return pending;
}

void leave_begun(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request request)
{
    if (!is_to_note())
        return;
    struct pending *pending = prepared(call, count, type, peer, tag, comm, request);
    if (pending != NULL)
        begin_message(pending);
    noted();
}

void leave_prepared(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request request)
{
    if (!is_to_note())
        return;
    struct pending *pending = prepared(call, count, type, peer, tag, comm, request);
    if (pending != NULL)
        pending->is_persistent = true;
    noted();
}

void leave_started(int n, const MPI_Request *requests)
{
    if (!is_to_note())
        return;
    for (int i = 0; i < n; i++) {
        struct pending *pending = pending_of(requests[i]);
        if (pending != NULL && pending->is_persistent) {
            begin_message(pending);
            entered = recorder.left;
        }
    }
    noted();
}

/* ---- collectives -------------------------------------------------------------------------- */

/* The numbers behind a collective: group, and the number of one that leaves a request, plus 1. */
static unsigned char *put_group(unsigned char *at, enum call call, const struct group *group,
                                const MPI_Request *request)
{
    at = put(at, group->number);
    if (request == NULL)
        return put(at, 0);
    struct pending *pending = follow(*request);
    if (pending != NULL) {
        pending->call = call;
        pending->group = group;
        pending->number = ++n_begun;
    }
    return put(at, n_begun);
}

void leave_collective(enum call call, uint64_t bytes, int root, MPI_Comm comm,
                      const MPI_Request *request)
{
    if (!is_to_note())
        return;
    const struct group *group = group_of(comm);
    bool is_inter = group != NULL && group->remote_size > 0;
    unsigned char *at = group == NULL ? NULL : head(is_inter ? CALL_BETWEEN : call, 5);
    if (at != NULL && is_inter) {
        advance(put(at, bytes));
    } else if (at != NULL) {
        at = put(put(at, bytes), (uint64_t)root);
        advance(put_group(at, call, group, request));
    }
    noted();
}

void leave_blocks(enum call call, const uint64_t *bytes, int n, int root, MPI_Comm comm,
                  const MPI_Request *request)
{
    if (!is_to_note())
        return;
    const struct group *group = group_of(comm);
    bool is_inter = group != NULL && group->remote_size > 0;
    unsigned char *at = group == NULL ? NULL : head(is_inter ? CALL_BETWEEN : call, (size_t)n + 5);
    if (at != NULL && is_inter) {
        advance(put(at, 0));
    } else if (at != NULL) {
        at = put(at, (uint64_t)n);
        for (int i = 0; i < n; i++)
            at = put(at, bytes[i]);
        at = put(at, (uint64_t)root);
        advance(put_group(at, call, group, request));
    }
    noted();
}

void leave_unreplayed(enum call call, uint64_t bytes)
{
    if (!is_to_note())
        return;
    unsigned char *at = head(call, 1);
    if (at != NULL)
        advance(put(at, bytes));
    noted();
}

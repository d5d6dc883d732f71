/* waits.c -- requests that are over, and messages that are matched before they are received. */
#include "recorder.h"

#include <stdlib.h>

void enter_wait(struct waiting *waiting, int n, const MPI_Request *requests, MPI_Status *statuses)
{
    waiting->n = n;
    waiting->statuses = statuses;
    waiting->is_noted = depth == 0 && recorder.is_on;
    waiting->owns_statuses = false;
    enter();
    if (!waiting->is_noted)
        return;
    enum { FEW = sizeof waiting->few / sizeof waiting->few[0] };
    waiting->pending = n <= FEW ? waiting->few : malloc(sizeof *waiting->pending * (size_t)n);
    if (waiting->pending == NULL) {
        waiting->is_noted = false;
        return;
    }
    lock_out();
    bool needs_status = false;
    for (int i = 0; i < n; i++) {
        waiting->pending[i] = pending_of(requests[i]);
        if (waiting->pending[i] != NULL) {
            waiting->pending[i]->is_taken = true;
            needs_status |= waiting->pending[i]->is_from_any ||
                            waiting->pending[i]->has_any_tag || waiting->pending[i]->is_cancelled;
        }
    }
    unlock();
    bool has_none = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
    if (!needs_status || !has_none)
        return;
    MPI_Status *own = n <= FEW ? waiting->own : calloc((size_t)n, sizeof *statuses);
    if (own != NULL) {
        waiting->statuses = own;
        waiting->owns_statuses = own != waiting->own;
    }
}

/* A call that is over: its number, and of its status what the call did not name. */
static unsigned char *put_done(unsigned char *at, const struct waiting *waiting,
                               const struct pending *pending, int k)
{
    enum { CANCELLED = -1 };
    uint64_t source = 0, tag = 0;
    bool has_status = waiting->statuses != MPI_STATUSES_IGNORE &&
                      waiting->statuses != MPI_STATUS_IGNORE;
    if (has_status) {
        const MPI_Status *status = &waiting->statuses[k];
        int is_cancelled = 0;
        if (pending->is_cancelled)
            PMPI_Test_cancelled(status, &is_cancelled);
        if (pending->is_from_any)
            source = (uint64_t)(world_rank(pending->group, status->MPI_SOURCE) + 1);
        if (pending->has_any_tag)
            tag = (uint64_t)(status->MPI_TAG < 0 ? 0 : status->MPI_TAG + 1);
        if (is_cancelled)
            source = (uint32_t)CANCELLED;
    }
    return put(put(put(at, pending->number), source), tag);
}

static void write_wait(struct waiting *waiting, int n_done, const int *indices)
{
    unsigned char *at = head(CALL_WAIT, 3 * (size_t)n_done + 1);
    int n = 0;
    for (int k = 0; k < n_done; k++) {
        const struct pending *pending = waiting->pending[indices == NULL ? k : indices[k]];
        n += pending != NULL && pending->number > 0;
    }
    at = at == NULL ? NULL : put(at, (uint64_t)n);
    for (int k = 0; k < n_done; k++) {
        struct pending *pending = waiting->pending[indices == NULL ? k : indices[k]];
        if (pending == NULL || pending->number == 0)
            continue;
        if (at != NULL)
            at = put_done(at, waiting, pending, k);
        pending->is_taken = pending->is_cancelled = false;
        pending->number = 0;
        if (!pending->is_persistent)
            unfollow(pending);
    }
    if (at != NULL)
        advance(at);
}

void leave_wait(struct waiting *waiting, int n_done, const int *indices)
{
    if (!waiting->is_noted) {
        depth--;
        return;
    }
    bool writes = is_to_note();
    if (writes && n_done > 0)
        write_wait(waiting, n_done, indices);
    for (int i = 0; i < waiting->n; i++) {
        /* INVARIANT: one that was unfollowed is spare, and no follow has come between. */
        if (waiting->pending[i] != NULL)
            waiting->pending[i]->is_taken = false;
    }
    if (writes && n_done == 0)
        count_poll();
    if (writes)
        noted();
    if (waiting->pending != waiting->few)
        free(waiting->pending);
    if (waiting->owns_statuses)
        free(waiting->statuses);
}

/* ---- matched messages --------------------------------------------------------------------- */

enum { MOST_MATCHED = 64 };
static struct {
    MPI_Message message;
    MPI_Comm comm;
} matched[MOST_MATCHED];
static int next_matched;

/* The last ones: a matched message is received soon. */
void remember_matched(MPI_Message message, MPI_Comm comm)
{
    matched[next_matched].message = message;
    matched[next_matched].comm = comm;
    next_matched = (next_matched + 1) % MOST_MATCHED;
}

MPI_Comm comm_of_matched(MPI_Message message)
{
    for (int i = 1; i <= MOST_MATCHED; i++) {
        int at = (next_matched + MOST_MATCHED - i) % MOST_MATCHED;
        if (matched[at].message == message && matched[at].comm != 0)
            return matched[at].comm;
    }
    return MPI_COMM_WORLD;
}

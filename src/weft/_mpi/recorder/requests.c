/* requests.c -- requests that are open, by their handles. */
#include "recorder.h"

#include <stdlib.h>

enum { N_SLOTS = 4096 };

static struct pending *slots[N_SLOTS];
static struct pending *spare;

static struct pending **slot_of(uint64_t key)
{
    return &slots[(key * 0x9e3779b97f4a7c15u) >> 52];
}

/* Behind those that share its slot: the oldest of a handle is found first. */
struct pending *follow(MPI_Request request)
{
    struct pending *pending = spare;
    if (pending != NULL)
        spare = pending->next;
    else
        pending = malloc(sizeof *pending);
    if (pending == NULL) {
        stop_recording("no memory");
        return NULL;
    }
    *pending = (struct pending){.key = key_of(&request, sizeof request)};
    struct pending **at = slot_of(pending->key);
    while (*at != NULL)
        at = &(*at)->next;
    *at = pending;
    return pending;
}

struct pending *pending_of(MPI_Request request)
{
    if (request == MPI_REQUEST_NULL)
        return NULL;
    uint64_t key = key_of(&request, sizeof request);
    struct pending *pending = *slot_of(key);
    while (pending != NULL && (pending->key != key || pending->is_taken))
        pending = pending->next;
    return pending;
}

void note_cancel(MPI_Request request)
{
    struct pending *pending = pending_of(request);
    if (pending != NULL)
        pending->is_cancelled = true;
}

void unfollow(struct pending *pending)
{
    for (struct pending **at = slot_of(pending->key); *at != NULL; at = &(*at)->next) {
        if (*at == pending) {
            *at = pending->next;
            pending->next = spare;
            spare = pending;
            return;
        }
    }
}

/* groups.c -- communicators as lists of the world's ranks.
 *
 * A communicator is looked at when it is first used, however it was made. INVARIANT: one that is
 * freed is forgotten, because MPI may give its handle to the next. */
#include "recorder.h"

#include <stdlib.h>

enum { N_SLOTS = 256 };

static struct group *slots[N_SLOTS];
static struct group *last; /* used */
static uint32_t n_groups;

static struct group **slot_of(uint64_t key)
{
    return &slots[(key * 0x9e3779b97f4a7c15u) >> 56];
}

/* The world's ranks of the peers in a communicator; of an intercommunicator the remote ones. */
static void look_at(MPI_Comm comm, struct group *group)
{
    MPI_Group own, world;
    int is_inter = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_size(comm, &group->size);
    if (is_inter) {
        PMPI_Comm_remote_size(comm, &group->remote_size);
        PMPI_Comm_remote_group(comm, &own);
    } else {
        PMPI_Comm_group(comm, &own);
    }
    int n = is_inter ? group->remote_size : group->size;
    int *places = malloc(sizeof *places * (size_t)n);
    group->ranks = malloc(sizeof *group->ranks * (size_t)n);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    if (places != NULL && group->ranks != NULL) {
        for (int i = 0; i < n; i++)
            places[i] = i;
        PMPI_Group_translate_ranks(own, n, places, world, group->ranks);
    }
    free(places);
    PMPI_Group_free(&own);
    PMPI_Group_free(&world);
}

/* "group number ranks": the ranks as plus 1, 0 for one outside of the world. */
static void write_group(const struct group *group)
{
    int n = group->remote_size > 0 ? 0 : group->size;
    unsigned char *at = room((size_t)(n + 5) * MOST_NUMBER_BYTES);
    if (at == NULL)
        return;
    at = put(at, CALL_GROUP);
    at = put(at, 0);
    at = put(at, 0);
    at = put(at, group->number);
    at = put(at, (uint64_t)n);
    for (int i = 0; i < n; i++)
        at = put(at, group->ranks[i] < 0 ? 0 : (uint64_t)group->ranks[i] + 1);
    advance(at);
}

const struct group *group_of(MPI_Comm comm)
{
    uint64_t key = key_of(&comm, sizeof comm);
    if (last != NULL && last->key == key)
        return last;
    struct group **slot = slot_of(key);
    for (struct group *group = *slot; group != NULL; group = group->next) {
        if (group->key == key)
            return last = group;
    }
    struct group *group = calloc(1, sizeof *group);
    if (group == NULL) {
        stop_recording("no memory");
        return NULL;
    }
    group->key = key;
    group->number = n_groups++;
    look_at(comm, group);
    if (group->ranks == NULL) {
        free(group);
        stop_recording("no memory");
        return NULL;
    }
    group->next = *slot;
    *slot = group;
    write_group(group);
    return group;
}

/* The group stays in memory: open requests may be of it. */
void forget_group(MPI_Comm comm)
{
    uint64_t key = key_of(&comm, sizeof comm);
    last = NULL;
    for (struct group **at = slot_of(key); *at != NULL; at = &(*at)->next) {
        if ((*at)->key == key) {
            *at = (*at)->next;
            return;
        }
    }
}

int world_rank(const struct group *group, int rank)
{
    int n = group->remote_size > 0 ? group->remote_size : group->size;
    return rank < 0 || rank >= n ? -1 : group->ranks[rank];
}

int size_of(MPI_Comm comm)
{
    int size = 0, is_inter = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

bool is_root(int root, MPI_Comm comm)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return root == MPI_ROOT || rank == root;
}

/* recorder.h -- the header of libweft-recorder, which writes down the MPI calls of a program.
 *
 * The library is preloaded. It has the names of MPI's functions, in C and in Fortran, and each
 * calls the one of the same name with a P before it: MPI's profiling interface. So it needs no
 * change in the program, and has to be compiled for the MPI that the program uses. It writes
 * $WEFT_RECORD_DIR/rank-00000.trace (docs/reference/trace.md). Reading order of the sources:
 *
 *   calls.h            the calls that a trace has, and what is written of each
 *   life.c             MPI_Init to MPI_Finalize
 *   trace_file.c       the file of this rank: numbers behind one another, in mapped memory
 *   clock.c            ticks
 *   groups.c           communicators as lists of ranks
 *   requests.c         requests that are open
 *   notes.c waits.c    one call, written down
 *   point_to_point.c completions.c collectives.c unreplayed.c    MPI's functions in C
 *   fortran.h fortran_life.c fortran.c fortran_collectives.c     the same in Fortran
 *
 * It never ends the program: if it cannot write it says so once, and records no more.
 */
#ifndef WEFT_RECORDER_H
#define WEFT_RECORDER_H

#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calls.h"

/* The library is loaded into a launcher and a shell, too, which have no MPI: what an MPI keeps as
 * data may be absent there. Functions are looked for when they are called. */
#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_byte
#pragma weak ompi_request_null
#endif
#pragma weak MPI_F_STATUS_IGNORE
#pragma weak MPI_F_STATUSES_IGNORE

/* INVARIANT: only MPI's own names leave this library. */
#pragma GCC visibility push(hidden)

/* ---- clock.c ------------------------------------------------------------------------------ */

/* Chooses the clock: the processor's counter where it has one rate, else the system's clock. */
void choose_clock(void);
extern bool clock_is_counter;
uint64_t system_ns(void);

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
    if (clock_is_counter)
        return __builtin_ia32_rdtsc();
#endif
    return system_ns();
}

/* A handle, a pointer or a number, as a key. */
static inline uint64_t key_of(const void *handle, size_t size)
{
    uint64_t key = 0;
    memcpy(&key, handle, size < sizeof key ? size : sizeof key);
    return key;
}

/* ---- life.c ------------------------------------------------------------------------------- */

/* Of this rank. A call inside another one (a library's own use of MPI) is not written down. */
struct recorder {
    bool is_on, has_begun;
    bool has_threads; /* MPI_THREAD_MULTIPLE: several may call at once */
    int rank, n_ranks;
    uint64_t left; /* when the last call ended */
    uint64_t computed, polled; /* since the last call written down: ticks of both kinds */
    uint64_t short_gap; /* ticks; a poll so soon after the last is waiting, not computing */
    uint64_t began_ns, began;
    uint64_t n_elsewhere; /* calls of other threads than the one that began */
};
extern struct recorder recorder;
extern _Thread_local int depth;
extern _Thread_local uint64_t entered;

static inline void enter(void)
{
    if (depth++ == 0)
        entered = ticks();
}

void begin_recording(void);
void end_recording(void);
void stop_recording(const char *why);

/* ---- trace_file.c ------------------------------------------------------------------------- */

bool open_trace(const char *header);
void close_trace(void);
/* Maps more of the file where less than so many bytes are left; false where that fails. */
bool make_room(size_t bytes);
extern unsigned char *next_byte, *last_byte; /* of what is mapped */

/* Room for at least so many bytes from the place returned on; NULL where there is none. */
static inline unsigned char *room(size_t bytes)
{
    bool is_there = next_byte != NULL && (size_t)(last_byte - next_byte) >= bytes;
    return is_there || make_room(bytes) ? next_byte : NULL;
}

static inline void advance(unsigned char *end)
{
    next_byte = end;
}

/* A number of 7 bits a byte, the lowest first; at most 10 bytes. */
static inline unsigned char *put(unsigned char *at, uint64_t number)
{
    while (number >= 128) {
        *at++ = (unsigned char)(number | 128);
        number >>= 7;
    }
    *at++ = (unsigned char)number;
    return at;
}
enum { MOST_NUMBER_BYTES = 10 };

/* ---- groups.c ----------------------------------------------------------------------------- */

/* A communicator: its ranks as ranks of the world; NULL for the world's own order. */
struct group {
    uint64_t key;
    uint32_t number;
    int size;
    int remote_size; /* of an intercommunicator, whose peers are `ranks`; else 0 */
    int *ranks;
    struct group *next;
};

/* The group of a communicator, written down where it is new. */
const struct group *group_of(MPI_Comm comm);
/* How many peers a rank has in a communicator, itself among them. */
int size_of(MPI_Comm comm);
bool is_root(int root, MPI_Comm comm);
void forget_group(MPI_Comm comm);
/* The world's rank of a rank of the group; -1 for MPI_PROC_NULL and MPI_ANY_SOURCE. */
int world_rank(const struct group *group, int rank);

/* ---- requests.c --------------------------------------------------------------------------- */

struct pending {
    uint64_t key;
    uint32_t number; /* of the call that began it; 0 for a persistent one that is idle */
    enum call call;
    bool is_persistent, is_from_any, has_any_tag, is_taken, is_cancelled;
    const struct group *group;
    int peer, tag;
    uint64_t bytes;
    struct pending *next;
};

/* Begins to follow a request; several may share a handle (MPI gives one to all that are over). */
struct pending *follow(MPI_Request request);
/* The program asks for a request to be cancelled; whether it was, its status says. */
void note_cancel(MPI_Request request);
/* The oldest with this handle that is not taken; NULL for one that is not followed. */
struct pending *pending_of(MPI_Request request);
void unfollow(struct pending *pending);

/* ---- notes.c ------------------------------------------------------------------------------ */

/* Ends a call; whether it is to be written down, and then until `noted` no other thread does. */
bool is_to_note(void);
void noted(void);
void lock_out(void);
void unlock(void);
/* The head of a record, with room for so many numbers behind it; NULL where there is none. */
unsigned char *head(enum call call, size_t n_numbers);
/* Each ends a call that `enter` began, and writes it down unless it is inside another. */
void leave(void);
void count_poll(void); /* of a noted call: nothing was over */
void leave_poll(void);
void leave_message(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
void leave_received(enum call call, MPI_Comm comm, const MPI_Status *status);
void leave_exchange(int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                    const MPI_Status *status, bool receives);
void leave_begun(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request request);
void leave_prepared(enum call call, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request request);
void leave_started(int n, const MPI_Request *requests);
void leave_collective(enum call call, uint64_t bytes, int root, MPI_Comm comm,
                      const MPI_Request *request);
void leave_blocks(enum call call, const uint64_t *bytes, int n, int root, MPI_Comm comm,
                  const MPI_Request *request);
void leave_unreplayed(enum call call, uint64_t bytes);
/* A probe found a message, or a matched message was received: its communicator, by its handle. */
void remember_matched(MPI_Message message, MPI_Comm comm);
MPI_Comm comm_of_matched(MPI_Message message);
uint64_t bytes_of(long count, MPI_Datatype type);

/* The requests that a call may complete, as they were before it. */
struct waiting {
    int n;
    struct pending **pending;
    MPI_Status *statuses; /* the program's, or own ones where it wants none and a source counts */
    struct pending *few[16];
    MPI_Status own[16];
    bool is_noted, owns_statuses;
};

void enter_wait(struct waiting *waiting, int n, const MPI_Request *requests, MPI_Status *statuses);
/* `indices` of the n_done that are over; NULL for the first n_done. */
void leave_wait(struct waiting *waiting, int n_done, const int *indices);

#pragma GCC visibility pop
#endif

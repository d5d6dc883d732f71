/* life.c -- from MPI_Init to MPI_Finalize. */
#include "recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct recorder recorder;
_Thread_local int depth;
_Thread_local uint64_t entered;

enum { SHORT_GAP_NS = 1000 };

void stop_recording(const char *why)
{
    if (recorder.is_on || recorder.left == 0)
        fprintf(stderr, "weft record: rank %d records no more: %s\n", recorder.rank, why);
    recorder.is_on = false;
    recorder.left = 1;
}

/* A text in JSON: what would have to be escaped becomes a blank. */
static void copy_plain(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; from[n] != '\0' && n + 1 < size; n++)
        to[n] = from[n] < ' ' || from[n] == '"' || from[n] == '\\' || from[n] < 0 ? ' ' : from[n];
    to[n] = '\0';
}

static size_t append_calls(char *at, size_t size)
{
    static const char *const names[][2] = {
#define CALL(name, text, numbers) {text, numbers},
        CALLS
#undef CALL
    };
    size_t n = 0;
    for (int i = 0; i < N_CALLS && n < size; i++) {
        const char *comma = i == 0 ? "" : ", ";
        n += (size_t)snprintf(at + n, size - n, "%s[\"%s\", \"%s\"]", comma, names[i][0],
                              names[i][1]);
    }
    return n;
}

/* The first line of the trace. */
static void write_header(char *header, size_t size, int thread_level, double ns_a_tick)
{
    char host[256], library[MPI_MAX_LIBRARY_VERSION_STRING], plain[128], plain_host[256];
    int length = 0;
    gethostname(host, sizeof host);
    host[sizeof host - 1] = '\0';
    copy_plain(plain_host, sizeof plain_host, host);
    PMPI_Get_library_version(library, &length);
    copy_plain(plain, sizeof plain, library);
    size_t n = (size_t)snprintf(
        header, size,
        "{\"schema\": \"weft.trace/1\", \"rank\": %d, \"n_ranks\": %d, \"host\": \"%s\", "
        "\"mpi\": \"%s\", \"has_threads\": %s, \"ns_a_tick\": %.9g, \"calls\": [",
        recorder.rank, recorder.n_ranks, plain_host, plain,
        thread_level == MPI_THREAD_MULTIPLE ? "true" : "false", ns_a_tick);
    n += append_calls(header + n, size - n);
    snprintf(header + n, size - n, "]}\n");
}

void begin_recording(int thread_level)
{
    uint64_t now = ticks(), now_ns = system_ns();
    PMPI_Comm_rank(MPI_COMM_WORLD, &recorder.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &recorder.n_ranks);
    recorder.has_threads = thread_level == MPI_THREAD_MULTIPLE;
    double passed = (double)(now - recorder.began);
    double ns_a_tick = passed > 0 ? (double)(now_ns - recorder.began_ns) / passed : 1;
    recorder.short_gap = (uint64_t)(SHORT_GAP_NS / ns_a_tick);
    static char header[8192];
    write_header(header, sizeof header, thread_level, ns_a_tick);
    recorder.is_on = open_trace(header);
    if (!recorder.is_on)
        return;
    group_of(MPI_COMM_WORLD);
    recorder.began = recorder.left = ticks();
    recorder.began_ns = system_ns();
}

/* "end": the last record of a whole trace. */
void end_recording(void)
{
    if (!recorder.is_on)
        return;
    uint64_t now = ticks();
    unsigned char *at = room(8 * MOST_NUMBER_BYTES);
    if (at != NULL) {
        at = put(at, CALL_END);
        at = put(at, recorder.computed + (now - recorder.left));
        at = put(at, recorder.polled);
        at = put(at, recorder.n_elsewhere);
        at = put(at, system_ns() - recorder.began_ns);
        at = put(at, now - recorder.began);
        advance(at);
    }
    recorder.is_on = false;
    close_trace();
}

/* ---- MPI's functions ---------------------------------------------------------------------- */

#pragma GCC visibility push(default)

static void before_init(void)
{
    choose_clock();
    recorder.began = ticks();
    recorder.began_ns = system_ns();
}

int MPI_Init(int *argc, char ***argv)
{
    before_init();
    depth++;
    int code = PMPI_Init(argc, argv);
    depth--;
    if (code == MPI_SUCCESS)
        begin_recording(MPI_THREAD_SINGLE);
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    before_init();
    depth++;
    int code = PMPI_Init_thread(argc, argv, required, provided);
    depth--;
    if (code == MPI_SUCCESS)
        begin_recording(*provided);
    return code;
}

int MPI_Finalize(void)
{
    end_recording();
    return PMPI_Finalize();
}

int MPI_Comm_free(MPI_Comm *comm)
{
    forget_group(*comm);
    return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    forget_group(*comm);
    return PMPI_Comm_disconnect(comm);
}

/* Fortran's. Their own functions of C may or may not be those of this library. */

void pmpi_init_(MPI_Fint *error);
void pmpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);
void pmpi_finalize_(MPI_Fint *error);
void pmpi_comm_free_(MPI_Fint *comm, MPI_Fint *error);
#pragma weak pmpi_init_
#pragma weak pmpi_init_thread_
#pragma weak pmpi_finalize_
#pragma weak pmpi_comm_free_

void mpi_init_(MPI_Fint *error)
{
    before_init();
    depth++;
    pmpi_init_(error);
    depth--;
    if (!recorder.is_on)
        begin_recording(MPI_THREAD_SINGLE);
}

void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    before_init();
    depth++;
    pmpi_init_thread_(required, provided, error);
    depth--;
    if (!recorder.is_on)
        begin_recording((int)*provided);
}

void mpi_finalize_(MPI_Fint *error)
{
    end_recording();
    pmpi_finalize_(error);
}

void mpi_comm_free_(MPI_Fint *comm, MPI_Fint *error)
{
    forget_group(MPI_Comm_f2c(*comm));
    pmpi_comm_free_(comm, error);
}

#pragma GCC visibility pop

/* life.c -- from MPI_Init to MPI_Finalize. */
#include "recorder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct recorder recorder;
_Thread_local int depth;
_Thread_local uint64_t entered;

enum { SHORT_GAP_NS = 1000 };

void stop_recording(const char *why)
{
    if (recorder.is_on || !recorder.has_begun)
        fprintf(stderr, "weft record: rank %d records no more: %s\n", recorder.rank, why);
    recorder.is_on = false;
    recorder.has_begun = true;
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
        "\"mpi\": \"%s\", \"n_cpus\": %ld, \"has_threads\": %s, \"ns_a_tick\": %.9g, "
        "\"calls\": [",
        recorder.rank, recorder.n_ranks, plain_host, plain, sysconf(_SC_NPROCESSORS_ONLN),
        thread_level == MPI_THREAD_MULTIPLE ? "true" : "false", ns_a_tick);
    n += append_calls(header + n, size - n);
    snprintf(header + n, size - n, "]}\n");
}

/* Before main: the rate of the counter is known by the time MPI has started. */
__attribute__((constructor)) static void before_main(void)
{
    choose_clock();
    recorder.began = ticks();
    recorder.began_ns = system_ns();
}

/* Begins at the first call after MPI has started, whatever has started it. The ranks of a job that
 * another one spawned are no part of its trace. */
void begin_recording(void)
{
    int is_started = 0, is_over = 0, thread_level = MPI_THREAD_SINGLE;
    PMPI_Initialized(&is_started);
    PMPI_Finalized(&is_over);
    if (recorder.has_begun || !is_started || is_over)
        return;
    uint64_t now = ticks(), now_ns = system_ns();
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    PMPI_Comm_rank(MPI_COMM_WORLD, &recorder.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &recorder.n_ranks);
    PMPI_Query_thread(&thread_level);
    recorder.has_threads = thread_level == MPI_THREAD_MULTIPLE;
    double passed = (double)(now - recorder.began);
    double ns_a_tick = passed > 0 ? (double)(now_ns - recorder.began_ns) / passed : 1;
    recorder.short_gap = (uint64_t)(SHORT_GAP_NS / ns_a_tick);
    static char header[8192];
    write_header(header, sizeof header, thread_level, ns_a_tick);
    recorder.is_on = parent == MPI_COMM_NULL && open_trace(header);
    recorder.has_begun = true;
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

int MPI_Init(int *argc, char ***argv)
{
    depth++;
    int code = PMPI_Init(argc, argv);
    depth--;
    begin_recording();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    depth++;
    int code = PMPI_Init_thread(argc, argv, required, provided);
    depth--;
    begin_recording();
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

#pragma GCC visibility pop

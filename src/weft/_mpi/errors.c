/* errors.c -- every way this program ends early.
 *
 * Two kinds. A fault that the user must repair (a wrong argument, no GPU runtime): one rank finds
 * it, all agree on it, rank 0 reports it, and every rank leaves through MPI_Finalize. So no rank
 * hangs, and the exit code is ours. A failure in the middle (of an MPI call, of memory): the rank
 * that met it reports it, and MPI_Abort ends the others. */
#include "weft.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int my_rank = UNSET;
static char my_host[MAX_NAME] = "?";

/* Set the rank and host that errors name. Call it once the world is known. */
void set_error_place(int rank, const char *host) {
    my_rank = rank;
    snprintf(my_host, sizeof my_host, "%s", host);
}

/* Write `text` to descriptor `fd`; a failure to write is not reported. */
static void write_fully(int fd, const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t n = write(fd, text, left);
        if (n <= 0) return;
        text += n;
        left -= (size_t)n;
    }
}

/* Copy `from` without characters that JSON strings escape: an error text is for reading. */
static void copy_plain(const char *from, char *to, size_t capacity) {
    size_t i = 0;
    for (; from[i] != '\0' && i + 1 < capacity; i++) {
        unsigned char c = (unsigned char)from[i];
        to[i] = (c < 0x20 || c > 0x7e) ? ' ' : c == '"' ? '\'' : c == '\\' ? '/' : (char)c;
    }
    to[i] = '\0';
}

/* One `error` record on stdout and one line on stderr. It starts on a fresh line, because rank 0
 * may be in the middle of one; a single write() keeps it whole. */
static void write_error(int rank, const char *host, const char *where, const char *message) {
    char text[MPI_MAX_ERROR_STRING + MAX_LIST], place[MAX_LIST];
    char line[sizeof text + sizeof place + 2 * MAX_LIST];
    copy_plain(message, text, sizeof text);
    copy_plain(where, place, sizeof place);
    snprintf(line, sizeof line,
             "\n{\"record\":\"error\",\"rank\":%d,\"host\":\"%.64s\",\"where\":\"%s\","
             "\"message\":\"%s\"}\n",
             rank, host, place, text);
    fflush(stdout);
    write_fully(STDOUT_FILENO, line);
    snprintf(line, sizeof line, "weft-kernel: rank %d on %.64s: %s: %s\n", rank, host, place,
             text);
    write_fully(STDERR_FILENO, line);
}

/* End the whole launch from this rank alone. Launchers drop what they have not passed on when an
 * abort reaches them (MPICH's Hydra does), so the reason gets a moment's start. MPI_Abort must not
 * hang us: an alarm ends the rank if the library does not come back. */
static _Noreturn void abort_launch(const char *where, const char *message) {
    const struct timespec head_start = {0, 200000000};
    write_error(my_rank, my_host, where, message);
    nanosleep(&head_start, NULL);
    alarm(10);
    MPI_Abort(MPI_COMM_WORLD, EXIT_BENCHMARK);
    _exit(EXIT_BENCHMARK);
}

/* Stop the launch because of `where`; the message is printf-like. */
void fail(const char *where, const char *format, ...) {
    char message[MPI_MAX_ERROR_STRING];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    abort_launch(where, message);
}

/* Behind CHECK. `call` is the source text of the call; its name ends at the parenthesis. */
void check_mpi(int code, const char *call) {
    if (code == MPI_SUCCESS) return;
    char message[MPI_MAX_ERROR_STRING] = "", name[MAX_NAME];
    int length = 0;
    MPI_Error_string(code, message, &length);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "("), call);
    abort_launch(name, message);
}

/* Fill in a problem; where and message are cut to fit. */
void set_problem(struct problem *problem, int exit_code, const char *where, const char *format,
                 ...) {
    va_list arguments;
    problem->exit_code = exit_code;
    snprintf(problem->where, sizeof problem->where, "%s", where);
    va_start(arguments, format);
    vsnprintf(problem->message, sizeof problem->message, format, arguments);
    va_end(arguments);
}

/* Collective. The exit code all ranks leave with: 0 where no rank has a problem, else that of the
 * lowest rank which has one, and which rank 0 has then reported. */
int agree(const struct problem *mine) {
    struct {
        struct problem problem;
        char host[MAX_NAME];
    } lowest;
    int n_ranks, first, candidate = mine->exit_code == 0 ? INT32_MAX : my_rank;
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &n_ranks));
    CHECK(MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first >= n_ranks) return 0;
    memset(&lowest, 0, sizeof lowest);
    lowest.problem = *mine;
    memcpy(lowest.host, my_host, sizeof lowest.host);
    CHECK(MPI_Bcast(&lowest, sizeof lowest, MPI_BYTE, first, MPI_COMM_WORLD));
    if (my_rank == 0)
        write_error(first, lowest.host, lowest.problem.where, lowest.problem.message);
    return lowest.problem.exit_code;
}

/* calloc that ends the launch when memory is out. n == 0 gives a block that may be freed. */
void *allocate(size_t n, size_t bytes_each) {
    void *block = calloc(n == 0 ? 1 : n, bytes_each);
    if (block == NULL) fail("memory", "%zu x %zu bytes cannot be allocated", n, bytes_each);
    return block;
}

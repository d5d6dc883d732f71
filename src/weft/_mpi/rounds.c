/* rounds.c -- which pairs run at the same time. */
#include "weft.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Circle method (round-robin tournament): seat n players around a table, one of them fixed, and
 * turn the others by one seat a round. n even: n - 1 rounds of n/2 pairs. n odd: an empty chair
 * takes part, and whoever meets it rests. Every pair meets exactly once. */
static int circle_round(int n_ranks, int round, struct pair *out) {
    int n_chairs = n_ranks + n_ranks % 2, turning = n_chairs - 1, n = 0;
    for (int seat = 0; seat < n_chairs / 2; seat++) {
        int a = seat == 0 ? n_chairs - 1 : (round + seat) % turning;
        int b = (round - seat + turning) % turning;
        if (a >= n_ranks || b >= n_ranks) continue;
        out[n++] = a < b ? (struct pair){a, b} : (struct pair){b, a};
    }
    return n;
}

/* The pairs of one round into `out`, which holds n_ranks / 2; returns how many. */
int pairs_of_round(const struct schedule *schedule, int round, struct pair *out) {
    if (schedule->listed == NULL) return circle_round(schedule->n_ranks, round, out);
    int first = schedule->first[round], n = schedule->first[round + 1] - first;
    memcpy(out, schedule->listed + first, (size_t)n * sizeof *out);
    return n;
}

/* A rank number at *text, which moves past it; UNSET where there is none. */
static int read_rank(const char **text, int n_ranks) {
    char *end;
    if (!isdigit((unsigned char)**text)) return UNSET;
    long value = strtol(*text, &end, 10);
    *text = end;
    return value < n_ranks ? (int)value : UNSET;
}

/* Read one line, `0-1 3-2`, appending its pairs: the first of a pair sends first. `busy` holds the
 * last line each rank was in, so that no rank has two partners at once. Returns how many pairs, or
 * UNSET with a problem. */
static int read_round(const char *line, int number, int n_ranks, int *busy, struct pair *out,
                      struct problem *problem) {
    int n = 0;
    for (;;) {
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '\n' || *line == '#') return n;
        int a = read_rank(&line, n_ranks);
        bool dash = *line == '-';
        line += dash;
        int b = dash ? read_rank(&line, n_ranks) : UNSET;
        if (a == UNSET || b == UNSET || a == b || (*line != '\0' && !isspace((unsigned char)*line)))
            set_problem(problem, EXIT_INPUT, "--rounds-file",
                        "line %d: pairs such as 0-1 of two ranks below %d are expected", number,
                        n_ranks);
        else if (busy[a] == number || busy[b] == number)
            set_problem(problem, EXIT_INPUT, "--rounds-file",
                        "line %d: rank %d is in two pairs of one round", number,
                        busy[a] == number ? a : b);
        if (problem->exit_code != 0) return UNSET;
        busy[a] = busy[b] = number;
        out[n++] = (struct pair){a, b};
    }
}

/* The rounds listed in `text`, one a line; `#` begins a comment, empty lines are skipped. */
static struct problem read_rounds(const char *text, int n_ranks, struct schedule *out) {
    struct problem problem = {0};
    size_t length = strlen(text);
    int n_pairs = 0, number = 1;
    int *busy = allocate((size_t)n_ranks, sizeof *busy);
    out->listed = allocate(length / 3 + 1, sizeof *out->listed);
    out->first = allocate(length + 2, sizeof *out->first);
    out->n_ranks = n_ranks;
    for (const char *line = text; problem.exit_code == 0; number++) {
        int n = read_round(line, number, n_ranks, busy, out->listed + n_pairs, &problem);
        if (n > 0) {
            n_pairs += n;
            out->first[++out->n_rounds] = n_pairs;
        }
        line += strcspn(line, "\n");
        if (*line++ == '\0') break;
    }
    free(busy);
    if (problem.exit_code == 0 && out->n_rounds == 0)
        set_problem(&problem, EXIT_INPUT, "--rounds-file", "no round is listed");
    return problem;
}

/* The whole file, ended by a zero byte; NULL where it cannot be read. */
static char *read_file(const char *path, long *length) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (*length = ftell(file)) >= 0) {
        rewind(file);
        text = allocate((size_t)*length + 1, 1);
        *length = (long)fread(text, 1, (size_t)*length, file);
    }
    fclose(file);
    return text;
}

/* Collective. The schedule of this launch. Only rank 0 reads the file: compute nodes may not see
 * it. All ranks get the same problem. */
struct problem open_schedule(const char *path, const struct world *world, struct schedule *out) {
    struct problem problem = {0};
    long length = UNSET;
    int n = world->n_ranks;
    *out = (struct schedule){.n_ranks = n, .n_rounds = n % 2 == 0 ? n - 1 : n};
    if (path == NULL) return problem;
    char *text = world->rank == 0 ? read_file(path, &length) : NULL;
    CHECK(MPI_Bcast(&length, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    out->n_rounds = 0;
    if (length < 0 || length > 1 << 30) {
        set_problem(&problem, EXIT_INPUT, "--rounds-file", "'%.150s' cannot be read", path);
        free(text);
        return problem;
    }
    if (world->rank != 0) text = allocate((size_t)length + 1, 1);
    CHECK(MPI_Bcast(text, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD));
    problem = read_rounds(text, n, out);
    free(text);
    return problem;
}

void close_schedule(struct schedule *schedule) {
    free(schedule->listed);
    free(schedule->first);
    *schedule = (struct schedule){0};
}

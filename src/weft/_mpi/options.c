/* options.c -- command line -> struct options. No MPI here: every rank parses the same arguments,
 * and main.c lets the ranks agree on a problem, so a wrong argument never leaves a rank waiting.
 *
 * Grammar: an option before the first --benchmark holds for every group, one after it for that
 * group. --rails, --memory, --aggressor, --quiet and --help hold for the launch, wherever they
 * stand. */
#include "weft.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGE_BYTES = 1 << 30, MAX_ITERATIONS = 10000000, MAX_WINDOW = 65536,
       MAX_BATCH = 1000 };

const char *const buffers_names[] = {"two", "one", "untouched"};

const char *usage(void) {
    return "usage: weft-kernel --benchmark NAME [options] [--benchmark NAME [options]]...\n"
           "  --benchmark NAME          latency, bandwidth, bidirectional, message_rate, fan_in,\n"
           "                            fan_out, random_ring_latency, random_ring_bandwidth,\n"
           "                            natural_ring_bandwidth, barrier, allreduce, reduce,\n"
           "                            reduce_scatter, broadcast, allgather, alltoall,\n"
           "                            alltoallv, gather, scatter, pairs\n"
           "  --sizes N,N,...           message sizes in bytes (not for barrier, pairs)\n"
           "  --pair-sizes SMALL,LARGE  bytes: latency and bandwidth of pairs (8,1048576)\n"
           "  --rounds-file FILE        pairs: one round a line, '0-1 2-3'; default: all pairs\n"
           "  --phases NAME,NAME,...    pairs: latency, bandwidth, bidirectional (the first two)\n"
           "  --iterations N --warmup N default: as OSU Micro-Benchmarks do\n"
           "  --window N                messages in flight (64; pairs 16; rings 8, for latency 1)\n"
           "  --max-seconds-per-size S  fewer iterations where they would take longer\n"
           "  --buffers two|one|untouched  latency: two buffers as OSU; one, sent from where it\n"
           "                            arrived, as NetPIPE; a send buffer never written, as HPCC\n"
           "  --batch N                 latency: an iteration is the mean of N round trips, with\n"
           "                            one clock reading (1, as OSU; HPCC: 8)\n"
           "  --skew S                  alltoallv: blocks differ by up to this share, 0 to 1 (0)\n"
           "  --rings N --seed N        random rings: how many, drawn from which seed (30, 1)\n"
           "  --closing-barrier         rings of bandwidth: a barrier ends each iteration, and is\n"
           "                            timed with it (GPCNeT's BW+Sync)\n"
           "  --sync barrier|window     how iterations of collectives start\n"
           "  --validate                check received data in an untimed pass\n"
           "  --rails DEV,DEV,...       network device by local rank, such as mlx5_0:1\n"
           "  --memory host|cuda|rocm   where message buffers live\n"
           "  --aggressor NAME,BYTES,RANKS[,SL]  repeats a benchmark, put_incast or get_broadcast\n"
           "                            on the last ranks while the others measure, on service\n"
           "                            level SL (UCX_IB_SL); repeatable\n"
           "  --quiet SECONDS           before anything is measured: which counters of network\n"
           "                            devices move while no rank sends\n"
           "An option before the first --benchmark holds for every benchmark.\n";
}

/* A whole number in low .. high, or a problem that names the option. */
static long parse_number(const char *option, const char *text, long low, long high,
                         struct problem *problem) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    bool digits = text[0] >= '0' && text[0] <= '9';
    if (!digits || *end != '\0' || errno != 0 || value < low || value > high)
        set_problem(problem, EXIT_INPUT, option, "'%.60s' is not a whole number from %ld to %ld",
                    text, low, high);
    return value;
}

static double parse_seconds(const char *option, const char *text, struct problem *problem) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1e9))
        set_problem(problem, EXIT_INPUT, option, "'%.60s' is not a positive number of seconds",
                    text);
    return value;
}

/* A share from 0 to 1, in parts of WHOLE_SKEW. */
static int parse_share(const char *option, const char *text, struct problem *problem) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1)) {
        set_problem(problem, EXIT_INPUT, option, "'%.60s' is not a share from 0 to 1", text);
        return 0;
    }
    return (int)(value * WHOLE_SKEW + 0.5);
}

/* Cut the next piece off a list; commas bound pieces. False at the end. Longer pieces than fit
 * are a problem, and so are empty ones. */
static bool next_piece(const char **rest, char *piece, const char *option,
                       struct problem *problem) {
    if (**rest == '\0') return false;
    size_t length = strcspn(*rest, ",");
    bool ends_in_comma = (*rest)[length] == ',' && (*rest)[length + 1] == '\0';
    if (length == 0 || length >= MAX_NAME || ends_in_comma) {
        set_problem(problem, EXIT_INPUT, option, "the list has an empty or too long part");
        return false;
    }
    memcpy(piece, *rest, length);
    piece[length] = '\0';
    *rest += length + ((*rest)[length] == ',');
    return true;
}

/* A list of byte counts; at most `capacity`. Returns how many. */
static int parse_sizes(const char *option, const char *text, long *out, int capacity,
                       struct problem *problem) {
    char piece[MAX_NAME];
    int n = 0;
    while (problem->exit_code == 0 && next_piece(&text, piece, option, problem)) {
        if (n == capacity)
            set_problem(problem, EXIT_INPUT, option, "more than %d sizes", capacity);
        else
            out[n++] = parse_number(option, piece, 0, MAX_MESSAGE_BYTES, problem);
    }
    if (n == 0 && problem->exit_code == 0)
        set_problem(problem, EXIT_INPUT, option, "no size is given");
    return n;
}

static void parse_pair_sizes(const char *option, const char *text, struct group *group,
                             struct problem *problem) {
    int n = parse_sizes(option, text, group->pair_sizes, 2, problem);
    if (problem->exit_code == 0 && n != 2)
        set_problem(problem, EXIT_INPUT, option, "'%.60s': two sizes are expected, SMALL,LARGE",
                    text);
}

static void parse_rails(const char *text, struct options *out, struct problem *problem) {
    out->n_rails = 0;
    char piece[MAX_NAME];
    while (problem->exit_code == 0 && next_piece(&text, piece, "--rails", problem)) {
        if (out->n_rails == MAX_RAILS)
            set_problem(problem, EXIT_INPUT, "--rails", "more than %d devices", MAX_RAILS);
        else
            memcpy(out->rails[out->n_rails++], piece, sizeof piece);
    }
    if (out->n_rails == 0 && problem->exit_code == 0)
        set_problem(problem, EXIT_INPUT, "--rails", "no device is given");
}

/* The index of `text` among n words, or a problem. */
static int parse_word(const char *option, const char *text, const char *const *words, int n,
                      struct problem *problem) {
    for (int i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0) return i;
    set_problem(problem, EXIT_INPUT, option, "'%.60s' is not one of %s, %s%s%s", text, words[0],
                words[1], n > 2 ? ", " : "", n > 2 ? words[2] : "");
    return 0;
}

/* The phases of pairs; they run in the order of their table, however they are listed. */
static unsigned parse_phases(const char *option, const char *text, struct problem *problem) {
    char piece[MAX_NAME];
    unsigned phases = 0;
    while (problem->exit_code == 0 && next_piece(&text, piece, option, problem)) {
        unsigned bit = 1u << parse_word(option, piece, phase_names, N_PHASES, problem);
        if (problem->exit_code == 0 && (phases & bit) != 0)
            set_problem(problem, EXIT_INPUT, option, "'%s' is listed twice", piece);
        phases |= bit;
    }
    if (phases == 0 && problem->exit_code == 0)
        set_problem(problem, EXIT_INPUT, option, "no phase is given");
    return phases;
}

/* 'alltoall,4096,8': the benchmark, its size, the ranks that repeat it; then its service level. */
static void parse_aggressor(const char *text, struct options *out, struct problem *problem) {
    static const char *const option = "--aggressor";
    char name[MAX_NAME], bytes[MAX_NAME], ranks[MAX_NAME], level[MAX_NAME] = "";
    if (out->n_aggressors == MAX_AGGRESSORS) {
        set_problem(problem, EXIT_INPUT, option, "more than %d aggressors", MAX_AGGRESSORS);
        return;
    }
    struct aggressor *one = &out->aggressors[out->n_aggressors++];
    if (!next_piece(&text, name, option, problem) || !next_piece(&text, bytes, option, problem) ||
        !next_piece(&text, ranks, option, problem) ||
        (*text != '\0' && !next_piece(&text, level, option, problem)) || *text != '\0') {
        set_problem(problem, EXIT_INPUT, option, "NAME,BYTES,RANKS[,SL] is expected");
        return;
    }
    one->benchmark = find_aggressor(name);
    if (one->benchmark == NULL)
        set_problem(problem, EXIT_INPUT, option,
                    "no benchmark '%.40s'; there are put_incast, get_broadcast, %s", name,
                    benchmark_names());
    one->bytes = parse_number(option, bytes, 0, MAX_MESSAGE_BYTES, problem);
    one->n_ranks = (int)parse_number(option, ranks, 2, INT_MAX, problem);
    one->service_level = UNSET;
    if (level[0] != '\0') one->service_level = (int)parse_number(option, level, 0, 14, problem);
    if (problem->exit_code == 0 && one->bytes % (long)one->benchmark->element_bytes != 0)
        set_problem(problem, EXIT_INPUT, option, "%ld is not a multiple of %zu, as %s needs",
                    one->bytes, one->benchmark->element_bytes, one->benchmark->name);
}

/* Start a new group from the defaults given before the first one. */
static struct group *open_group(struct options *out, const struct group *defaults,
                                const char *name, struct problem *problem) {
    if (out->n_groups == MAX_GROUPS) {
        set_problem(problem, EXIT_INPUT, "--benchmark", "more than %d benchmarks", MAX_GROUPS);
        return &out->groups[0];
    }
    struct group *group = &out->groups[out->n_groups++];
    *group = *defaults;
    group->benchmark = find_benchmark(name);
    if (group->benchmark == NULL)
        set_problem(problem, EXIT_INPUT, "--benchmark", "no benchmark '%.40s'; there are %s",
                    name, benchmark_names());
    return group;
}

/* An option with a value that belongs to a group. False where `option` is none of them. */
static bool parse_group_option(struct group *group, const char *option, const char *value,
                               struct problem *problem) {
    static const char *const syncs[] = {"barrier", "window"};
    if (strcmp(option, "--sizes") == 0)
        group->n_sizes = parse_sizes(option, value, group->sizes, MAX_SIZES, problem);
    else if (strcmp(option, "--pair-sizes") == 0)
        parse_pair_sizes(option, value, group, problem);
    else if (strcmp(option, "--iterations") == 0)
        group->iterations = (int)parse_number(option, value, 1, MAX_ITERATIONS, problem);
    else if (strcmp(option, "--warmup") == 0)
        group->warmup = (int)parse_number(option, value, 0, MAX_ITERATIONS, problem);
    else if (strcmp(option, "--window") == 0)
        group->window = (int)parse_number(option, value, 1, MAX_WINDOW, problem);
    else if (strcmp(option, "--max-seconds-per-size") == 0)
        group->max_seconds = parse_seconds(option, value, problem);
    else if (strcmp(option, "--sync") == 0)
        group->sync = (enum sync)parse_word(option, value, syncs, 2, problem);
    else if (strcmp(option, "--batch") == 0)
        group->batch = (int)parse_number(option, value, 1, MAX_BATCH, problem);
    else if (strcmp(option, "--buffers") == 0)
        group->buffers = (enum buffers)parse_word(option, value, buffers_names, 3, problem);
    else if (strcmp(option, "--skew") == 0)
        group->skew = parse_share(option, value, problem);
    else if (strcmp(option, "--rings") == 0)
        group->n_rings = (int)parse_number(option, value, 1, MAX_ITERATIONS, problem);
    else if (strcmp(option, "--seed") == 0)
        group->seed = (uint64_t)parse_number(option, value, 0, LONG_MAX, problem);
    else if (strcmp(option, "--rounds-file") == 0)
        group->rounds_file = value;
    else if (strcmp(option, "--phases") == 0)
        group->phases = parse_phases(option, value, problem);
    else
        return false;
    return true;
}

/* An option with a value that belongs to the launch. False where `option` is none of them. */
static bool parse_launch_option(struct options *out, const char *option, const char *value,
                                struct problem *problem) {
    static const char *const memories[] = {"host", "cuda", "rocm"};
    if (strcmp(option, "--rails") == 0)
        parse_rails(value, out, problem);
    else if (strcmp(option, "--memory") == 0)
        out->memory = (enum memory)parse_word(option, value, memories, 3, problem);
    else if (strcmp(option, "--aggressor") == 0)
        parse_aggressor(value, out, problem);
    else if (strcmp(option, "--quiet") == 0)
        out->quiet_seconds = parse_seconds(option, value, problem);
    else
        return false;
    return true;
}

/* A group may have left its sizes open: powers of two up to 4 MiB, as OSU does. */
static void default_sizes(struct group *group) {
    if (group->n_sizes > 0) return;
    if (!group->benchmark->has_sizes) {
        group->sizes[group->n_sizes++] = 0;
        return;
    }
    long size = (long)group->benchmark->element_bytes;
    for (; size <= 4L << 20; size *= 2) group->sizes[group->n_sizes++] = size;
}

/* What can only be judged once the whole group is known. */
static void check_group(struct group *group, struct problem *problem) {
    const struct benchmark *benchmark = group->benchmark;
    bool sized = group->n_sizes > 0 && !(group->n_sizes == 1 && group->sizes[0] == 0);
    if (!benchmark->has_sizes && sized)
        set_problem(problem, EXIT_INPUT, "--sizes", "%s has no --sizes%s", benchmark->name,
                    benchmark->loop == PAIRS ? " (use --pair-sizes)" : "");
    for (int i = 0; i < group->n_sizes; i++)
        if (group->sizes[i] % (long)benchmark->element_bytes != 0)
            set_problem(problem, EXIT_INPUT, "--sizes", "%ld is not a multiple of %zu, as %s needs",
                        group->sizes[i], benchmark->element_bytes, benchmark->name);
    if (group->phases != 0 && benchmark->loop != PAIRS)
        set_problem(problem, EXIT_INPUT, "--phases", "only pairs has phases, not %s",
                    benchmark->name);
    if (group->rounds_file != NULL && benchmark->loop != PAIRS)
        set_problem(problem, EXIT_INPUT, "--rounds-file", "only pairs has rounds, not %s",
                    benchmark->name);
    if (group->buffers != BUFFERS_TWO && benchmark != &latency)
        set_problem(problem, EXIT_INPUT, "--buffers", "only latency has a choice, not %s",
                    benchmark->name);
    if (group->batch > 1 && benchmark != &latency)
        set_problem(problem, EXIT_INPUT, "--batch", "only latency has batches, not %s",
                    benchmark->name);
    if (group->buffers == BUFFERS_UNTOUCHED && group->validate)
        set_problem(problem, EXIT_INPUT, "--buffers", "validation writes the send buffer");
    if (group->sync == SYNC_WINDOW && (benchmark->loop != SYNCHRONISED || benchmark->turn != NULL))
        set_problem(problem, EXIT_INPUT, "--sync",
                    "%s does not start from a common point; window is for collectives",
                    benchmark->name);
    if (group->closing_barrier && benchmark != &random_ring_bandwidth &&
        benchmark != &natural_ring_bandwidth)
        set_problem(problem, EXIT_INPUT, "--closing-barrier",
                    "only rings of bandwidth end in one, not %s", benchmark->name);
    if (group->skew > 0 && benchmark != &alltoallv)
        set_problem(problem, EXIT_INPUT, "--skew", "only blocks of alltoallv differ, not of %s",
                    benchmark->name);
    default_sizes(group);
}

/* Parse one argument at argv[*at]; move *at past it and its value. */
static void parse_one(int argc, char **argv, int *at, struct options *out, struct group *defaults,
                      struct group **group, struct problem *problem) {
    const char *option = argv[(*at)++];
    if (strcmp(option, "--help") == 0) {
        out->help = true;
        return;
    }
    if (strcmp(option, "--validate") == 0) {
        (*group)->validate = true;
        return;
    }
    if (strcmp(option, "--closing-barrier") == 0) {
        (*group)->closing_barrier = true;
        return;
    }
    const char *value = *at < argc ? argv[(*at)++] : NULL;
    if (value == NULL)
        set_problem(problem, EXIT_INPUT, "arguments", "'%.60s' is unknown or lacks its value",
                    option);
    else if (strcmp(option, "--benchmark") == 0)
        *group = open_group(out, defaults, value, problem);
    else if (!parse_launch_option(out, option, value, problem) &&
             !parse_group_option(*group, option, value, problem))
        set_problem(problem, EXIT_INPUT, "arguments", "there is no option '%.60s'", option);
}

/* The whole command line. The first problem found is returned; exit_code 0 means all is well. */
struct problem parse_options(int argc, char **argv, struct options *out) {
    struct problem problem = {0};
    struct group defaults = {.pair_sizes = {8, 1 << 20},
                             .iterations = UNSET, .warmup = UNSET, .window = UNSET, .batch = 1,
                             .n_rings = 30, .seed = 1};
    struct group *group = &defaults;
    *out = (struct options){0};
    for (int at = 1; at < argc && problem.exit_code == 0;)
        parse_one(argc, argv, &at, out, &defaults, &group, &problem);
    if (problem.exit_code == 0 && out->n_groups == 0 && !out->help)
        set_problem(&problem, EXIT_INPUT, "arguments", "no --benchmark is given; there are %s",
                    benchmark_names());
    for (int i = 0; i < out->n_groups && problem.exit_code == 0; i++)
        check_group(&out->groups[i], &problem);
    return problem;
}

/* weft.h -- the header of weft-kernel, the MPI program that runs on compute nodes.
 *
 * The program reads its command line, measures, and writes JSON Lines to standard output
 * (docs/reference/kernel_output.md). Reading order of the sources:
 *
 *   main.c        the whole run on one screen
 *   options.c     command line -> struct options
 *   rail.c        before MPI_Init: choose a device, bind to its NUMA node, choose a service level
 *   world.c       my rank, the ranks of my host, whether ranks outnumber CPUs
 *   cpus.c        the CPUs of a rank, their memory, and the ranks that share them
 *   measure.c     warm up, time, validate: one (benchmark, size)
 *   latency.c bandwidth.c fan.c ring.c    one iteration, point to point
 *   barrier.c allreduce.c reduce.c broadcast.c allgather.c alltoall.c alltoallv.c gather.c    all
 *   pairs.c       all pairs of ranks, round by round, inside one launch; rounds.c the schedule
 *   sleep_wait.c  waiting without taking a CPU
 *   header.c      records of the launch; records.c of a measurement; json.c their format
 *   clock.c       time, and clock offsets between hosts
 *   buffers.c     host or GPU buffers; memory_check.c whether they fit; random.c hashes, orders
 *   pattern.c     contents of messages, and their check; exact_sums.c the same for sums
 *   aggressor.c   other jobs, which send meanwhile; one_sided.c two of their patterns
 *   device.c      counters of network devices; background_traffic.c traffic of other jobs
 *   transport.c   the MPI library's transport; errors.c every way this program ends early
 *
 * Test hooks, for the tests of whoever reads this program's output; only by environment:
 *   WEFT_TEST_CRASH_RANK=r   rank r dies of SIGSEGV between warm-up and first timed iteration
 *   WEFT_TEST_HANG_RANK=r    rank r stops there for ever
 *   WEFT_TEST_GARBAGE=1      rank 0 writes lines that are not records between the records
 *   WEFT_TEST_CORRUPT=1      one received byte is flipped in the first validated iteration
 *   WEFT_SYSFS=DIR           read DIR instead of /sys
 */
#ifndef WEFT_H
#define WEFT_H

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INVARIANT: our short names never override a symbol of the same name in a loaded library. */
#pragma GCC visibility push(hidden)

enum { EXIT_INPUT = 2, EXIT_MISSING = 3, EXIT_BENCHMARK = 4 };
enum { MAX_GROUPS = 32, MAX_SIZES = 128, MAX_RAILS = 64, N_RAIL_VARIABLES = 8 };
enum { MAX_NAME = 64, MAX_LIST = 384, MAX_AGGRESSORS = 8 };

/* ---- errors.c: every way this program ends early ----------------------------------------- */

/* A fault that the user must repair. exit_code 0 means that there is none. */
struct problem {
    int exit_code;
    char where[MAX_NAME];
    char message[MAX_LIST];
};

/* Every MPI call goes through CHECK: a failure names function, rank and host, then aborts. */
#define CHECK(call) check_mpi((call), #call)

void check_mpi(int code, const char *call);
void set_problem(struct problem *problem, int exit_code, const char *where, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
_Noreturn void fail(const char *where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int agree(const struct problem *mine);
void set_error_place(int rank, const char *host);
void *allocate(size_t n, size_t bytes_each);

/* ---- options.c: the command line --------------------------------------------------------- */

enum sync { SYNC_BARRIER, SYNC_WINDOW };

/* The buffer that `latency` sends. TWO buffers, as OSU: the receiver reads lines again that it has
 * in its own cache. ONE buffer, as NetPIPE: a message is sent from where it arrived, so every line
 * crosses. UNTOUCHED, as HPCC: the send buffer was never written, so the operating system gives one
 * page of zeros for all of it. Messages above the eager limit feel the difference. */
enum buffers { BUFFERS_TWO, BUFFERS_ONE, BUFFERS_UNTOUCHED };
extern const char *const buffers_names[];
enum memory { MEMORY_HOST, MEMORY_CUDA, MEMORY_ROCM };

/* One `--benchmark` and its options. Numbers are UNSET where the benchmark's own default holds. */
enum { UNSET = -1, MIN_ITERATIONS = 5 }; /* of a series, whatever its time limit */
enum { WHOLE_SKEW = 1 << 20 };
struct group {
    const struct benchmark *benchmark;
    long sizes[MAX_SIZES];
    int n_sizes;
    long pair_sizes[2]; /* small (latency), large (bandwidth) */
    int iterations, warmup, window;
    int batch; /* latency: round trips a clock reading */
    double max_seconds; /* 0: no limit */
    bool validate, closing_barrier; /* of rings: a barrier ends each iteration */
    int skew;       /* alltoallv: how unequal blocks are, in parts of WHOLE_SKEW */
    int n_rings;    /* random rings: at most, in one series */
    uint64_t seed;  /* random rings: ring k is drawn from seed + k */
    enum buffers buffers;
    enum sync sync;
    const char *rounds_file;
    unsigned phases; /* pairs: a bit for each of phase_names; 0: the default */
};

/* One `--aggressor`: what the ranks of another job repeat. */
struct aggressor {
    const struct benchmark *benchmark;
    long bytes;
    int n_ranks;
    int service_level; /* UNSET: as the launch's */
};

struct options {
    struct group groups[MAX_GROUPS];
    int n_groups;
    struct aggressor aggressors[MAX_AGGRESSORS];
    int n_aggressors;
    char rails[MAX_RAILS][MAX_NAME];
    int n_rails;
    enum memory memory;
    double quiet_seconds; /* 0: the network is not watched before the first benchmark */
    bool help;
};

struct problem parse_options(int argc, char **argv, struct options *out);
const char *usage(void);

/* ---- rail.c: before MPI_Init ------------------------------------------------------------- */

struct rail {
    int local_rank, rank, n_ranks; /* from the launcher, UNSET without it */
    char device[MAX_NAME]; /* "" where no rail was asked for */
    int numa_node;         /* of the device, UNSET where unknown */
};

/* The variables that tell an MPI library its device or transport; ends in NULL. */
extern const char *const rail_variables[];
int device_numa_node(const char *device);
struct problem choose_rail(const struct options *options, struct rail *out);
struct problem choose_level(const struct options *options, struct rail *out);
const char *sysfs_root(void);
bool read_text(const char *path, char *out, size_t capacity);
const char *environment(const char *name);

/* ---- world.c, cpus.c: ranks, hosts, CPUs ------------------------------------------------- */

struct world {
    int rank, n_ranks, local_rank, tasks_per_node;
    int n_measuring; /* the first ranks; the others are aggressors' */
    int aggressor;   /* mine, UNSET for a rank that measures */
    MPI_Comm job;    /* the ranks that measure, or those of my aggressor */
    char host[MAX_NAME];
    MPI_Comm node; /* the ranks of this host */
    bool oversubscribed;
    int n_sharing_cpus; /* ranks of my machine that may use no CPU but mine, with me */
    int n_machines;     /* running kernels; several containers are one */
    int machine, n_ranks_here, n_cpus_here; /* mine, by its lowest rank; its ranks, their CPUs */
    bool common_clock; /* every rank reads the same clock (all on one running kernel) */
};

/* The contents of a `rank` record. */
struct rank_facts {
    int rank, local_rank, tasks_per_node, cpu, n_cpus, n_sharing_cpus, n_machine_cpus;
    long pid;
    bool oversubscribed;
    char host[MAX_NAME], rail[MAX_NAME], cpus[MAX_LIST];
    char numa_nodes[MAX_LIST], cpu_numa_nodes[MAX_LIST];
    char settings[N_RAIL_VARIABLES][MAX_NAME]; /* values of rail_variables, "" where not set */
};

void open_world(struct world *world);
void close_world(struct world *world);
struct problem check_level(const struct rail *rail, const struct world *world);
void rank_facts(const struct world *world, const struct rail *rail, struct rank_facts *out);
int *host_leaders(const struct world *world, int *n);
enum { LONGEST_SLEEP_NS = 1000000 };
void sleep_until_complete(MPI_Request *request, int64_t longest_ns);
void sleeping_barrier(MPI_Comm comm);
void parse_cpus(const char *list, cpu_set_t *out);
void my_cpus(cpu_set_t *out);
void cpu_numa_nodes(char *out, size_t capacity);
int ranks_within_my_cpus(MPI_Comm machine);

/* ---- clock.c: time ----------------------------------------------------------------------- */

/* Offset of the root's clock minus mine, in nanoseconds, measured at two local times. */
struct clock_map {
    int64_t at_ns[2], offset_ns[2];
};

int64_t now_ns(void);
int64_t unix_ns(void);
int64_t clock_resolution_ns(void);
int64_t clock_cost_ns(void);
bool same_clock_everywhere(MPI_Comm comm);
void sync_clock(MPI_Comm comm, bool common_clock, struct clock_map *map, int which);
int64_t to_root_clock(const struct clock_map *map, int64_t local_ns);
int64_t from_root_clock(const struct clock_map *map, int64_t root_ns);

/* ---- buffers.c, memory_check.c, pattern.c: buffers, their size, their contents ------------ */

/* Memory a message is sent from or received into. `host` is where this program may touch its
 * contents: the same place for host memory, a staging copy for GPU memory. */
struct buffer {
    void *at;
    unsigned char *host;
    size_t bytes;
    enum memory memory;
};

struct problem open_memory(enum memory memory, int local_rank);
struct problem check_memory(const struct world *world, const struct options *options);
struct buffer open_buffer(enum memory memory, size_t bytes, bool touch);
void close_buffer(struct buffer *buffer);
void publish_buffer(const struct buffer *buffer, size_t bytes);
void fetch_buffer(const struct buffer *buffer, size_t bytes);

void fill_pattern(unsigned char *at, size_t bytes, int source, int iteration);
long wrong_bytes(const unsigned char *at, size_t bytes, int source, int iteration);

/* ---- random.c: deterministic variety ----------------------------------------------------- */

uint64_t mixed(uint64_t key);
void shuffle(int *order, int n, uint64_t seed);

/* ---- benchmarks -------------------------------------------------------------------------- */

/* How the timed loop runs. BACK_TO_BACK: rank 0 of two times iteration after iteration, no
 * barrier inside. SYNCHRONISED: every iteration starts from a barrier, which is not timed.
 * PAIRS: rounds of pairs, see pairs.c. */
enum loop { BACK_TO_BACK, SYNCHRONISED, PAIRS };

/* The ranks that take part, and the clock that counts. TWO_RANKS: ranks 0 and n/2; the one that
 * leads. HALVES:
 * the pairs (i, i + n/2); every one that leads. FAN: one rank against all others; that one. RING,
 * EVERYONE: all ranks and all clocks; a ring needs two. */
enum parties { TWO_RANKS, HALVES, FAN, RING, EVERYONE };

/* Block sizes and where blocks begin, of each rank, in elements. */
struct blocks {
    int *counts, *starts;
};

/* The present ring: its number among those drawn, and my neighbours. */
struct ring {
    int *order; /* of the ranks */
    int left, right, number;
    int most; /* rings in one series */
    uint64_t seed;
};

/* Bytes of the two buffers. */
struct extent {
    size_t send, receive;
};

/* One benchmark at one size, as one rank sees it. */
struct job {
    MPI_Comm comm; /* the ranks that take part; rank 0 of it is rank 0 of the world */
    int rank, n_ranks;
    int peer;    /* point to point: my partner in comm */
    bool leads;  /* point to point: I send first, and my clock counts */
    bool bounces; /* latency: one buffer, whose message the partner sends back */
    bool yields; /* more ranks than CPUs: give the CPU away while waiting */
    size_t bytes;
    int window;
    int batch; /* back to back: calls a clock reading */
    bool closing_barrier; /* rings: a barrier ends an iteration */
    int skew;  /* alltoallv, in parts of WHOLE_SKEW */
    struct buffer send, receive;
    struct blocks sent, received; /* alltoallv, reduce_scatter */
    struct ring ring;
    MPI_Win window_of_root; /* one-sided: the receive buffer of rank 0; else MPI_WIN_NULL */
    MPI_Request *requests; /* 2 x window, or n_requests of the benchmark */
};

struct counts {
    int iterations, warmup;
};

/* A benchmark fills this struct and is listed in benchmark.c. `once` is timed. */
struct benchmark {
    const char *name;
    enum loop loop;
    enum parties parties;
    bool has_sizes;
    bool has_window;
    bool root_receives;   /* only rank 0 has contents to check */
    size_t element_bytes; /* sizes are multiples of it */
    struct counts small;  /* up to SMALL_MESSAGE bytes */
    struct counts large;
    int default_window;
    struct extent (*extent)(const struct job *job, size_t bytes);
    size_t (*n_requests)(const struct job *job);     /* NULL: two a message of the window */
    void (*prepare)(struct job *job);                /* NULL: nothing to do for a new size */
    void (*turn)(struct job *job, int iteration, int n_iterations); /* untimed, before each one */
    void (*once)(const struct job *job);
    void (*fill)(const struct job *job, int iteration);    /* my messages, in host memory */
    long (*n_wrong)(const struct job *job, int iteration); /* of the received ones, there */
};

enum { SMALL_MESSAGE = 8192, ROOT = 0 };

/* SOURCE: OSU Micro-Benchmarks 7.4, defaults of its collectives and of its windows of messages. */
#define COLLECTIVE(bytes_an_element) \
    .loop = SYNCHRONISED, .parties = EVERYONE, .has_sizes = true, \
    .element_bytes = (bytes_an_element), .small = {1000, 100}, .large = {100, 10}
#define WINDOWS_OF_64 \
    .has_sizes = true, .has_window = true, .element_bytes = 1, .small = {100, 10}, \
    .large = {20, 2}, .default_window = 64

extern const struct benchmark latency, bandwidth, bidirectional, message_rate, fan_in, fan_out;
extern const struct benchmark random_ring_latency, random_ring_bandwidth, natural_ring_bandwidth;
extern const struct benchmark barrier, allreduce, reduce, reduce_scatter, broadcast, allgather;
extern const struct benchmark alltoall, alltoallv, gather, scatter, pairs;
extern const struct benchmark put_incast, get_broadcast; /* of aggressors only */
const struct benchmark *find_benchmark(const char *name);
const struct benchmark *find_aggressor(const char *name);
const char *benchmark_names(void);
struct counts default_counts(const struct benchmark *benchmark, size_t bytes);

/* latency.c, bandwidth.c: functions that point-to-point benchmarks share. */
enum { TAG_WINDOW = 2, TAG_ACK = 3, ACK_BYTES = 1 };
void message_fill(const struct job *job, int iteration);
long message_n_wrong(const struct job *job, int iteration);
void send_bytes(const struct job *job, size_t bytes, int tag);
void receive_bytes(const struct job *job, size_t bytes, int tag);
void send_window(const struct job *job);
void receive_window(const struct job *job);
void wait_all(const struct job *job, int n, MPI_Request *requests);
struct extent message_extent(const struct job *job, size_t bytes);

/* pattern.c: messages of ranks and blocks of them. exact_sums.c: vectors with an exact sum. */
int source_of(const struct job *job, int from, int to);
void fill_own(const struct job *job, int iteration);
void fill_blocks(const struct job *job, int iteration);
long wrong_blocks(const struct job *job, int first, int iteration);
long wrong_from_root(const struct job *job, int iteration);
void fill_terms(const struct job *job, int iteration);
long wrong_sums(const struct job *job, size_t first, size_t n, int iteration);

/* ---- rounds.c, pairs.c ------------------------------------------------------------------- */

struct pair {
    int a, b;
};

/* Rounds of disjoint pairs: the circle method over n_ranks, or as listed in a file. */
struct schedule {
    int n_ranks, n_rounds;
    struct pair *listed; /* NULL: circle method */
    int *first;          /* listed: first[r] .. first[r + 1] are the pairs of round r */
};

enum { N_PHASES = 3 };
extern const char *const phase_names[N_PHASES];
struct problem open_schedule(const char *path, const struct world *world, struct schedule *out);
void close_schedule(struct schedule *schedule);
int pairs_of_round(const struct schedule *schedule, int round, struct pair *out);
void run_pairs(const struct world *world, const struct group *group, enum memory memory,
               const struct schedule *schedule);

/* ---- measure.c --------------------------------------------------------------------------- */

/* The timed iterations of one rank. starts_ns is NULL where no start is common to the ranks. */
struct series {
    struct counts counts;
    int64_t *times_ns, *starts_ns;
    signed char *late; /* window sync: 1 where this rank could not start in time, else NULL */
    int n_validated;   /* iterations of the validating pass */
    long n_wrong;
    struct clock_map clock;
};

int rank_in_world(void);
bool takes_part(const struct benchmark *benchmark, int rank, int n_ranks);
void set_place(struct job *job, const struct group *group);
size_t request_count(const struct job *job, const struct benchmark *benchmark);
bool open_job(const struct world *world, const struct group *group, enum memory memory,
              struct job *job);
void close_job(struct job *job);
void run_group(const struct world *world, const struct group *group, enum memory memory);
int64_t typical_ns(const struct job *job, void (*once)(const struct job *));
struct counts affordable(struct counts counts, double max_seconds, int64_t once_ns);
void time_back_to_back(const struct job *job, void (*once)(const struct job *), int n,
                       int64_t *times_ns);
long validate(struct job *job, const struct benchmark *benchmark, int n_iterations);
void test_hook(void);

/* ---- aggressor.c ------------------------------------------------------------------------- */

void open_jobs(const struct options *options, struct world *world);
const struct group *my_group(const struct options *options, const struct world *world,
                             const struct group *group, struct group *own);
void open_aggressors(const struct options *options, const struct world *world,
                     const struct group *group);
void close_aggressors(const struct options *options, const struct world *world,
                      const struct group *group);

#include "records.h"

#pragma GCC visibility pop
#endif

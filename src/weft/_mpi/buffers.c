/* buffers.c -- message buffers in host or GPU memory.
 *
 * The GPU runtime is loaded when it is asked for and never linked: one binary serves nodes with
 * and without GPUs. CUDA and HIP give these calls the same shape and the same numbers. */
#include "weft.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SOURCE: cudaMemcpyKind and hipMemcpyKind: 1 host to device, 2 device to host. */
enum { TO_DEVICE = 1, TO_HOST = 2, PAGE_BYTES = 4096 };

/* The calls of libcudart or libamdhip64; each returns 0 for success. */
static struct {
    int (*count)(int *);
    int (*choose)(int);
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*copy)(void *, const void *, size_t, int);
} gpu;

static const struct {
    const char *library[3];
    const char *prefix;
} runtimes[] = {
    [MEMORY_CUDA] = {{"libcudart.so", "libcudart.so.12", "libcudart.so.11.0"}, "cuda"},
    [MEMORY_ROCM] = {{"libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.5"}, "hip"},
};

/* Resolve prefix + name into *slot (a function pointer, written through memcpy because ISO C has
 * no cast for it). */
static bool resolve(void *library, const char *prefix, const char *name, void *slot) {
    char symbol[MAX_NAME];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

/* The runtime's calls, or false where the library or one of them is missing. */
static bool load_runtime(enum memory memory) {
    void *library = NULL;
    const char *prefix = runtimes[memory].prefix;
    for (int i = 0; library == NULL && i < 3; i++)
        library = dlopen(runtimes[memory].library[i], RTLD_NOW | RTLD_GLOBAL);
    return library != NULL && resolve(library, prefix, "GetDeviceCount", &gpu.count) &&
           resolve(library, prefix, "SetDevice", &gpu.choose) &&
           resolve(library, prefix, "Malloc", &gpu.allocate) &&
           resolve(library, prefix, "Free", &gpu.release) &&
           resolve(library, prefix, "Memcpy", &gpu.copy);
}

/* False where the MPI library itself reports that it takes no GPU pointers. A library without
 * such a call counts as true. SOURCE: MPIX_Query_cuda_support of Open MPI and MPICH; for AMD GPUs
 * MPIX_Query_rocm_support of Open MPI, MPIX_Query_hip_support of MPICH. */
static bool mpi_accepts_gpu_pointers(enum memory memory) {
    static const char *const names[][2] = {
        [MEMORY_CUDA] = {"Query_cuda_support", "Query_cuda_support"},
        [MEMORY_ROCM] = {"Query_rocm_support", "Query_hip_support"},
    };
    int (*query)(void) = NULL;
    for (int i = 0; i < 2; i++)
        if (resolve(RTLD_DEFAULT, "MPIX_", names[memory][i], &query)) return query() != 0;
    return true;
}

/* Get ready for `memory`: load the runtime, choose the GPU by local rank. Host memory needs
 * nothing. The problem is this rank's own; the caller agrees on it. */
struct problem open_memory(enum memory memory, int local_rank) {
    struct problem problem = {0};
    int n_devices = 0;
    if (memory == MEMORY_HOST) return problem;
    const char *library = runtimes[memory].library[0];
    if (!load_runtime(memory))
        set_problem(&problem, EXIT_MISSING, "--memory",
                    "the GPU runtime %s cannot be loaded on this host", library);
    else if (gpu.count(&n_devices) != 0 || n_devices == 0)
        set_problem(&problem, EXIT_MISSING, "--memory", "%s finds no GPU on this host", library);
    else if (gpu.choose(local_rank % n_devices) != 0)
        set_problem(&problem, EXIT_MISSING, "--memory", "%s cannot use GPU %d", library,
                    local_rank % n_devices);
    else if (!mpi_accepts_gpu_pointers(memory))
        set_problem(&problem, EXIT_MISSING, "--memory",
                    "this MPI library reports that it cannot send GPU memory");
    return problem;
}

/* A buffer of that size on page bounds; with `touch`, every page of it is written from the CPU it
 * will be used on, so that it has memory of its own. */
struct buffer open_buffer(enum memory memory, size_t bytes, bool touch) {
    struct buffer buffer = {.bytes = bytes, .memory = memory};
    void *host = NULL;
    size_t size = bytes == 0 ? 1 : bytes;
    if (posix_memalign(&host, PAGE_BYTES, size) != 0)
        fail("memory", "a message buffer of %zu bytes cannot be allocated", bytes);
    if (touch) memset(host, 1, size);
    buffer.host = host;
    buffer.at = host;
    if (memory != MEMORY_HOST && gpu.allocate(&buffer.at, size) != 0)
        fail("memory", "a message buffer of %zu bytes cannot be allocated on the GPU",
             bytes);
    if (touch) publish_buffer(&buffer, bytes);
    return buffer;
}

void close_buffer(struct buffer *buffer) {
    if (buffer->memory != MEMORY_HOST) gpu.release(buffer->at);
    free(buffer->host);
    *buffer = (struct buffer){0};
}

/* Copy `host` into the buffer. */
void publish_buffer(const struct buffer *buffer, size_t bytes) {
    if (buffer->memory == MEMORY_HOST || bytes == 0) return;
    if (gpu.copy(buffer->at, buffer->host, bytes, TO_DEVICE) != 0)
        fail("memory", "copying %zu bytes to the GPU failed", bytes);
}

/* Copy the buffer to `host`. */
void fetch_buffer(const struct buffer *buffer, size_t bytes) {
    if (buffer->memory == MEMORY_HOST || bytes == 0) return;
    if (gpu.copy(buffer->host, buffer->at, bytes, TO_HOST) != 0)
        fail("memory", "copying %zu bytes from the GPU failed", bytes);
}

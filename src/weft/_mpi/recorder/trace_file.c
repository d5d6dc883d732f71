/* trace_file.c -- the file of this rank.
 *
 * It is mapped memory, so what was written is in the file even if the program crashes. A part that
 * was not reached is zeros, and 0 is no call: a reader knows where a cut trace ends. */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW = 1 << 22 }; /* bytes mapped at a time; a multiple of every page size */

static int file = -1;
static unsigned char *window;
static size_t window_start, window_bytes;
unsigned char *next_byte, *last_byte;

/* Maps the part of the file from the page of `offset` on, at least `bytes` of it. */
static bool map_from(size_t offset, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = offset / page * page;
    size_t length = WINDOW + (bytes + page) / page * page;
    if (window != NULL)
        munmap(window, window_bytes);
    window = next_byte = NULL;
    /* Blocks are reserved: a full disk is an error here, not a SIGBUS in the program. */
    int error = posix_fallocate(file, (off_t)start, (off_t)length);
    if (error != 0) {
        errno = error;
        return false;
    }
    void *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)start);
    if (mapped == MAP_FAILED)
        return false;
    window = mapped;
    window_start = start;
    window_bytes = length;
    next_byte = window + (offset - start);
    last_byte = window + length;
    return true;
}

bool open_trace(const char *header)
{
    const char *folder = getenv("WEFT_RECORD_DIR");
    char path[4096];
    if (folder == NULL)
        return false;
    int n = snprintf(path, sizeof path, "%s/rank-%05d.trace", folder, recorder.rank);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    size_t length = strlen(header);
    if (file < 0 || !map_from(0, length)) {
        stop_recording(strerror(errno));
        return false;
    }
    memcpy(window, header, length);
    next_byte = window + length;
    return true;
}

/* Cuts the file behind what was written. */
void close_trace(void)
{
    if (file < 0)
        return;
    if (window != NULL) {
        size_t length = window_start + (size_t)(next_byte - window);
        munmap(window, window_bytes);
        /* One that stays longer ends in zeros, as that of a crash. */
        if (ftruncate(file, (off_t)length) != 0)
            fprintf(stderr, "weft record: rank %d: %s\n", recorder.rank, strerror(errno));
    }
    close(file);
    window = next_byte = NULL;
    file = -1;
}

bool make_room(size_t bytes)
{
    if (window == NULL)
        return false;
    if (!map_from(window_start + (size_t)(next_byte - window), bytes)) {
        stop_recording(strerror(errno));
        return false;
    }
    return true;
}

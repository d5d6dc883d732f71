/* clock.c -- ticks: the processor's counter where it has one rate, else the system's clock. */
#include "recorder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool clock_is_counter;

uint64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reading the counter takes a third of the time of reading the clock. It counts evenly, also in
 * deep sleep, where the processor has both flags. */
void choose_clock(void)
{
    clock_is_counter = false;
#ifdef __x86_64__
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return;
    char line[8192];
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "flags", 5) != 0)
            continue;
        clock_is_counter =
            strstr(line, " constant_tsc") != NULL && strstr(line, " nonstop_tsc") != NULL;
        break;
    }
    fclose(file);
#endif
}

/* pattern.c -- what messages hold, so that a wrong byte shows.
 *
 * The byte depends on source, iteration and offset: a message from the wrong rank, one of an
 * earlier iteration, and one shifted or cut all differ from what is expected. */
#include "weft.h"

/* The byte at `offset`. The multipliers are odd, so neighbours always differ; the high part of
 * the offset is mixed in, so that a shift by 256 shows as well. */
static unsigned char pattern_byte(size_t offset, int source, int iteration) {
    size_t mixed = offset * 7 + (offset >> 8) * 13 + (size_t)source * 131 + (size_t)iteration * 31;
    return (unsigned char)(mixed ^ (mixed >> 8));
}

/* Write the message of `source` in `iteration`. */
void fill_pattern(unsigned char *at, size_t bytes, int source, int iteration) {
    for (size_t i = 0; i < bytes; i++) at[i] = pattern_byte(i, source, iteration);
}

/* How many bytes differ from that message. */
long wrong_bytes(const unsigned char *at, size_t bytes, int source, int iteration) {
    long n = 0;
    for (size_t i = 0; i < bytes; i++) n += at[i] != pattern_byte(i, source, iteration);
    return n;
}

/* pattern.c -- the contents of messages, in which a wrong byte shows.
 *
 * The byte depends on source, iteration and offset: a message from the wrong rank, one of an
 * earlier iteration, and one shifted or cut all differ from the expected one. */
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

/* A block for one rank alone is known by who sends it to whom. */
int source_of(const struct job *job, int from, int to) { return from * job->n_ranks + to; }

/* Write my message, the same for whoever gets it. */
void fill_own(const struct job *job, int iteration) {
    fill_pattern(job->send.host, job->bytes, job->rank, iteration);
}

/* Write a block for each rank, one behind the other. */
void fill_blocks(const struct job *job, int iteration) {
    for (int to = 0; to < job->n_ranks; to++)
        fill_pattern(job->send.host + (size_t)to * job->bytes, job->bytes,
                     source_of(job, job->rank, to), iteration);
}

/* Wrong bytes in the messages of rank `first` and all behind it, received one behind the other. */
long wrong_blocks(const struct job *job, int first, int iteration) {
    const unsigned char *at = job->receive.host;
    long n = 0;
    for (int from = first; from < job->n_ranks; from++, at += job->bytes)
        n += wrong_bytes(at, job->bytes, from, iteration);
    return n;
}

/* Wrong bytes in the root's message, which everybody else received. */
long wrong_from_root(const struct job *job, int iteration) {
    return job->rank == ROOT ? 0 : wrong_bytes(job->receive.host, job->bytes, ROOT, iteration);
}

/* records.h -- records, and the counters and transports of some of them; part of weft.h. */
#ifndef WEFT_RECORDS_H
#define WEFT_RECORDS_H

/* ---- records.c, json.c: records -------------------------------------------------------------- */

void write_header(const struct world *world, const struct options *options, int argc, char **argv,
                  int64_t started_unix_ns);
void write_ranks(const struct world *world, const struct rank_facts *mine);
void write_row(const struct job *job, const struct benchmark *benchmark, const struct group *group,
               const struct series *series);
void write_end(int64_t elapsed_ns);
int64_t quantile(const int64_t *sorted, int n, double q);
int by_value(const void *left, const void *right);

void json_open(const char *record);
void json_close(void);
void json_int(const char *key, int64_t value);
void json_decimal(const char *key, double value);
void json_text(const char *key, const char *value); /* NULL is null */
void json_bool(const char *key, bool value);
void json_null(const char *key);
void json_ints(const char *key, const int64_t *values, int n);
void json_begin(const char *key, char bracket); /* '{' or '['; key NULL inside a list */
void json_finish(char bracket);

/* ---- device.c, background_traffic.c, transport.c: the carrier of the bytes --------------- */

/* The counters of one host, read by its local rank 0, and the time between the two readings. */
struct counters {
    int n;
    int64_t elapsed_ns;
    struct counter *of;
};

void read_counters(const struct world *world, struct counters *out, bool before);
void write_counters(const struct world *world, const struct counters *counters, bool quiet);
void record_background_traffic(const struct world *world, double seconds);
void write_transports(const struct world *world);

#endif

/* json.c -- writes one JSON object a line to standard output. Rank 0 only.
 *
 * A record is json_open, any number of json_<type>, json_close. Nesting is json_begin/json_finish.
 * This file does not know the meaning of a record. */
#include "weft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool needs_comma;

/* A string literal. Bytes above 0x7e become \u00xx: the line is valid whatever the bytes were. */
static void put_string(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20 || *c > 0x7e)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

/* A comma where one is due, then `"key":` unless key is NULL (an element of a list). */
static void json_key(const char *key) {
    if (needs_comma) putchar(',');
    needs_comma = true;
    if (key == NULL) return;
    put_string(key);
    putchar(':');
}

/* Begin the record of that kind. */
void json_open(const char *record) {
    putchar('{');
    needs_comma = false;
    json_text("record", record);
}

/* End the record; it reaches the reader now, so that a killed run keeps its measurements. */
void json_close(void) {
    static const char garbage[] = "libnl-3.so.200: no version information available\n"
                                  "{\"record\":\"row\",\"benchm\n"
                                  "[1,2,3]\n\xff\xfe not text\n";
    fputs("}\n", stdout);
    if (strcmp(environment("WEFT_TEST_GARBAGE"), "1") == 0) fputs(garbage, stdout);
    if (fflush(stdout) != 0) fail("stdout", "the reader of the records has ended");
}

void json_int(const char *key, int64_t value) {
    json_key(key);
    printf("%" PRId64, value);
}

/* A decimal with one place: a mean of integer nanoseconds. */
void json_decimal(const char *key, double value) {
    json_key(key);
    printf("%.1f", value);
}

void json_text(const char *key, const char *value) {
    if (value == NULL) {
        json_null(key);
        return;
    }
    json_key(key);
    put_string(value);
}

void json_bool(const char *key, bool value) {
    json_key(key);
    fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key) {
    json_key(key);
    fputs("null", stdout);
}

void json_ints(const char *key, const int64_t *values, int n) {
    json_begin(key, '[');
    for (int i = 0; i < n; i++) json_int(NULL, values[i]);
    json_finish(']');
}

/* Open a nested object or list. */
void json_begin(const char *key, char bracket) {
    json_key(key);
    putchar(bracket);
    needs_comma = false;
}

/* Close it with the matching bracket. */
void json_finish(char bracket) {
    putchar(bracket);
    needs_comma = true;
}

/* sent_bytes.c -- loaded before MPICH on UCX (LD_PRELOAD), prints on rank 0 "sent BYTES" for each
 * message that MPICH hands to UCX. Their number and their sizes tell the algorithms apart: of n
 * bytes on 4 ranks a ring sends 6 times n / 4, recursive doubling 2 times n.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *Send(void *, const void *, size_t, uint64_t, const void *);

Send ucp_tag_send_nbx;

void *ucp_tag_send_nbx(void *to, const void *buffer, size_t n_bytes, uint64_t tag,
                       const void *parameters)
{
    const char *rank = getenv("PMI_RANK");
    Send *own;

    *(void **)&own = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    if (rank != NULL && strcmp(rank, "0") == 0) {
        printf("sent %zu\n", n_bytes);
        fflush(stdout);
    }
    return own(to, buffer, n_bytes, tag, parameters);
}

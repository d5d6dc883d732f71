/* calls.h -- the calls of a trace: their names, and the numbers that are written of each.
 *
 * The first record of a trace is text and repeats this list, so a trace explains itself.
 * Peers and roots are ranks of the world; `group` is the number of a communicator.
 */
#ifndef WEFT_RECORDER_CALLS_H
#define WEFT_RECORDER_CALLS_H

/* CALL(name in enum call, name in the trace, numbers after gap and time).
 * `blocks` is how many numbers follow, and these. `done` is how many calls are over, and of each
 * its number, its source plus 1 and its tag plus 1 (0 where the call named them; the source
 * 2^32 - 1: it was cancelled). A call that leaves a request has its own number first: `begun`. */
#define CALLS \
    CALL(NONE, "none", "") \
    CALL(END, "end", "elsewhere ns ticks") \
    CALL(GROUP, "group", "number ranks") \
    CALL(SEND, "send", "peer bytes tag group") \
    CALL(RECV, "recv", "peer bytes tag group") \
    CALL(ISEND, "isend", "begun peer bytes tag group") \
    CALL(IRECV, "irecv", "begun peer bytes tag group") \
    CALL(WAIT, "wait", "done") \
    CALL(BARRIER, "barrier", "bytes root group begun") \
    CALL(BROADCAST, "broadcast", "bytes root group begun") \
    CALL(REDUCE, "reduce", "bytes root group begun") \
    CALL(ALLREDUCE, "allreduce", "bytes root group begun") \
    CALL(GATHER, "gather", "bytes root group begun") \
    CALL(SCATTER, "scatter", "bytes root group begun") \
    CALL(ALLGATHER, "allgather", "bytes root group begun") \
    CALL(ALLTOALL, "alltoall", "bytes root group begun") \
    CALL(REDUCE_SCATTER, "reduce_scatter", "bytes root group begun") \
    CALL(SCAN, "scan", "bytes root group begun") \
    CALL(GATHERV, "gatherv", "blocks root group begun") \
    CALL(SCATTERV, "scatterv", "blocks root group begun") \
    CALL(ALLGATHERV, "allgatherv", "blocks root group begun") \
    CALL(ALLTOALLV, "alltoallv", "blocks root group begun") \
    CALL(ONE_SIDED, "one_sided", "bytes") \
    CALL(NEIGHBOURS, "neighbour_collective", "bytes") \
    CALL(BETWEEN, "intercommunicator_collective", "bytes") \
    CALL(SPAWN, "spawn", "bytes")

#define CALL(name, text, numbers) CALL_##name,
enum call { CALLS N_CALLS };
#undef CALL

#endif

/* random.c -- where deterministic variety comes from: a hash, and orders. A twin draws the same
 * (crates/weft-traffic/src/random.rs): a run of a machine can be simulated as it was. */
#include "weft.h"

/* A 64-bit number with its bits well mixed.
 * SOURCE: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t mixed(uint64_t key) {
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

/* 0 .. n-1 in the order of a seed: Fisher and Yates with a linear congruential generator.
 * SOURCE: multiplier and increment are Knuth's MMIX (TAOCP vol. 2). */
void shuffle(int *order, int n, uint64_t seed) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int last = n - 1; last > 0; last--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int other = (int)((seed >> 33) % (uint64_t)(last + 1)), kept = order[last];
        order[last] = order[other];
        order[other] = kept;
    }
}

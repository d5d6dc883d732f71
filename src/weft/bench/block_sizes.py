"""How large the blocks of an alltoallv are: as the kernel and a twin cut them."""

import numpy as np
from numpy.typing import NDArray

WHOLE = 1 << 20
"""Parts of one in which skews, and what the hash gives, are counted."""


def most_bytes(size: int, n_ranks: int, skew: float) -> int:
    """Bytes that the rank which sends or receives most does, its own block included.

    The block from i to j is `size` x (1 + `skew` x u), rounded down, u from -1 to 1 by a hash of
    (i, j): docs/reference/kernel_output.md.
    """
    if skew == 0:
        return size * n_ranks
    ranks = np.arange(n_ranks, dtype=np.uint64)
    received = np.zeros(n_ranks, dtype=np.int64)
    sent_most = 0
    for source in range(n_ranks):
        blocks = _block_bytes(size, skew, np.uint64(source << 32) | ranks)
        sent_most = max(sent_most, int(blocks.sum()))
        received += blocks
    return max(sent_most, int(received.max()))


def _block_bytes(size: int, skew: float, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """In whole numbers. Two halves of the size, as the product of all three needs 70 bits."""
    parts = round(skew * WHOLE) * ((_mixed(keys) >> np.uint64(43)).astype(np.int64) - WHOLE)
    high, low = size >> 15, size & 0x7FFF
    return size + ((high * parts + ((low * parts) >> 15)) >> 25)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SOURCE: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        mixed = keys + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

"""Texts below, or inside, a statement about a path."""

from weft.judge.path_class.fit import PathFit
from weft.judge.path_class.titles import gbps

UNKNOWN_PATH = "the rows leave open which kind of path this was"
WORDS_IN_ONE_HOST = {"memory": "shared memory", "sockets": "kernel sockets"}
NOTHING = "the file has no bandwidth, latency or rate above zero"
OFFERED = "a rate of UDP is what the sender offered, so no class of a link is named"
NO_PROTOCOL = "the file does not say whether over TCP or UDP, whose rate is what the sender offered"
PAST_THE_KERNEL = (
    "faster than the kernel's between hosts: a library such as VMA or Onload, or inside one host"
)
ALONE = "by one large message at a time: tables of two paths look like this"
OTHER_TEST = "this tool measures sockets only: measure RDMA with another, such as ib_write_bw"
SLOW_RANKS = "ranks wait for a CPU, or packets are lost"
SLOW_COPIES = "the MPI copies GPU memory in a slow way, ranks wait for a CPU, or packets are lost"
SEVERAL_PAIRS = "one pair of ranks does not fill such a link: osu_mbw_mr with several pairs does"
LOOP = "a loop through the adapter"
WAITING = "any path is as slow as this where its ranks wait for a CPU"


def blind(fit: PathFit) -> str:
    """What a filled link does not tell."""
    rate = gbps(fit.links[0].gb_s)
    return f"a faster link that trained at {rate} Gb/s would look alike: name yours with --link"

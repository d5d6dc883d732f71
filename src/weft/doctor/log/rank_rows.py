"""A job's ranks as rows: the place of each, and the network that it used."""

from typing import Any

from weft.bench.logs.ranks import JobLog

GPU_DIRECT = {(False, False): "", (True, False): "all", (True, True): "some", (False, True): "none"}
"""In words: whether a rank has channels with GPUDirect RDMA, and without."""


def rank_rows(log: JobLog) -> list[dict[str, Any]]:
    """One row a rank: its place, and the network that it used."""
    channels = log.channels()
    direct = log.all_by(fact for fact in channels if fact.words[2])
    through_host = log.all_by(fact for fact in channels if not fact.words[2])
    sent = {name: log.times(facts) for name, facts in sorted(log.sending.items())}
    proxied = log.times(fact for fact in channels if fact.words[3])
    done = log.values("communicator", 2).get("COMPLETE", frozenset())
    return [
        {
            "rank": rank.number,
            "n_ranks": rank.n_ranks,
            "host": rank.host,
            "pid": rank.pid,
            "device": rank.device,
            "network": " ".join(name for name, own in log.networks.items() if rank.index in own),
            "gpu_direct": GPU_DIRECT[rank.index in direct, rank.index in through_host],
            "channels": ", ".join(
                f"{name} {n[rank.index]}" for name, n in sent.items() if n[rank.index]
            ),
            "pxn": proxied[rank.index],
            "initialised": rank.index in done,
        }
        for rank in log.ranks
    ]

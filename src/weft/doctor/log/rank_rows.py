"""A job's ranks as rows: the place of each, and the network that it used."""

from typing import Any

from weft.bench.logs.ranks import JobLog


def rank_rows(log: JobLog) -> list[dict[str, Any]]:
    """One row a rank: its place, and the network that it used."""
    names: dict[int, list[str]] = {}
    for name, ranks in log.networks.items():
        for index in ranks:
            names.setdefault(index, []).append(name)
    direct: dict[int, list[int]] = {}
    for fact in log.channels():
        for index in log.by(fact):
            seen = direct.setdefault(index, [0, 0])
            seen[0 if fact.words[2] else 1] += 1
    channels: dict[int, dict[str, int]] = {}
    for name, facts in log.sending.items():
        for index, n in log.times(facts).items():
            channels.setdefault(index, {})[name] = n
    proxied = log.times(fact for fact in log.channels() if fact.words[3])
    done = log.values("communicator", 2).get("COMPLETE", frozenset())
    return [
        {
            "rank": rank.number,
            "n_ranks": rank.n_ranks,
            "host": rank.host,
            "pid": rank.pid,
            "device": rank.device,
            "network": " ".join(names.get(rank.index, [])),
            "gpu_direct": _direct(direct.get(rank.index)),
            "channels": ", ".join(
                f"{name} {n}" for name, n in sorted(channels.get(rank.index, {}).items())
            ),
            "pxn": proxied[rank.index],
            "initialised": rank.index in done,
        }
        for rank in log.ranks
    ]


def _direct(seen: list[int] | None) -> str:
    if seen is None:
        return ""
    with_it, without = seen
    return "all" if not without else "some" if with_it else "none"

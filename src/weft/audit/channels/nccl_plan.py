"""The rings of a job as `weft doctor nccl-plan --format json` tells them of equal nodes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.audit.channels.job import RING, NcclHop, NcclJob
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError

EXPECTED = "a plan of 'weft doctor nccl-plan LIBNCCL --nodes N --format json'"
MOST_BYTES = 1 << 26
_ALTERNATES = 2
"""SOURCE: NVIDIA/nccl, src/graph/connect.cc (ncclTopoPostset): of a search that ends with crossNic
2, nodes of odd numbers exchange each two channels, so that rings stay on their rails."""


def job_of_plan(file: Path, hosts: Sequence[str]) -> NcclJob:
    """The hops of the plan's ring channels on these hosts, in the order of their ranks. NCCL copies
    the channels: copies take the same cables, and share the rates. Raises InputError."""
    where = str(file)
    try:
        document = json.loads(read_text_file(file, expected=EXPECTED, most_bytes=MOST_BYTES))
        plan = document["plans"][0]
        counts = [one["nodes"] for one in plan["plans"]]
        if len(hosts) not in counts:
            raise InputError(
                f"a plan for {', '.join(map(str, counts))} nodes, and a job on {len(hosts)}",
                where=where,
                expected=f"a plan for {len(hosts)} nodes",
                hint=f"weft doctor nccl-plan LIBNCCL ... --nodes {len(hosts)} --format json",
            )
        graphs = plan["plans"][counts.index(len(hosts))]["graphs"]
        ring = next(one for one in graphs if one["graph"] == RING)
        nets = [(int(a), int(b)) for a, b in (one["nets"] for one in ring["channels"])]
        names = {number: str(name) for number, name in enumerate(plan["nets"])}
        n_ranks = len(hosts) * int(plan["gpus_per_node"])
        alternates = _alternates(ring, nets, where)
        version = str(plan["version"])
    except (ValueError, KeyError, TypeError, IndexError, StopIteration, RecursionError) as error:
        raise InputError("no plan with channels", where=where, expected=EXPECTED) from error
    return NcclJob(
        source=f"plan of NCCL {version}, {len(hosts)} nodes",
        pattern=RING,
        n_ranks=n_ranks,
        n_channels=len(nets),
        hosts=tuple(hosts),
        devices=(names,) * len(hosts),
        hops=_hops(nets, len(hosts), alternates=alternates),
        notes=("channels of the plan; NCCL runs copies of them on the same cables",),
    )


def _alternates(ring: Mapping[str, Any], nets: Sequence[tuple[int, int]], where: str) -> bool:
    if "cross_nic" in ring:
        return int(ring["cross_nic"]) == _ALTERNATES and len(nets) % 2 == 0
    if any(enters != leaves for enters, leaves in nets):
        raise InputError(
            "this plan has rings that change adapters, and does not tell how nodes join them",
            where=where,
            expected="a plan with 'cross_nic'",
            hint="write it again with this version of weft",
        )
    return False


def _hops(
    nets: Sequence[tuple[int, int]], n_hosts: int, *, alternates: bool
) -> tuple[NcclHop, ...]:
    def of(place: int, channel: int) -> tuple[int, int]:
        return nets[channel ^ 1 if alternates and place % 2 else channel]

    places = range(n_hosts) if n_hosts > 1 else ()
    return tuple(
        NcclHop(
            channel,
            place,
            of(place, channel)[1],
            (place + 1) % n_hosts,
            of((place + 1) % n_hosts, channel)[0],
        )
        for channel in range(len(nets))
        for place in places
    )

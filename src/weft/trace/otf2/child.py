"""The process in which the library of OTF2 reads an archive: a damaged one may crash it there.

    python -m weft.trace.otf2.child ANCHOR FOLDER

Writes a trace of each rank into the folder. The last line that it prints is `ANSWER ` and JSON.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from weft.core.files import write_part
from weft.core.words import counted
from weft.trace.otf2.archive import ANSWER
from weft.trace.otf2.rank_calls import RankPart
from weft.trace.otf2.reader import ERRORS, Archive, read
from weft.trace.otf2.records import Record, encoded, groups, header
from weft.trace.otf2.sizes import OPERATIONS, Bytes, sizes

SEVERAL = "alltoallv"
"""The collective of which sums do not say all."""
FEW = 3


def resolve(archive: Archive) -> int:
    """Give each collective its size, from the bytes of all of its ranks; how many alltoallv have
    blocks that sums do not say."""
    by_comm: dict[int, dict[int, list[tuple[Record, RankPart]]]] = defaultdict(dict)
    for calls in archive.ranks:
        for record, part in calls.parts:
            by_comm[part.end.comm].setdefault(calls.rank, []).append((record, part))
    n_uneven = 0
    of_one_buffer = archive.definitions.is_of_eztrace
    for by_rank in by_comm.values():
        for at in range(max(map(len, by_rank.values()))):
            here = {rank: own[at] for rank, own in by_rank.items() if at < len(own)}
            n_uneven += _resolve_one(here, of_one_buffer=of_one_buffer)
    return n_uneven


def _resolve_one(here: dict[int, tuple[Record, RankPart]], *, of_one_buffer: bool) -> bool:
    """The collective of these ranks; whether sums do not say its blocks."""
    first = next(iter(here.values()))[1]
    operation = first.end.operation
    # Of a rank that did not come so far nothing is known; its collective is left out.
    parts = [
        Bytes(here[one][1].end.sent, here[one][1].end.received) if one in here else Bytes(0, 0)
        for one in first.members
    ]
    found = sizes(operation, parts, first.end.root, of_one_buffer=of_one_buffer)
    for place, rank in enumerate(first.members):
        if rank in here:
            here[rank][0].name = OPERATIONS[operation]
            here[rank][0].values[0] = found[place]
    return OPERATIONS[operation] == SEVERAL and any(one.sent for one in parts)


def write(archive: Archive, folder: Path) -> None:
    """Write the traces of the ranks."""
    definitions = archive.definitions
    n_ranks = len(archive.ranks)
    for calls in archive.ranks:
        process = definitions.threads.get(definitions.locations[calls.rank], -1)
        is_cut = bool(archive.broken) or calls.is_within
        body: Iterator[Record] = chain(groups(calls.groups), calls.records)
        if not is_cut:
            end = Record("end", [archive.elsewhere[process], 0, 0], gap_ns=calls.end_gap_ns)
            body = chain(body, [end])
        name = f"rank-{calls.rank:05d}.trace"
        content = header(calls.rank, n_ranks, definitions.host(calls.rank)) + encoded(body)
        write_part(folder / name, content, what="trace of a rank")


def notes(archive: Archive, n_uneven: int) -> Iterator[str]:
    """What a reader has to know besides what the traces say themselves."""
    if archive.broken:
        yield f"the archive breaks off ({archive.broken}): read to there"
    elif archive.n_events < archive.definitions.n_events:
        yield f"{archive.n_events} of {archive.definitions.n_events} events are in the archive"
    lost = sum(calls.n_lost for calls in archive.ranks)
    if lost:
        yield (
            f"{counted(lost, 'receive')} or collectives with a request of which the archive has no "
            "end: not replayed"
        )
    silent: Counter[str] = sum((calls.silent for calls in archive.ranks), Counter())
    if silent:
        named = ", ".join(f"{name} ({n})" for name, n in silent.most_common(FEW))
        yield (
            f"{counted(silent.total(), 'call')} without an event of what they sent: {named}: to "
            "nobody, or the tool does not write it down"
        )
    if n_uneven:
        yield (
            f"{counted(n_uneven, 'alltoallv')}: the archive has the sums of each rank, divided in "
            "proportion"
        )


def main(anchor: str, folder: str) -> dict[str, Any]:
    """What the parent is told."""
    try:
        archive = read(anchor)
    except ERRORS as error:
        return {"error": str(error)}
    for calls in archive.ranks:
        calls.close()
    n_uneven = resolve(archive)
    write(archive, Path(folder))
    return {"notes": list(notes(archive, n_uneven))}


if __name__ == "__main__":
    found = main(*sys.argv[1:3])
    os.write(1, f"\n{ANSWER}{json.dumps(found)}\n".encode())

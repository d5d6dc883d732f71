"""What NCCL's own log (NCCL_DEBUG=INFO) says of a run that no table of nccl-tests says.

The log can be a hundred times larger than the tables, so it is searched by the block, as bytes,
while the tables are read. It gives conditions: the network that NCCL chose. The engine's facts
(weft.bench.logs, a layer above) are of whole logs: the network that each channel crossed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from weft.results.model import Table

_SAID = (
    (b"Using network IB", "network", "IB"),
    (b" via NET/IB", "network", "IB"),
    (b" via NET/IB", "channels_via", "IB"),
    (b"Using network Socket", "network", "Socket"),
    (b" via NET/Socket", "network", "Socket"),
    (b"Using network AWS Libfabric", "network", "OFI"),
    (b" via NET/AWS Libfabric", "network", "OFI"),
    (b"NET/OFI Selected", "network", "OFI"),
    (b"/GDRDMA", "gdr", "yes"),
    (b"GPU Direct RDMA Disabled", "gdr", "no"),
    (b" via P2P", "intra_node", "P2P"),
    (b" via SHM", "intra_node", "SHM"),
    (b"NVLS multicast support is available", "nvls", "available"),
    (b"NVLS multicast support is not available", "nvls", "not available"),
)
_NAMED = (
    (b"NCCL version ", "nccl_version", re.compile(rb"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)")),
    (b"NCCL_ALGO set by environment to ", "algorithm", re.compile(rb"(\w{1,40})(?![\w,^;:])")),
    (b"NCCL_PROTO set by environment to ", "protocol", re.compile(rb"(\w{1,40})(?![\w,^;:])")),
    (b"NCCL_IB_HCA set to ", "ib_hca", re.compile(rb"([\w,:=^-]{1,120})")),
    (b"NCCL_IB_DISABLE set by environment to ", "ib_disable", re.compile(rb"(\d{1,3})")),
    (b"NCCL_P2P_DISABLE set by environment to ", "p2p_disable", re.compile(rb"(\d{1,3})")),
    (b"NET/IB : Using ", "ib_devices", re.compile(rb"((?:\[\d{1,3}\][\w.:/-]{1,60} ?){1,64})")),
)
_SHARED = (
    b"Using network ",
    b" via NET/",
    b"NVLS multicast support is ",
    b" set by environment to ",
)
"""Parts of several marks: where one is missing, so are the marks, and a block is searched once."""
_DEVICE = re.compile(r"\[\d{1,3}\]")
_SEVERAL = ", "
_WITHOUT_GDR = {"gdr": "no"}


def note_facts(block: bytes, facts: dict[str, str]) -> None:
    """Add to `facts` what this block of a log says. A fact with two values keeps both."""
    missing = tuple(shared for shared in _SHARED if shared not in block)
    for mark, name, value in _SAID:
        known = facts.get(name, "")
        if value not in known.split(_SEVERAL) and _holds(block, mark, missing):
            facts[name] = f"{known}{_SEVERAL}{value}" if known else value
    for mark, name, pattern in _NAMED:
        at = -1 if name in facts or not _holds(block, mark, missing) else block.find(mark)
        word = pattern.match(block, at + len(mark)) if at >= 0 else None
        if word is not None:
            facts[name] = word[1].decode("ascii", "replace").strip()


def _holds(block: bytes, mark: bytes, missing: tuple[bytes, ...]) -> bool:
    return not any(shared in mark for shared in missing) and mark in block


def facts_of(line: str) -> Mapping[str, str]:
    """What a single line of the log says."""
    facts: dict[str, str] = {}
    note_facts(line.encode("utf-8", "replace"), facts)
    return facts


def conditions_of(facts: Mapping[str, str]) -> dict[str, str]:
    """Facts as conditions of a table: `network`, `gdr`, `nccl_version`, `hcas_used` and so on.

    NCCL marks each channel that uses GPUDirect RDMA with /GDRDMA; where it lists channels over
    InfiniBand and marks none, the data goes through host memory.
    """
    conditions = dict(facts)
    if conditions.pop("channels_via", "") == "IB" and "gdr" not in conditions:
        conditions.update(_WITHOUT_GDR)
    devices = conditions.pop("ib_devices", "")
    if devices:
        conditions["hcas_used"] = str(len(_DEVICE.findall(devices)))
    return conditions


def with_log(tables: Iterable[Table], facts: Mapping[str, str]) -> list[Table]:
    """The tables; those of nccl-tests and rccl-tests with the log's facts as conditions. What a
    table says itself stands."""
    if not facts:
        return list(tables)
    found = conditions_of(facts)
    return [
        replace(table, conditions={**found, **table.conditions})
        if table.tool in ("nccl-tests", "rccl-tests")
        else table
        for table in tables
    ]

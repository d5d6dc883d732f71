"""The counters of a twin's ports as `perfquery` prints them: weft reads them as a real fabric's."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.topology.fabric_spec import Document

COUNTERS_FILE = "counters.out"

COLUMNS = {
    "SymbolErrorCounter": "symbol_error_counter",
    "LinkErrorRecoveryCounter": "link_error_recovery_counter",
    "LinkDownedCounter": "link_downed_counter",
    "PortRcvErrors": "port_rcv_errors",
    "PortXmitDiscards": "port_xmit_discards",
    "PortXmitData": "port_xmit_data",
    "PortRcvData": "port_rcv_data",
    "PortXmitPkts": "port_xmit_pkts",
    "PortRcvPkts": "port_rcv_pkts",
    "PortXmitWait": "port_xmit_wait",
}
"""InfiniBand's name of each counter, and the engine's column (docs/reference/scenario.md)."""

ERRORS = tuple(COLUMNS)[:5]

MOST_PORTS = 4096
"""Of a fabric with more only those ports are written that counted an error."""


class PortCounters:
    """Counters of every port of a generated fabric, added up over simulations.

    LIDs are those by which weft reads such a fabric: one a vertex, HCAs first, then switches, each
    in the document's order.
    """

    def __init__(self, document: Document) -> None:
        hcas = [str(hca) for node in document["nodes"] for hca in node["hcas"]]
        switches = [str(switch["name"]) for switch in document["switches"]]
        self._lid = {name: lid for lid, name in enumerate((*hcas, *switches), start=1)}
        self._ports: list[str] = []
        self._counted: NDArray[np.uint64] = np.zeros((0, len(COLUMNS)), np.uint64)

    def add(self, outcome: Mapping[str, Any]) -> None:
        """Add the counters of one simulation."""
        columns = [np.asarray(outcome[name], dtype=np.uint64) for name in COLUMNS.values()]
        counted, ports = np.stack(columns, axis=1), list(outcome["port_name"])
        if ports != self._ports:
            # Only the busiest ports of a very large fabric have a row: not always the same.
            both = list(dict.fromkeys((*self._ports, *ports)))
            place = {port: row for row, port in enumerate(both)}
            wider = np.zeros((len(both), len(COLUMNS)), np.uint64)
            wider[: len(self._ports)] = self._counted
            self._ports, self._counted = both, wider
            self._counted[[place[port] for port in ports]] += counted
        else:
            self._counted += counted

    @property
    def text(self) -> str:
        """One output of `perfquery` after the other, by LID and port; "" where nothing counted."""
        whole = len(self._ports) <= MOST_PORTS
        erring = self._counted[:, : len(ERRORS)].any(axis=1)
        rows = []
        for row in np.flatnonzero(erring | whole).tolist():
            vertex, _, number = self._ports[row].rstrip("]").rpartition("[")
            if vertex in self._lid:
                rows.append((self._lid[vertex], int(number), self._counted[row].tolist()))
        return "".join(_output(*row) for row in sorted(rows))


def _output(lid: int, port: int, counted: list[int]) -> str:
    lines = [f"# Port counters: Lid {lid} port {port} (CapMask: 0x0000)"]
    values = {"PortSelect": port, **dict(zip(COLUMNS, counted, strict=True))}
    lines += [f"{name}:{'.' * (33 - len(name) - 1)}{value}" for name, value in values.items()]
    return "\n".join(lines) + "\n"

"""Subnets written down by hand, cable by cable: no engine, no file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.topology.subnet.subnet import PortKey, Subnet

Ends = tuple[str, int, str, int]


class HandSubnet(Subnet):
    """A subnet whose description is given; `ports` have the same paths for all pairs."""

    def __init__(self, description: Mapping[str, Any], ports: Mapping[PortKey, int]) -> None:
        super().__init__(None)
        self.__dict__["description"] = description
        self._ports = ports
        self.asked: list[Sequence[tuple[int, int]] | None] = []

    def loads(self, pairs: Sequence[tuple[int, int]] | None = None) -> Any:
        self.asked.append(pairs)
        node, port = zip(*self._ports, strict=True) if self._ports else ((), ())
        n_paths = np.array(list(self._ports.values()), dtype=np.uint64)
        columns = {"node": np.array(node, dtype=np.uint32), "port": np.array(port, dtype=np.uint8)}
        return {**columns, "n_paths": n_paths, "n_lids": n_paths.astype(np.uint32)}


def described(
    switches: Mapping[str, int | None],
    cables: Iterable[Ends],
    *,
    rates: Mapping[Ends, float] | None = None,
    down: Iterable[Ends] = (),
    able: Mapping[Ends, float] | None = None,
    system_guids: Mapping[str, int] | None = None,
    uncabled: Mapping[str, Mapping[int, str]] | None = None,
    loads: Mapping[tuple[str, int], int] | None = None,
) -> HandSubnet:
    """Switches by name with their level; every other name at a cable is a host. Ports: 40."""
    cables, down = list(cables), set(down)
    hosts = dict.fromkeys(n for cable in cables for n in (cable[0], cable[2]) if n not in switches)
    names = [*switches, *hosts]
    number = {name: at for at, name in enumerate(names)}
    nodes = [
        {
            "guid": 0x100 + at,
            "kind": "switch" if name in switches else "ca",
            "description": name,
            "lid": at + 1 if name in switches else 0,
            "lmc": 0,
            "n_ports": 40 if name in switches else 1,
            "level": switches.get(name),
            "system_guid": (system_guids or {}).get(name, 0x100 + at),
            "vendor": None,
            "device": None,
            "port_lids": {} if name in switches else {"1": at + 1},
            "uncabled": [
                {"port": port, "physical": state}
                for port, state in (uncabled or {}).get(name, {}).items()
            ],
        }
        for at, name in enumerate(names)
    ]

    def end(cable: Ends, name: str, port: int) -> dict[str, Any]:
        gbps = (rates or {}).get(cable, 200.0)
        return {
            "node": number[name],
            "port": port,
            "rate": "4xHDR" if gbps == 200.0 else "4xEDR",
            "gbps": gbps,
            "supported": None,
            "supported_gbps": (able or {}).get(cable),
            "logical": "down" if cable in down else "active",
            "physical": "polling" if cable in down else "link-up",
            "facts": {},
        }

    description = {
        "nodes": nodes,
        "cables": [[end(c, c[0], c[1]), end(c, c[2], c[3])] for c in cables],
        "endports": [[number[name], 1, number[name] + 1] for name in hosts],
        "n_tables": 0 if loads is None else len(switches),
        "readings": [],
    }
    ports = {(number[name], port): n for (name, port), n in (loads or {}).items()}
    return HandSubnet(description, ports)


def tree_cables(leaves: int = 4, spines: int = 2, per_spine: int = 2, hosts: int = 1) -> list[Ends]:
    """leaf0..: hosts at ports 1.., then per_spine cables to spine0, spine1 ...; a spine has the
    cables of leaf0 first."""
    cables: list[Ends] = []
    for leaf in range(leaves):
        cables += [(f"leaf{leaf}", port, f"h{leaf}-{port}", 1) for port in range(1, hosts + 1)]
        for spine in range(spines):
            for lane in range(per_spine):
                up = hosts + 1 + spine * per_spine + lane
                cables.append((f"leaf{leaf}", up, f"spine{spine}", leaf * per_spine + lane + 1))
    return cables


def tree_switches(leaves: int = 4, spines: int = 2) -> dict[str, int | None]:
    """Levels of the switches of `tree_cables`."""
    lower: dict[str, int | None] = {f"leaf{leaf}": 1 for leaf in range(leaves)}
    return lower | {f"spine{spine}": 2 for spine in range(spines)}

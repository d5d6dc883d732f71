"""Generated subnets with faults planted by hand: edits of the engine's own description."""

import copy
from typing import Any

from weft.audit.case import AuditCase, Ruling
from weft.audit.rules import RULES
from weft.topology.subnet.subnet import Subnet

RATES = {
    "host_bits_per_s": 100_000_000_000,
    "switch_bits_per_s": 200_000_000_000,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}
TREE = {
    "generate": "fat_tree",
    "levels": 2,
    "nodes": 24,
    "nodes_per_leaf": 4,
    "spines": 2,
    "cables_per_spine": 2,
    **RATES,
}
"""Six leaves of four nodes; ports 5 and 7 of a leaf go to spine-01, 6 and 8 to spine-02."""


class FaultySubnet(Subnet):
    """A subnet as a description; survey and credit loops are planted."""

    def __init__(self, document: dict[str, Any] | None = None, **answers: Any) -> None:
        built = Subnet.of_fabric(document or TREE)
        super().__init__(None)
        self.answers = answers
        self.levels: list[int] = []
        self.record: dict[str, Any] = copy.deepcopy(dict(built.description))
        self.__dict__["description"] = self.record

    def survey(self) -> Any:
        return self.answers["survey"]

    def credit_loop(self, service_level: int) -> Any:
        self.levels.append(service_level)
        answer = self.answers["credit_loop"]
        return answer(service_level) if callable(answer) else answer

    def node(self, name: str) -> int:
        """The index of the node with this description."""
        names = [node["description"] for node in self.record["nodes"]]
        return names.index(name)

    def cable(self, name: str, port: int) -> list[dict[str, Any]]:
        """The record of the cable in a port: both ends, this one first."""
        key = (self.node(name), port)
        for pair in self.record["cables"]:
            for here, there in (pair, pair[::-1]):
                if (here["node"], here["port"]) == key:
                    return [here, there]
        raise AssertionError(f"no cable in {name} port {port}")

    def cut(self, name: str, port: int) -> None:
        """Take a cable away."""
        ends = self.cable(name, port)
        self.record["cables"] = [
            pair for pair in self.record["cables"] if pair[0] not in ends and pair[1] not in ends
        ]

    def set_rate(self, name: str, port: int, rate: str, gbps: float) -> None:
        """Let a cable run at another rate."""
        for end in self.cable(name, port):
            end["rate"], end["gbps"] = rate, gbps

    def rename(self, name: str, to: str) -> None:
        """Give a node another description."""
        self.record["nodes"][self.node(name)]["description"] = to

    def move(self, name: str, port: int, to: str, to_port: int) -> None:
        """Plug this end of a cable into another port."""
        here = self.cable(name, port)[0]
        here["node"], here["port"] = self.node(to), to_port

    def read_counters(self, name: str, port: int, source: int = 0, **counters: int) -> None:
        """Add a reading of counters."""
        end = {"node": self.node(name), "port": port}
        reading = {"source": source, "end": end, "counters": counters, "ratios": {}}
        self.record["readings"].append(reading)

    def read_ratios(self, name: str, port: int, **ratios: float) -> None:
        """Add bit error rates."""
        end = {"node": self.node(name), "port": port}
        reading = {"source": 0, "end": end, "counters": {}, "ratios": ratios}
        self.record["readings"].append(reading)

    def log(self, **facts: Any) -> None:
        """Add what a subnet manager's log says."""
        empty = {
            "engines_used": [],
            "engines_asked": [],
            "errors": [],
            "n_sweeps": 1,
            "removed": [],
        }
        self.record["sm_logs"].append({**empty, **facts})


def ruling(rule: str, subnet: Subnet, **case: Any) -> Ruling:
    """What one rule says."""
    judge = {it.name: it.judge for it in RULES}[rule]
    for derived in ("nodes", "cables", "endports", "cable_at"):
        subnet.__dict__.pop(derived, None)
    return judge(AuditCase(subnet, **case))

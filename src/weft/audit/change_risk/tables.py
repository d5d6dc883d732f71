"""Forwarding tables before and after a change, and what is safe about them."""

from collections import Counter
from dataclasses import dataclass

from weft.audit.change_risk.reach import Changed, endport_keys, port_parts
from weft.core.errors import InputError
from weft.topology.dead_cables import filling_engine
from weft.topology.engine import ENGINES
from weft.topology.subnet.subnet import Subnet

MOST_OF_LOOP = 8
"""So many ports of a credit loop are named."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The tables in force, and the engine of OpenSM that fills them: None where weft computes none
    that does, so that only entries over lost cables move."""

    before: Subnet
    engine: str | None
    known_by: str

    def after(self, found: Changed) -> "tuple[Subnet, str | None]":
        """The tables that the running subnet manager fills for a changed fabric, and the engine:
        minhop where it gives up. It keeps entries that are still among the best, unless ports or
        switches came. Raises InputError.

        SOURCE: OpenSM, osm_sw_info_rcv.c and osm_port_info_rcv.c: a new switch, or a port that
        comes up, makes it ignore the tables it had (`ignore_existing_lfts`).
        """
        if not found.has_new or self.engine is None:
            return found.subnet.rerouted([], self.engine)
        try:
            return found.subnet.route(self.engine), self.engine
        except InputError:
            return found.subnet.route(ENGINES[0]), ENGINES[0]


def routing_of(subnet: Subnet, asked: str | None) -> Routing:
    """The routing of a fabric, by `asked` where that is given. Raises InputError."""
    if not subnet.endports:
        raise InputError(
            "no adapter in these files has a LID and a cable",
            expected="cables and LIDs: ibnetdiscover, iblinkinfo or opensm-subnet.lst",
        )
    if subnet.has_tables:
        return Routing(subnet, *filling_engine(subnet, asked))
    engine = asked or ENGINES[0]
    known_by = "--engine" if asked else "assumed: no forwarding tables were read"
    return Routing(subnet.route(engine), engine, known_by)


def pairs_without_path(subnet: Subnet) -> int:
    """Pairs of end ports that cables join and tables do not."""
    part_of = port_parts(subnet)
    n_of = Counter(part_of[key] for key in endport_keys(subnet))
    n_all = len(subnet.endports)
    apart = sum(n * (n_all - n) for n in n_of.values())
    return max(0, int(subnet.survey()["n_unreachable"]) - apart)


def credit_loop(subnet: Subnet) -> tuple[str, ...]:
    """The ports of a credit loop on service level 0; none without one."""
    loop = subnet.credit_loop(0)
    if loop is None:
        return ()
    return tuple(subnet.name(end["node"], end["port"]) for end, _ in loop["channels"])

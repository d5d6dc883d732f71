"""The rules of the audit, in the order in which they are reported."""

from collections.abc import Callable
from dataclasses import dataclass

from weft.audit.cabling.adapters import missing_adapters
from weft.audit.cabling.isolated_nodes import isolated_nodes
from weft.audit.cabling.lateral_cables import missing_sideways
from weft.audit.cabling.rails import wrong_rails
from weft.audit.cabling.taper import uneven_taper
from weft.audit.cabling.uplinks import missing_uplinks
from weft.audit.case import AuditCase, Ruling
from weft.audit.changes import gone_since_before
from weft.audit.counters.bit_errors import bit_error_rates
from weft.audit.counters.counter_rates import counter_rates
from weft.audit.counters.fec import odd_correction
from weft.audit.counters.totals import counter_totals
from weft.audit.identity import duplicate_guids, duplicate_lids
from weft.audit.links.platform_rates import below_platform
from weft.audit.links.port_states import stuck_ports
from weft.audit.links.slow_cables import slow_cables
from weft.audit.misfits import files_understood
from weft.audit.routing.changed_entries import changed_entries
from weft.audit.routing.credit_loops import credit_loops
from weft.audit.routing.forwarding_tables import unreachable
from weft.audit.routing.routing_engine import engine_fell_back
from weft.audit.routing.valleys import valleys
from weft.audit.sm_log import left_the_subnet, manager_errors


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its name, what it looks for in one line, and its function."""

    name: str
    looks_for: str
    judge: Callable[[AuditCase], Ruling]


RULES: tuple[Rule, ...] = (
    Rule(
        "gone",
        "nodes and cables that were there before (--before) and are not now; slower cables",
        gone_since_before,
    ),
    Rule("isolated", "switches and adapters that files name and no cable joins", isolated_nodes),
    Rule("left", "nodes that the subnet manager's log says it removed", left_the_subnet),
    Rule(
        "missing-up-links",
        "switches with fewer cables up than their siblings, or spread unevenly",
        missing_uplinks,
    ),
    Rule(
        "missing-cables",
        "in networks without levels: switches with fewer cables than nearly all others",
        missing_sideways,
    ),
    Rule("slow-cables", "cables below what both ends can do, in width or speed", slow_cables),
    Rule("stuck-ports", "ports stuck in Init, Armed, Polling or in training", stuck_ports),
    Rule("bit-errors", "symbol and effective bit error rates", bit_error_rates),
    Rule("odd-fec", "cables that correct errors otherwise than their siblings", odd_correction),
    Rule("error-rates", "error counters that grow between two readings", counter_rates),
    Rule("error-totals", "error counters of one reading", counter_totals),
    Rule(
        "missing-adapters",
        "nodes with fewer adapters in the subnet than the others",
        missing_adapters,
    ),
    Rule("platform-rates", "all cables slower than --platform says", below_platform),
    Rule("wrong-rail", "adapters cabled to a leaf of another rail", wrong_rails),
    Rule("duplicate-guids", "two nodes with one GUID", duplicate_guids),
    Rule("duplicate-lids", "two ports with one LID", duplicate_lids),
    Rule(
        "unreachable",
        "LIDs that tables do not lead to, and table entries over cables that are gone",
        unreachable,
    ),
    Rule(
        "changed-entries",
        "table entries that lead elsewhere than before (--before), though no cable changed",
        changed_entries,
    ),
    Rule("credit-loops", "buffers that can wait for each other in a circle", credit_loops),
    Rule("valleys", "routes that come down to a switch and go up again", valleys),
    Rule(
        "engine-fell-back",
        "a routing engine that gave up, and another that routed in silence",
        engine_fell_back,
    ),
    Rule("uneven-taper", "switches with more below for what goes up than siblings", uneven_taper),
    Rule("manager-errors", "other errors of the subnet manager's log", manager_errors),
    Rule("files", "lines that were not understood, statements that do not agree", files_understood),
)
"""All rules; each by itself says whether it can judge."""

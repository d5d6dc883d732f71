"""The risk of a change: all that it would do to a fabric and its jobs, and the verdict."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from weft.audit.change_risk.change import FabricChange
from weft.audit.change_risk.opensm_run import WITH_LANES, run_opensm
from weft.audit.change_risk.reach import Changed, changed, hosts_of_ports
from weft.audit.change_risk.slowdown import JobRisk, job_risks
from weft.audit.change_risk.tables import (
    Routing,
    credit_loop,
    pairs_without_path,
    routing_of,
)
from weft.audit.change_risk.work_order import (
    WorkOrder,
    WorkPlanner,
    WorkStep,
    expected_states,
)
from weft.core.finding import Severity
from weft.core.natural import natural_key
from weft.core.work.progress import phases
from weft.topology.dead_cables import logged_engine
from weft.topology.engine import ENGINES
from weft.topology.subnet.subnet import Subnet

NOTICED = 0.01
"""ASSUMED: a job that gets slower by less than 1 %, or a bisection bandwidth that loses less, is no
loss: runs of one job differ by more."""
MATCHINGS = 100
CHANGE_S, TABLES_S, STATE_S, COMPARE_S = 0.5, 0.8, 1.6, 2.0
"""The ratio of the times of the change, of the tables before and after, of a state between two
steps, and of the comparison, for the bar: seconds of 8,008 nodes (measured)."""


@dataclass(frozen=True, slots=True)
class BisectionLoss:
    """Effective bisection bandwidth before and after, as shares of the hosts' rate; the loss as a
    share of that of before, with its 95 % interval over random matchings (Student's t)."""

    before: float
    after: float
    loss: float
    low: float
    high: float

    @property
    def is_noticed(self) -> bool:
        """Whether it is lost for sure, and worth a word."""
        return self.loss >= NOTICED and self.low > 0


@dataclass(frozen=True)
class ChangeRisk:
    """`cut_off`: by host the adapters' ports that lose their path; `drained`: hosts that lose all.
    `loop_before` and `loop` are ports of credit loops; `n_entries` of tables that are in both, and
    `n_changed` of them."""

    routing: Routing
    changes: tuple[FabricChange, ...]
    after: Subnet
    used: str | None
    cut_off: Mapping[str, int]
    drained: frozenset[str]
    left_apart: tuple[str, ...]
    without_path: int
    loop_before: tuple[str, ...]
    loop: tuple[str, ...]
    bisection: BisectionLoss | None
    n_entries: int
    n_changed: int
    jobs: tuple[JobRisk, ...]
    order: WorkOrder
    by: str = "weft"
    unknown: tuple[str, ...] = field(default=())

    @property
    def before(self) -> Subnet:
        """The fabric as it is."""
        return self.routing.before

    @property
    def has_new_loop(self) -> bool:
        """Whether the change makes a credit loop."""
        return bool(self.loop) and not self.loop_before

    @property
    def slower(self) -> tuple[JobRisk, ...]:
        """Jobs that get slower, the slowest first."""
        return tuple(job for job in self.jobs if (job.mean or 0.0) >= NOTICED)

    @property
    def severity(self) -> Severity:
        """BAD: hosts cut off, pairs without a path, a new credit loop, or no safe order; of the
        last three none where the engine is not known, which may fill other tables."""
        is_unsafe = self.order.unsafe is not None and self.order.is_known
        is_by_tables = bool(self.without_path) or self.has_new_loop or is_unsafe
        is_guess = self.routing.engine is None and self.by == "weft"
        if self.cut_off or (is_by_tables and not is_guess):
            return Severity.BAD
        is_less = self.bisection is not None and self.bisection.is_noticed
        if self.unknown:
            return Severity.UNKNOWN
        if is_less or self.slower:
            return Severity.WARNING
        # A job without figures may be slower, though none is cut off.
        return Severity.UNKNOWN if any(job.unknown for job in self.jobs) else Severity.GOOD


def expected_s(n_changes: int) -> float:
    """About how long `change_risk` takes for 8,008 nodes, for the bar."""
    return CHANGE_S + TABLES_S + STATE_S * expected_states(n_changes) + COMPARE_S


def change_risk(
    subnet: Subnet,
    changes: Sequence[FabricChange],
    *,
    engine: str | None = None,
    jobs: Mapping[str, Sequence[str]],
    opensm: bool = False,
    matchings: int = MATCHINGS,
    seed: int = 0,
) -> ChangeRisk:
    """What some changes made together would do, and their safe order; with `opensm`, by the tables
    of the real OpenSM. Raises InputError, and MissingError without OpenSM."""
    about_s = {
        "change": CHANGE_S,
        "tables": TABLES_S,
        "order": STATE_S * expected_states(len(changes)),
        "compare": COMPARE_S,
    }
    began = time.monotonic()
    with phases("changing", **about_s) as begin:
        found = changed(subnet, changes)
        begin("tables")
        routing, after, used = _tables(subnet, changes, found, engine, opensm=opensm)
        begin("order")
        state_s = (time.monotonic() - began) * STATE_S / (CHANGE_S + TABLES_S)
        order = WorkPlanner(routing, changes, found, state_s).plan()
        begin("compare")
        lanes = used in WITH_LANES
        n_entries, n_changed, _ = after.changed_entries(routing.before, 0)
        lost, drained = hosts_of_ports(subnet, found.cut_off)
        gone = frozenset(guid for change in changes for guid in change.gone)
        return ChangeRisk(
            routing=routing,
            changes=tuple(changes),
            after=after,
            used=used,
            cut_off=dict(sorted(lost.items(), key=lambda it: natural_key(it[0]))),
            drained=frozenset(drained),
            left_apart=found.left_apart,
            without_path=pairs_without_path(after),
            loop_before=() if lanes else credit_loop(routing.before),
            loop=() if lanes else credit_loop(after),
            bisection=_bisection(routing.before, after, matchings, seed),
            n_entries=n_entries,
            n_changed=n_changed,
            jobs=job_risks(routing.before, after, jobs, found.cut_off, gone),
            order=order,
            by="OpenSM" if opensm else "weft",
            unknown=(*_unknown(routing, used, opensm=opensm), *_open_order(order)),
        )


def _tables(
    subnet: Subnet,
    changes: Sequence[FabricChange],
    found: Changed,
    engine: str | None,
    *,
    opensm: bool,
) -> tuple[Routing, Subnet, str | None]:
    """The routing of before, the fabric of after with its tables, and the engine of these."""
    if not opensm:
        routing = routing_of(subnet, engine)
        # Without tables in the files, those of before are computed, and carried over.
        base = found if subnet.has_tables else changed(routing.before, changes)
        return routing, *routing.after(base)
    asked = engine or routing_of(subnet, None).engine or ENGINES[0]
    before, after = run_opensm(subnet, changes, asked)
    named = logged_engine(before) or asked
    routing = Routing(before, named if named in ENGINES else None, "--opensm")
    return routing, after, logged_engine(after) or asked


def _unknown(routing: Routing, used: str | None, *, opensm: bool) -> tuple[str, ...]:
    found = []
    if used in WITH_LANES:
        return (f"credit loops: {used} keeps them apart by service levels, weft looks at level 0",)
    if routing.engine is None and not opensm:
        found.append(
            f"the engine that will fill the tables ({routing.known_by}): "
            f"--engine {', '.join(ENGINES)} names it"
        )
    if routing.before.description["n_sl2vl"] and not opensm:
        found.append("credit loops: virtual lanes of the new tables are not known")
    return tuple(found)


def _open_order(order: WorkOrder) -> tuple[str, ...]:
    """Why the search for an order gave up, in a tuple; none where it did not."""
    return () if order.is_known else (f"the order of work: {order.unsafe}",)


def _bisection(before: Subnet, after: Subnet, matchings: int, seed: int) -> BisectionLoss | None:
    then, now = before.bisection(matchings, seed), after.bisection(matchings, seed)
    if then is None or now is None or not then["mean"]:
        return None
    a, b = np.array(then["shares"]), np.array(now["shares"])
    n = len(a)
    if len(before.endports) == len(after.endports):
        # The same matchings of the same hosts: differences are of the tables alone.
        error = float(np.std(a - b, ddof=1)) / np.sqrt(n)
    else:
        error = float(np.hypot(np.std(a, ddof=1), np.std(b, ddof=1))) / np.sqrt(n)
    half = float(special.stdtrit(n - 1, 0.975)) * error / then["mean"]
    loss = 1 - now["mean"] / then["mean"]
    return BisectionLoss(then["mean"], now["mean"], loss, loss - half, loss + half)


def to_record(risk: ChangeRisk) -> dict[str, Any]:
    """As JSON has it."""
    bisection = risk.bisection
    return {
        "schema": "weft.fabric_what_if/1",
        "severity": risk.severity.value,
        "changes": [change.words for change in risk.changes],
        "engine": risk.routing.engine,
        "engine_known_by": risk.routing.known_by,
        "tables_by": risk.used,
        "computed_by": risk.by,
        "n_entries": risk.n_entries,
        "n_changed_entries": risk.n_changed,
        "cut_off": [
            {"host": host, "n_ports": n, "is_whole": host in risk.drained}
            for host, n in risk.cut_off.items()
        ],
        "switches_left_apart": list(risk.left_apart),
        "pairs_without_path": risk.without_path,
        "credit_loop_before": list(risk.loop_before),
        "credit_loop": list(risk.loop),
        "bisection": bisection
        and {
            "before": bisection.before,
            "after": bisection.after,
            "loss": bisection.loss,
            "loss_low": bisection.low,
            "loss_high": bisection.high,
        },
        "jobs": [_job_record(job) for job in risk.jobs],
        "steps": [_step_record(risk, step) for step in risk.order.steps],
        "order_unsafe": risk.order.unsafe,
        "unknown": list(risk.unknown),
    }


def _job_record(job: JobRisk) -> dict[str, Any]:
    return {
        "job": job.name,
        "n_hosts": job.n_hosts,
        "slowdown_mean": job.mean,
        "slowdown_worst": job.worst,
        "worst_shift": job.worst_shift,
        "n_shifts": job.n_shifts,
        "cut_off": list(job.cut_off),
        "unknown": job.unknown,
    }


def _step_record(risk: ChangeRisk, step: WorkStep) -> dict[str, Any]:
    lost, _ = hosts_of_ports(risk.before, step.drain)
    return {
        "changes": [change.words for change in step.changes],
        "drain": sorted(lost, key=natural_key),
    }

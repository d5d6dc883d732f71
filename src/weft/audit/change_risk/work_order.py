"""A safe order of work: no step cuts off a host that the whole change leaves connected, and none
makes a credit loop.

Each step's tables are those that a running subnet manager fills from those of the step before.
Steps are one group if they can be done together: after any part of them, in any order in which the
subnet manager sees them, the fabric is safe, too.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from weft.audit.change_risk.change import FabricChange
from weft.audit.change_risk.reach import Changed, changed
from weft.audit.change_risk.tables import Routing, credit_loop, pairs_without_path
from weft.core.errors import InputError
from weft.core.work.progress import WorkUnderWay, by_time, working
from weft.topology.subnet.subnet import PortKey, Subnet

MOST_STATES = 200
"""ASSUMED: so many states of the fabric are routed; a search beyond it gives up, and says so."""
MOST_TOGETHER = 5
"""Of a larger group, 2^n parts would have to be routed."""


@dataclass(frozen=True, slots=True)
class FabricState:
    """The fabric between two steps: tables, end ports without a path, and faults in words."""

    subnet: Subnet
    cut_off: tuple[PortKey, ...]
    without_path: int
    loop: tuple[str, ...]

    def is_safe(self, final: frozenset[PortKey], *, had_loop: bool) -> bool:
        """Whether only `final` end ports are cut off, and no credit loop is new."""
        return (
            final.issuperset(self.cut_off) and not self.without_path and (had_loop or not self.loop)
        )


@dataclass(frozen=True, slots=True)
class WorkStep:
    """Changes that can be done together, and the end ports that have no path after it."""

    changes: tuple[FabricChange, ...]
    drain: tuple[PortKey, ...]


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """`steps` in a safe order; `unsafe`: why there is none, in words, with the steps in the order
    of the question. `is_known` is false where the search gave up."""

    steps: tuple[WorkStep, ...]
    unsafe: str | None = None
    is_known: bool = True


class _BudgetError(Exception):
    """Too many states were routed."""


class WorkPlanner:
    """Finds the order of some changes. `state_s`: about how long the first state takes."""

    def __init__(
        self,
        routing: Routing,
        changes: Sequence[FabricChange],
        final: Changed,
        state_s: float = 0.0,
    ) -> None:
        self.routing = routing
        # What puts in comes first: it can only help what takes out.
        self.changes = sorted(changes, key=lambda change: not change.adds)
        self.final = frozenset(final.cut_off)
        self.had_loop = bool(credit_loop(routing.before))
        self.n_states = 0
        self.failed: set[frozenset[str]] = set()
        self.work = WorkUnderWay("")
        self.state_s = state_s

    def plan(self) -> WorkOrder:
        """The first safe order, with the steps that can be done together as one."""
        with working(
            "trying orders", unit="state", total=expected_states(len(self.changes))
        ) as work:
            self.work = work
            return self._planned()

    def _planned(self) -> WorkOrder:
        try:
            order = self._search(self.routing.before, (), self.changes)
            if order is None:
                return WorkOrder(self._as_asked(), "every order of them has an unsafe step")
            return WorkOrder(tuple(self._grouped(order)))
        except _BudgetError:
            why = f"no safe order among the first {MOST_STATES} states"
            return WorkOrder(self._as_asked(), why, is_known=False)

    def _search(
        self, now: Subnet, done: Sequence[FabricChange], left: Sequence[FabricChange]
    ) -> list[FabricChange] | None:
        if not left:
            return []
        if frozenset(change.words for change in done) in self.failed:
            return None
        for change in left:
            state = self._state(now, [change], done)
            if state is None:
                continue
            others = [other for other in left if other is not change]
            order = self._search(state.subnet, [*done, change], others)
            if order is not None:
                return [change, *order]
        self.failed.add(frozenset(change.words for change in done))
        return None

    def _state(
        self, now: Subnet, some: Sequence[FabricChange], done: Sequence[FabricChange]
    ) -> FabricState | None:
        """The fabric after some changes more; None where that is unsafe or cannot be done."""
        if not all(change.can_follow(now) for change in some):
            return None
        self.n_states += 1
        if self.n_states > MOST_STATES:
            raise _BudgetError
        state = self._state_after(now, some, done)
        return state if state.is_safe(self.final, had_loop=self.had_loop) else None

    def _grouped(self, order: Sequence[FabricChange]) -> Iterator[WorkStep]:
        now, done = self.routing.before, list[FabricChange]()
        left = list(order)
        while left:
            n = 1
            while n < min(len(left), MOST_TOGETHER) and self._all_safe(now, left[: n + 1], done):
                n += 1
            group, left = left[:n], left[n:]
            state = self._chained(now, group, done)
            already = set(changed(self.routing.before, done).cut_off) if done else set()
            drain = tuple(key for key in state.cut_off if key not in already)
            yield WorkStep(tuple(group), drain)
            now, done = state.subnet, [*done, *group]

    def _all_safe(
        self, now: Subnet, group: Sequence[FabricChange], done: Sequence[FabricChange]
    ) -> bool:
        """Whether each part of a group that has its last change is safe; others are known to be."""
        *others, last = group
        some = [[*part, last] for n in range(len(others) + 1) for part in combinations(others, n)]
        return all(self._state(now, part, done) is not None for part in some)

    def _chained(
        self, now: Subnet, group: Sequence[FabricChange], done: Sequence[FabricChange]
    ) -> FabricState:
        state = self._state_after(now, group, done)
        return replace(state, cut_off=changed(self.routing.before, [*done, *group]).cut_off)

    def _state_after(
        self, now: Subnet, some: Sequence[FabricChange], done: Sequence[FabricChange]
    ) -> FabricState:
        began = time.monotonic()
        self.work.ask = by_time(self.state_s)
        # A search that does not find its way at once has at least this state more.
        self.work.total = max(self.work.total, self.work.done + 1)
        state = state_after(self.routing, now, some, done)
        self.work.advance()
        self.state_s = time.monotonic() - began
        return state

    def _as_asked(self) -> tuple[WorkStep, ...]:
        """Each change as a step, with the end ports that it leaves without a path."""
        steps, done = list[WorkStep](), list[FabricChange]()
        was: set[PortKey] = set()
        for change in sorted(self.changes, key=lambda change: change.adds):
            done.append(change)
            try:
                cut = changed(self.routing.before, done).cut_off
            except InputError:
                cut = ()
            steps.append(WorkStep((change,), tuple(key for key in cut if key not in was)))
            was.update(cut)
        return tuple(steps)


def expected_states(n_changes: int) -> int:
    """The states that are routed where every step is safe, and MOST_TOGETHER are one group: each
    change after the others, each part of a group that has its last change, and each group."""
    full, rest = divmod(n_changes, MOST_TOGETHER)
    groups = [MOST_TOGETHER] * full + [rest] * bool(rest)
    return n_changes + sum((1 << n) - 1 for n in groups)


def state_after(
    routing: Routing, now: Subnet, some: Sequence[FabricChange], done: Sequence[FabricChange]
) -> FabricState:
    """The fabric after `some` changes of the state `now`, which `done` changes led to."""
    cut = changed(routing.before, [*done, *some]).cut_off
    after, _ = routing.after(changed(now, some))
    return FabricState(after, cut, pairs_without_path(after), credit_loop(after))

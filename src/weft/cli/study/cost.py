"""The time that a study takes, before it runs; a study thinned until it fits a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.bench.model import Backend, Launch
from weft.core.errors import InputError
from weft.core.units import format_duration
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.plan.duration import Durations
    from weft.study.plan.model import Study


class StudyCost:
    """The time of launches on a twin, which measures its speed at the first question. A machine
    tells by running, and so do flows, extrapolations and neighbours: no count of packets tells."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._found: Durations | None = None

    def seconds(self, launches: Sequence[Launch]) -> float | None:
        """About how long they take; None where that is not known."""
        from weft.bench.twin.backend import TwinBackend
        from weft.bench.twin.tenants import has_aggressors
        from weft.study.plan.duration import durations, simulation_seconds

        twin = self._backend
        if not isinstance(twin, TwinBackend) or twin.fidelity != "packet" or twin.extrapolate:
            return None
        trials = {launch.trial.id: launch.trial for launch in launches}
        if any(has_aggressors(trial) for trial in trials.values()):
            return None
        if self._found is None:
            self._found = durations(twin, tuple(trials.values()))
        if self._found is None:
            return None
        return simulation_seconds(self._found, launches, twin.simulator.n_cores)

    def line(self, seconds: float) -> str:
        """'about 7 min 06 s on 2 cores'."""
        from weft.bench.twin.backend import TwinBackend

        assert isinstance(self._backend, TwinBackend)
        n_cores = self._backend.simulator.n_cores
        return f"about {format_duration(seconds)} on {counted(n_cores, 'core')}"

    def thinned(
        self, document: "Study", nodes: tuple[str, ...], budget_s: float
    ) -> tuple["Study", tuple[str, ...]]:
        """The study thinned to about `budget_s`, and what was left out. Raises InputError where its
        time is not known."""
        from weft.study.plan.budget import thinned
        from weft.study.plan.plan import make_plan

        def seconds_of(study: "Study") -> float:
            seconds = self.seconds(make_plan(study, nodes, is_simulated=True).launches)
            if seconds is not None:
                return seconds
            raise InputError(
                "--budget: weft cannot predict how long this takes",
                expected="a twin (--twin PLATFORM) that follows every packet, without a neighbour",
                hint="fewer --repeats or --node-sets, or a study of fewer sizes",
            )

        return thinned(document, budget_s, seconds_of)

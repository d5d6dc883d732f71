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
    tells by running."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._found: Durations | None = None

    def seconds(self, launches: Sequence[Launch]) -> float | None:
        """About how long they take; None of a machine."""
        from weft.bench.twin.backend import TwinBackend
        from weft.study.plan.duration import durations, simulation_seconds
        from weft.study.run.loop import AHEAD

        if not isinstance(self._backend, TwinBackend):
            return None
        if self._found is None:
            trials = {launch.trial.id: launch.trial for launch in launches}
            self._found = durations(self._backend, tuple(trials.values()))
        return simulation_seconds(self._found, launches, AHEAD)

    def thinned(
        self, document: "Study", nodes: tuple[str, ...], budget_s: float
    ) -> tuple["Study", tuple[str, ...]]:
        """The study thinned to about `budget_s`, and what was left out. Raises InputError on a
        machine."""
        from weft.study.plan.budget import thinned
        from weft.study.plan.plan import make_plan

        def seconds_of(study: "Study") -> float:
            seconds = self.seconds(make_plan(study, nodes, is_simulated=True).launches)
            if seconds is not None:
                return seconds
            raise InputError(
                "--budget needs a twin: how fast a machine is shows when it is measured",
                expected="--twin PLATFORM with it",
                hint="fewer --repeats, or a study of fewer sizes",
            )

        return thinned(document, budget_s, seconds_of, units="node_sets")


def duration_line(seconds: float) -> str:
    """'about 7 min 06 s on 2 cores'."""
    from weft.study.plan.duration import N_CORES

    return f"about {format_duration(seconds)} on {counted(N_CORES, 'core')}"

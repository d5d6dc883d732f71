"""The launches of a check by nccl-tests that are chosen while it goes on."""

from collections.abc import Iterator
from dataclasses import replace

from weft.bench.model import Launch, Sample
from weft.bench.nccl.backend import ADAPTERS
from weft.check.launches import FollowUpBackend, rank_of
from weft.check.nccl.adapters import adapter_tests
from weft.check.nccl.retests import rounds_again
from weft.check.nccl.trials import ADAPTERS_TRIAL, NODES
from weft.check.suspects.follow_up import FollowUpPlan
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY
from weft.core.collection import collection_paused


class NcclFollowUp(FollowUpBackend):
    """Also tests again the hosts whose launches failed or gave wrong results, and the adapters of
    slow nodes one by one."""

    @staticmethod
    def is_planned(trial: str) -> bool:
        """See FollowUpBackend: nodes alone, too."""
        return trial == SURVEY or trial.startswith(NODES)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """See FollowUpBackend."""
        if launch.trial.id != ADAPTERS_TRIAL:
            yield from super().measure(launch)
            return
        rounds, adapters = self._adapter_tests()
        if rounds:
            trial = launch.trial
            numbered = [[[rank_of(a, trial), rank_of(b, trial)] for a, b in of] for of in rounds]
            options = {**trial.options, "rounds": numbered, ADAPTERS: adapters}
            yield from self._inner.measure(replace(launch, trial=replace(trial, options=options)))

    def _planned(self) -> FollowUpPlan:
        is_new = self._plan is None
        plan = super()._planned()
        if is_new:
            plan = replace(plan, together=(*plan.together, *rounds_again(self._survey)))
            self._plan = plan
        return plan

    @collection_paused()
    def _adapter_tests(self) -> tuple[list[list[tuple[str, str]]], list[str]]:
        survey = survey_of(self._survey, self._wiring, thresholds(), adaptive=self._adaptive)
        return adapter_tests(survey, self._survey)

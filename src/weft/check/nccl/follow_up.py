"""The launches of a check by nccl-tests that are chosen while it goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from weft.bench.model import Launch, Sample
from weft.bench.nccl.backend import ADAPTERS
from weft.check.launches import FollowUpBackend, rank_of
from weft.check.nccl.adapters import adapter_tests, suspect_nodes
from weft.check.nccl.retests import packed, rounds_again
from weft.check.nccl.trials import ADAPTERS_TRIAL, NODES
from weft.check.readings.readings import host_of
from weft.check.suspects.crowding.partner_test import Round
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.survey import Survey, survey_of
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

    def _follow_up(self, survey: Survey, hosts: Sequence[str]) -> FollowUpPlan:
        """Without a fabric, tests of different suspects at the same time: a round costs a launch,
        and pairs of other nodes load no adapter of these. Tests of two suspects tell least, and
        come last."""
        most = self._most_rounds
        if most is None or self._wiring is not None:
            return super()._follow_up(survey, hosts)
        at_once = max(1, len(survey.crossings.hosts) // 2)
        plan = follow_up(survey, self._seed, most * at_once, hosts)
        suspects = set(suspect_nodes(survey))

        def is_of_two(test: Round) -> bool:
            return any({host_of(end) for end in pair} <= suspects for pair in test)

        tests = sorted(plan.alone, key=is_of_two)
        return FollowUpPlan(packed(tests)[:most], plan.together[:most])

    @collection_paused()
    def _adapter_tests(self) -> tuple[list[list[tuple[str, str]]], list[str]]:
        survey = survey_of(self._survey, self._wiring, thresholds(), adaptive=self._adaptive)
        return adapter_tests(survey, self._survey)

"""nccl-tests in pods of Kubernetes: one MPIJob a group, those of a round at the same time."""

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.bench.model import Launch, State
from weft.bench.nccl.backend import (
    MOST_AT_ONCE,
    MOST_BYTES,
    NcclBackend,
    is_of_survey,
    stem_of,
    text_of,
)
from weft.bench.nccl.outcome import LaunchStage, NcclOutcome, outcome_of
from weft.bench.nccl.program import NcclGroup, NcclTests
from weft.core.clock import Clock, system_clock
from weft.core.errors import BenchmarkError, MissingError, WeftError
from weft.core.files import write_part
from weft.core.parallel import in_parallel
from weft.core.process import CommandEnd, Ending
from weft.core.work.ending_signals import ended_as_by_ctrl_c
from weft.launch.kubernetes.kubectl import Kubectl
from weft.launch.kubernetes.launcher_failure import launcher_failure
from weft.launch.kubernetes.manifest_text import manifest_text
from weft.launch.kubernetes.mpijob import CHECK_LABEL, JOB_LABEL, PodLaunch, PodSite, mpi_job
from weft.launch.kubernetes.pods import LaunchPods, Pod, PodProblem, launch_pods
from weft.launch.mpi import Mpi
from weft.launch.redact_text import redact_output

POLL_S = 2.0
"""Pods are asked for so often, those of all launches at once."""
SETTLE_S = 30.0
"""A problem that may pass (a registry that is busy, GPUs of pods that are still ending) is one
after so many seconds."""
UNREACHABLE_S = 90.0
"""The API server may be away so long."""
LOGS_AT_ONCE = 8
IMAGE_MPI = Mpi("openmpi", Path("mpicc"), Path("mpirun"), "openmpi", "Open MPI of the image", "")
NO_CHECK = "000000"
"""The id of a check that only prints its plan."""
NO_POD = "the MPI operator made no pod of it"
OPERATOR = (
    "the operator's pod and its log: 'kubectl get pods -A -l app=mpi-operator'; or the queue that"
    " admits jobs to this namespace"
)
FORBIDDEN = (
    "'kubectl describe namespace' and its quotas: a level of Pod Security may forbid what the pods"
    " want; another --namespace, or --manifest"
)


@dataclass(slots=True)
class _Watched:
    """A launch whose pods are followed; times are those of a clock that never goes back."""

    group: NcclGroup
    launch: PodLaunch
    stem: str
    started_s: float
    running_s: float | None = None
    problem: PodProblem | None = None
    problem_s: float = 0.0
    pods: Mapping[str, Pod] = field(default_factory=dict)
    is_replaced: bool = False
    last: LaunchPods = field(default_factory=lambda: launch_pods((), ()))
    outcome: NcclOutcome | None = None

    def see(self, pods: Sequence[Pod], now_s: float) -> None:
        """Take in the state of its pods. Those that are gone stay in `pods` as they were last: the
        operator deletes the workers once mpirun has ended."""
        self.last = launch_pods(pods, self.group.hosts)
        if self.last.is_running and self.running_s is None:
            self.running_s = now_s
        found = {str(pod["metadata"]["name"]): pod for pod in pods}
        # The operator makes a worker anew that somebody deleted; its ranks are dead.
        self.is_replaced |= self.running_s is not None and any(
            _uid(pod) != _uid(self.pods.get(name, pod)) for name, pod in found.items()
        )
        self.pods = {**self.pods, **found}

    @property
    def node_of(self) -> Mapping[str, str]:
        """Nodes by pod, also of pods that are gone."""
        return launch_pods([*self.pods.values()], ()).node_of

    def stopped(self, now_s: float) -> PodProblem | None:
        """The problem that ends the launch: at once, or because it stayed."""
        found = self.last.problem
        if found is not None and found.is_final:
            return found
        is_gone = self.running_s is not None and self.last.launcher is None
        if is_gone or self.is_replaced:
            return PodProblem(
                "deleted",
                "its pods were deleted while it ran",
                "keep other controllers, and drains of nodes, from the pods of weft"
                " (label weft-check)",
                is_final=True,
            )
        if found is None or self.problem is None or found.kind != self.problem.kind:
            self.problem, self.problem_s = found, now_s
        elif len(found.text) > len(self.problem.text):
            # ErrImagePull says why, ImagePullBackOff does not.
            self.problem = found
        stayed = self.problem is not None and now_s - self.problem_s >= SETTLE_S
        return self.problem if stayed else None


class KubernetesNccl(NcclBackend):
    """Runs nccl-tests in pods on `nodes`, by kubectl.

    INVARIANT: when `measure` ends, in whatever way, the jobs of its round are deleted.
    """

    def __init__(
        self,
        kubectl: Kubectl,
        nodes: Sequence[str],
        tests: NcclTests,
        site: PodSite,
        *,
        clock: Clock = system_clock,
    ) -> None:
        super().__init__(IMAGE_MPI, nodes, tests, clock=clock)
        self.kubectl = kubectl
        self.pod_site = site
        self._check = NO_CHECK
        self._left_over = ""

    def prepare(self, trials: Sequence[Any], run_dir: Path) -> None:
        """See NcclBackend. Objects get names of their own for each run of weft."""
        super().prepare(trials, run_dir)
        one = f"{os.uname().nodename} {os.getpid()} {self._clock()} {self._run_dir}"
        self._check = hashlib.sha256(one.encode()).hexdigest()[: len(NO_CHECK)]

    def facts(self) -> Mapping[str, Any]:
        """See NcclBackend; and the image."""
        return {
            **super().facts(),
            "launcher": "kubernetes",
            "context": self.kubectl.context,
            "namespace": self.kubectl.namespace,
            "image": self.pod_site.image,
        }

    def _all(self, launch: Launch, number: int, groups: Sequence[NcclGroup]) -> list[NcclOutcome]:
        """See NcclBackend: the jobs of a round are created, followed and deleted together."""
        found: list[NcclOutcome] = []
        for first in range(0, len(groups), MOST_AT_ONCE):
            part = groups[first : first + MOST_AT_ONCE]
            is_logged = number == 0 and is_of_survey(launch.trial)
            started_s = time.monotonic()
            watched = [
                _Watched(
                    group,
                    self._pod_launch(launch, number, first + i, group, is_logged=is_logged),
                    stem_of(launch, number, group),
                    started_s,
                )
                for i, group in enumerate(part)
            ]
            found += self._part(watched)
        return found

    def _part(self, watched: Sequence[_Watched]) -> list[NcclOutcome]:
        self._refuse_left_over()
        for one in watched:
            path = self._run_dir / "recipes" / f"{one.stem}.yaml"
            write_part(path, self._manifest(one.launch), what="recipe")
        is_made = False
        with ended_as_by_ctrl_c():
            try:
                self.kubectl.create([mpi_job(self.pod_site, one.launch) for one in watched])
                is_made = True
                self._follow(watched)
                wrong = self.kubectl.delete(self._check, waits=True)
            except BaseException as error:
                wrong = self.kubectl.delete(self._check, waits=False)
                # Where not even `create` worked, its own error tells why.
                if wrong and (is_made or not isinstance(error, WeftError)):
                    _add_next(error, self._delete_command())
                raise
        self._left_over = wrong
        self._refuse_left_over()
        return [one.outcome for one in watched if one.outcome is not None]

    def _refuse_left_over(self) -> None:
        """Raises BenchmarkError where jobs are left: more of them would only take more GPUs."""
        if self._left_over:
            raise BenchmarkError(
                f"the jobs of this check cannot be deleted: {self._left_over}",
                expected=f"no MPIJob with the label {CHECK_LABEL}={self._check}",
                hint=self._delete_command(),
            )

    def _delete_command(self) -> str:
        return self.kubectl.shell_text(*self.kubectl.delete_words(self._check))

    def _follow(self, watched: Sequence[_Watched]) -> None:
        """Until each launch has an outcome. Raises MissingError where the API server is gone."""
        seen_s = time.monotonic()
        while left := [one for one in watched if one.outcome is None]:
            try:
                pods = self.kubectl.pods(self._check)
                seen_s = time.monotonic()
            except MissingError:
                if time.monotonic() - seen_s > UNREACHABLE_S:
                    raise
                time.sleep(POLL_S)
                continue
            for one in left:
                one.see([pod for pod in pods if _job(pod) == one.launch.name], seen_s)
            self._end(left, seen_s)
            time.sleep(POLL_S)

    def _end(self, left: Sequence[_Watched], now_s: float) -> None:
        """Give an outcome to each launch that ended, failed, or reached a limit."""
        over: list[tuple[_Watched, Ending, PodProblem | None]] = []
        without = [one for one in left if not one.last.n_pods]
        asks = any(now_s - one.started_s >= SETTLE_S for one in without)
        events = self.kubectl.warnings() if asks else {}
        for one in left:
            problem = one.stopped(now_s)
            if not one.last.n_pods and one.launch.name in events:
                problem = _no_pod(f": {events[one.launch.name]}")
            if one.last.exit_code is not None:
                is_cause = problem is not None and one.last.exit_code != 0
                over.append((one, Ending.EXITED, problem if is_cause else None))
            elif problem is not None:
                over.append((one, Ending.EXITED, problem))
            elif one.running_s is not None and now_s - one.running_s >= one.launch.limit_s:
                over.append((one, Ending.TIMED_OUT, None))
            elif one.running_s is None and now_s - one.started_s >= self.pod_site.start_limit_s:
                over.append((one, Ending.TIMED_OUT, self._not_started(one)))
        in_parallel(over, lambda it: self._collect(*it, now_s), at_once=LOGS_AT_ONCE)

    def _not_started(self, one: _Watched) -> PodProblem:
        """Why a launch reached the limit of its start, as events tell."""
        events = self.kubectl.warnings()
        # Of the pods, of the launcher's Job and of the MPIJob.
        names = (*one.pods, f"{one.launch.name}-launcher", one.launch.name)
        said = next((f": {events[name]}" for name in names if name in events), "")
        limit = f"{self.pod_site.start_limit_s:g} s"
        if not one.last.n_pods:
            return _no_pod(f" in {limit}{said}")
        if one.last.problem is not None:
            return one.last.problem
        text = f"{one.last.waiting} did not start in {limit}{said}"
        return PodProblem("slow", text, "--start-limit, or 'kubectl describe pod' while weft runs")

    def _collect(
        self, one: _Watched, ending: Ending, problem: PodProblem | None, now_s: float
    ) -> None:
        """Keep a launch's output and its pods' last state, and set its outcome."""
        raw = self._run_dir / "raw"
        out, err = raw / f"{one.stem}.out", raw / f"{one.stem}.err"
        for path in (out, err):
            write_part(path, "", what="output of a launch")
        has_output = True
        if one.last.launcher is not None:
            has_output = self.kubectl.logs(*one.last.launcher, out, err, MOST_BYTES)
            # Pods have names of weft's; nodes are what is checked.
            text = _with_nodes(text_of(out), one.node_of)
            write_part(out, text, what="output of a launch")
        state = raw / f"{one.stem}.pods.json"
        write_part(state, json.dumps([*one.pods.values()], indent=1), what="state of pods")
        for path in (out, err, state):
            redact_output(path)
        if problem is not None:
            one.outcome = _failed(one.group, problem)
            return
        if not has_output:
            problem = PodProblem(
                "output", f"its output cannot be read: {text_of(err).strip()}", "'kubectl logs'"
            )
            one.outcome = _failed(one.group, problem)
            return
        ended = CommandEnd(ending, one.last.exit_code or 0, now_s - one.started_s)
        text = text_of(out)
        found = outcome_of(self.tests, one.group, ended, (text, ""), one.launch.limit_s)
        if found.state is not State.OK and found.stage in (
            LaunchStage.NOTHING,
            LaunchStage.STARTED,
        ):
            problem = None if found.is_missing else launcher_failure(text, one.group.hosts)
        one.outcome = found if problem is None else _failed(one.group, problem)

    def _launch_text(self, launch: Launch, group: NcclGroup, *, is_logged: bool) -> str:
        return self._manifest(self._pod_launch(launch, 0, 0, group, is_logged=is_logged))

    def _pod_launch(
        self, launch: Launch, number: int, index: int, group: NcclGroup, *, is_logged: bool
    ) -> PodLaunch:
        return PodLaunch(
            name=f"weft-{self._check}-{launch.order}-{number}-{index}",
            check=self._check,
            nodes=group.hosts,
            n_gpus=self.tests.tasks_per_node(group),
            program=self.tests.argv(launch.trial.sizes_bytes),
            env=self.tests.env(group, is_logged=is_logged),
            limit_s=launch.trial.timeout_s,
        )

    def _manifest(self, launch: PodLaunch) -> str:
        return manifest_text(mpi_job(self.pod_site, launch))


def _no_pod(said: str) -> PodProblem:
    remedy = FORBIDDEN if "forbidden" in said else OPERATOR
    return PodProblem("no pods", f"{NO_POD}{said}", remedy)


def _failed(group: NcclGroup, problem: PodProblem) -> NcclOutcome:
    return NcclOutcome(
        group,
        State.FAILED,
        LaunchStage.NOTHING,
        reason=problem.text,
        blamed=problem.node,
        is_missing=not problem.is_fault,
        remedy=problem.remedy,
    )


def _add_next(error: BaseException, command: str) -> None:
    """What to do about jobs that are left, beside what an error or an interrupt says."""
    if isinstance(error, WeftError):
        error.hint = "; ".join(filter(None, (error.hint, f"jobs are left: {command}")))
    else:
        error.add_note(f"jobs are left on the cluster\nnext: {command}")


def _job(pod: Pod) -> str:
    return str((pod["metadata"].get("labels") or {}).get(JOB_LABEL))


def _uid(pod: Pod) -> str:
    return str(pod["metadata"].get("uid"))


def _with_nodes(text: str, node_of: Mapping[str, str]) -> str:
    """The text with the node in the place of each pod's host name, with its domain or without."""
    if not node_of:
        return text
    names = "|".join(map(re.escape, sorted(node_of, key=len, reverse=True)))
    pattern = rf"(?<![\w.-])({names})(?:\.[\w.-]+?\.svc(?:\.[\w-]+)*)?(?![\w-])"
    return re.sub(pattern, lambda match: node_of[match[1]], text)

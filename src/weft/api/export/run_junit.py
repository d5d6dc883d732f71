"""Runs as JUnit XML: the verdict of a check; of other runs a test case for each trial."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from weft.bench.model import Trial
from weft.check.pipeline import has_pairs, judge_run
from weft.check.wording.junit import check_suite, clean, count, junit_document
from weft.core.words import counted
from weft.study.comparison.cells import ONE_ARM, arm_name, scale_text
from weft.study.run.store import Failure, StudyRun
from weft.study.sample_table import sample_table

Reasons = Mapping[str, list[str]]
"""By trial, of each of its samples why it counts in no comparison; "" where it counts."""


def runs_junit_text(runs: Sequence[StudyRun]) -> str:
    """The document, a suite a run."""
    return junit_document([_suite(run) for run in runs])


def _suite(run: StudyRun) -> ElementTree.Element:
    seconds = sum(run.seconds.values())
    if has_pairs(run):
        return check_suite(judge_run(run), seconds, f"weft check {run.directory}")
    name = f"weft {run.directory}"
    suite = ElementTree.Element("testsuite", name=clean(name))
    reasons = _reasons(run)
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    for _, trial in sorted(trials.items()):
        _add_trial(suite, run, trial, reasons)
    whole = _case(suite, "run", "complete", 0.0)
    if run.n_unfinished:
        launches = counted(len(run.launches), "launch", "launches")
        _add(whole, "error", f"{run.n_unfinished} of {launches} not finished", "unfinished")
    if run.remarks:
        ElementTree.SubElement(suite, "system-out").text = clean("\n".join(run.remarks))
    count(suite, seconds)
    return suite


def _reasons(run: StudyRun) -> Reasons:
    """Without a launch that is over no sample has a reason, and no table exists."""
    found: dict[str, list[str]] = {}
    if run.samples or run.failures:
        columns = sample_table([run]).columns
        for trial, reason in zip(columns["trial"], columns["left_out"], strict=True):
            found.setdefault(trial, []).append(reason)
    return found


def _add_trial(suite: ElementTree.Element, run: StudyRun, trial: Trial, reasons: Reasons) -> None:
    """A failure where a launch failed or hung, an error where no sample counts, skipped where no
    launch is over."""
    planned = [launch for launch in run.launches if launch.trial.id == trial.id]
    seconds = sum(run.seconds.get(launch.key, 0.0) for launch in planned)
    case = _case(suite, trial.benchmark, _trial_name(trial), seconds)
    failures = [one for one in run.failures if one.trial == trial.id]
    left_out = reasons.get(trial.id, [])
    if failures:
        launches = counted(len(planned), "launch", "launches")
        _add(
            case,
            "failure",
            f"{len(failures)} of {launches} {_words(failures)}",
            failures[0].state.value,
            "\n".join(f"repeat {one.repeat}: {one.message}" for one in failures),
        )
    elif not left_out:
        ElementTree.SubElement(case, "skipped", message="no launch is finished")
    elif all(left_out):
        _add(case, "error", f"no sample counts: {left_out[0]}", "left-out")


def _words(failures: Sequence[Failure]) -> str:
    return " or ".join(sorted({one.state.value for one in failures}))


def _trial_name(trial: Trial) -> str:
    arm = arm_name({**trial.arm, **trial.condition})
    named = "" if arm == ONE_ARM else f", {arm}"
    scale = scale_text(len(trial.nodes), trial.tasks_per_node)
    return f"{trial.benchmark} on {scale}{named} ({trial.id})"


def _case(suite: ElementTree.Element, kind: str, name: str, seconds: float) -> ElementTree.Element:
    names = {"classname": clean(f"weft.{kind}"), "name": clean(name)}
    return ElementTree.SubElement(suite, "testcase", {**names, "time": f"{seconds:.3f}"})


def _add(case: ElementTree.Element, tag: str, message: str, kind: str, more: str = "") -> None:
    element = ElementTree.SubElement(case, tag, {"message": clean(message), "type": kind})
    element.text = clean("\n".join(filter(None, (message, more))))

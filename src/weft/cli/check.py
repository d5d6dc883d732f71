"""`weft check`: all pairs of nodes, and the one component that explains the slow ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.backend import BackendChoice, backend_options
from weft.cli.output import emit, format_option, talk
from weft.cli.run_dir import fresh_run_dir
from weft.core.errors import BenchmarkError, ExitCode, InputError

if TYPE_CHECKING:
    from weft.bench.model import Backend, Launch, Sample
    from weft.diagnose.crossing import Wiring
    from weft.diagnose.verdict import Verdict
    from weft.study.store import RunStore

TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class _Setup:
    """What will be measured, before anything is."""

    backend: "Backend"
    fabric: "Wiring | None"
    launches: "tuple[Launch, Launch]"

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.launches[0].trial.nodes


@click.command(name="check")
@backend_options
@click.option("--small", default="8", show_default=True, help="Message size for latency.")
@click.option("--large", default="1M", show_default=True, help="Message size for bandwidth.")
@click.option(
    "--dir",
    "run_dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the run is kept. Default: runs/check-<time>.",
)
@click.option("--resume", is_flag=True, help="Go on with the interrupted check in --dir.")
@click.option("--matrix", is_flag=True, help="Show every pair's share of its hop class.")
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and measure nothing.")
@format_option
def command(
    *,
    choice: BackendChoice,
    small: str,
    large: str,
    run_dir: Path | None,
    resume: bool,
    matrix: bool,
    dry_run: bool,
    format_: str,
) -> int:
    """Is this fabric healthy, and if not, which node, link or switch?

    Measures every pair of nodes, measures the slow ones again alone, and names the component that
    all slow pairs cross and no normal one does. Exit 1 when something is slow.
    """
    from weft.core.clock import system_clock

    if resume and run_dir is None:
        raise InputError(
            "--resume needs --dir", expected="the directory of the check to go on with"
        )
    setup = _set_up(choice, (small, large))
    if dry_run:
        _say_plan(setup, format_)
        return int(ExitCode.GOOD)
    started = system_clock()
    directory = run_dir or fresh_run_dir("check")
    samples = _measure(setup, choice, directory, resume)
    verdict = _judge(samples, setup.fabric)
    result = _Result(
        verdict=verdict,
        directory=directory,
        seconds=system_clock() - started,
        planted=_planted(setup.backend, verdict),
    )
    _print(result, format_, matrix=matrix)
    return int(verdict.exit_code)


def _set_up(choice: BackendChoice, size_texts: tuple[str, str]) -> _Setup:
    from weft.catalog.load import benchmark
    from weft.cli.backend import is_one_host, open_backend
    from weft.diagnose.retest import check_launches, rounds_without_collisions
    from weft.diagnose.schedule import reflection_rounds

    sizes = _sizes(*size_texts)
    # The fabric of real hosts is for naming cables; that of a twin is what the twin is made of.
    of_hosts = choice.fabric if choice.twin is None else ()
    backend, nodes = open_backend(replace(choice, fabric=()) if of_hosts else choice)
    one_host = is_one_host(choice, nodes)
    if len(nodes) < 2 and not (one_host and _cpus() > 1):
        raise InputError(
            "one node makes no pair",
            expected="two nodes or more; six or more to name one",
            hint="weft check --twin fat-tree --nodes 16 shows what a check does",
        )
    fabric = _read_fabric(of_hosts, nodes) if of_hosts else _fabric_of(backend)
    if one_host:
        tasks_per_node, rounds = _cpus(), reflection_rounds(_cpus())
    else:
        tasks_per_node = _n_rails(choice, fabric)
        rounds = rounds_without_collisions(nodes, tasks_per_node, fabric)
    launches = check_launches(
        nodes,
        tasks_per_node=tasks_per_node,
        sizes_bytes=sizes,
        rounds=rounds,
        options=benchmark("pairs").options,
        timeout_s=TIMEOUT_S,
    )
    return _Setup(backend, fabric, launches)


def _sizes(small: str, large: str) -> tuple[int, int]:
    from weft.core.units import parse_size

    sizes = (parse_size(small), parse_size(large))
    if not 0 < sizes[0] < sizes[1]:
        raise InputError(
            f"--small {small} --large {large} does not make a small and a large message",
            expected="a small size above 0 bytes, and a larger one",
        )
    return sizes


def _read_fabric(files: tuple[str, ...], nodes: tuple[str, ...]) -> "Wiring":
    """The fabric of files; every node must be in it. Raises InputError."""
    from weft.cli.fabric_files import fabric_of_files
    from weft.topology.fabric import Fabric

    fabric = Fabric.from_document(fabric_of_files(files))
    missing = [node for node in nodes if node not in fabric.nodes]
    if missing:
        raise InputError(
            f"no node '{missing[0]}' in this fabric",
            where=files[0],
            expected=f"the hosts by the fabric's names, such as {fabric.nodes[0]}",
        )
    return fabric


def _fabric_of(backend: "Backend") -> "Wiring | None":
    document = getattr(backend, "fabric_document", None)
    if document is None:
        return None
    from weft.topology.fabric import Fabric

    return Fabric.from_document(dict(document))


def _n_rails(choice: BackendChoice, fabric: "Wiring | None") -> int:
    """Rails to measure: those named, else all that every node has."""
    if choice.rails:
        return len(choice.rails.split(","))
    if fabric is None:
        return 1
    return min(len(node["hcas"]) for node in fabric.document["nodes"])


def _cpus() -> int:
    """CPUs this process may use: as many ranks as one host can hold without sharing any."""
    import os

    return len(os.sched_getaffinity(0))


def _say_plan(setup: _Setup, format_: str) -> None:
    from weft.cli.dry_run import print_dry_run
    from weft.diagnose.coverage import counted

    survey = setup.launches[0]
    rounds = survey.trial.options["rounds"]
    n_pairs = sum(len(pairs) for pairs in rounds)
    plan = (
        f"{counted(n_pairs, 'pair')} of {survey.trial.n_ranks} ranks"
        f" in {counted(len(rounds), 'round')},"
        f" sizes {survey.trial.sizes_bytes[0]} and {survey.trial.sizes_bytes[1]} bytes;"
        f" then the slow pairs again, one at a time{_estimate(setup)}"
    )
    print_dry_run(setup.backend, [survey], format_, first_line=plan)


def _estimate(setup: _Setup) -> str:
    """How long the first part takes; known where the fabric's rates are."""
    from weft.core.units import format_duration
    from weft.diagnose.schedule import estimate_s

    if setup.fabric is None:
        return ""
    trial = setup.launches[0].trial
    seconds = estimate_s(
        len(trial.options["rounds"]),
        size_bytes=trial.sizes_bytes[1],
        window=int(trial.options.get("window", 64)),
        bits_per_s=min(int(link["bits_per_s"]) for link in setup.fabric.document["links"]),
    )
    return f"; about {format_duration(seconds)} on a real fabric at this rate"


def _measure(
    setup: _Setup, choice: BackendChoice, directory: Path, resume: bool
) -> "tuple[Sample, ...]":
    from weft.cli.progress import shown_check_progress
    from weft.diagnose.retest import SURVEY, RetestBackend
    from weft.study.run import execute
    from weft.study.store import RunStore, read_run

    known: tuple[Sample, ...] = ()
    if resume:
        known = tuple(s for s in read_run(directory).samples if s.trial == SURVEY)
    backend = RetestBackend(setup.backend, setup.fabric, known)
    store = RunStore.open(directory) if resume else _new_store(setup, choice, directory)
    with store, shown_check_progress() as progress:
        try:
            outcome = execute(setup.launches, backend, store, progress=progress)
        except KeyboardInterrupt:
            talk(f"go on with the same command, --dir {directory} and --resume")
            raise
    if outcome.failures:
        failure = outcome.failures[0]
        raise BenchmarkError(
            f"the check did not finish: {failure.message}",
            where=f"launch {failure.trial}",
            hint=f"raw output is in {directory / 'raw'}",
        )
    return read_run(directory).samples


def _new_store(setup: _Setup, choice: BackendChoice, directory: Path) -> "RunStore":
    import sys

    from weft.study.meta import run_meta
    from weft.study.store import RunStore

    meta = run_meta(
        study_text=_study_text(setup, choice.seed),
        seed=choice.seed,
        backend=setup.backend,
        nodes=setup.nodes,
        argv=sys.argv,
    )
    return RunStore.create(directory, meta)


def _study_text(setup: _Setup, seed: int) -> str:
    """The check as a study document, so that every reader of run directories can read it."""
    import tomli_w

    small, large = setup.launches[0].trial.sizes_bytes
    study = {
        "schema": "weft.study/1",
        "name": "check",
        "title": f"Check of {len(setup.nodes)} nodes",
        "question": "Is this fabric healthy, and if not, which node, link or switch?",
        "seed": seed,
        "repeats": 1,
        "nodes": [len(setup.nodes)],
        "tasks_per_node": [setup.launches[0].trial.tasks_per_node],
        "benchmarks": [{"name": "pairs", "sizes": f"{small},{large}"}],
    }
    return tomli_w.dumps(study)


def _judge(samples: "tuple[Sample, ...]", fabric: "Wiring | None") -> "Verdict":
    from weft.diagnose.retest import RETEST, SURVEY
    from weft.diagnose.verdict import judge_pairs

    survey = [sample for sample in samples if sample.trial == SURVEY]
    alone = [sample for sample in samples if sample.trial == RETEST]
    return judge_pairs(survey, fabric, isolated=alone)


def _planted(backend: "Backend", verdict: "Verdict") -> tuple[Mapping[str, str], ...]:
    """What was planted in a twin and whether the verdict, which was not told, names it."""
    return tuple(
        {"fault": fault.describe(), "named": _is_named(fault.place, verdict)}
        for fault in getattr(backend, "faults", ())
    )


def _is_named(place: str, verdict: "Verdict") -> str:
    """'yes', 'tie', 'no', or 'no pair crosses it'."""
    for finding in verdict.findings:
        ends = {end for suspect in finding.facts.get("suspects", ()) for end in suspect["ends"]}
        if place in ends:
            return "tie" if finding.facts["tie"] else "yes"
    out_of_reach = any(place in cable for cable in verdict.coverage.cables_never_crossed)
    return "no pair crosses it" if out_of_reach else "no"


@dataclass(frozen=True, slots=True)
class _Result:
    verdict: "Verdict"
    directory: Path
    seconds: float
    planted: tuple[Mapping[str, str], ...]

    @property
    def next_command(self) -> str:
        return f"weft report {self.directory}"


def _print(result: _Result, format_: str, *, matrix: bool) -> None:
    from weft.cli.check_text import reading_rows, verdict_text

    record: dict[str, Any] = {
        **result.verdict.to_record(),
        "seconds": round(result.seconds, 3),
        "planted": [dict(one) for one in result.planted],
        "run": str(result.directory),
        "next_command": result.next_command,
    }
    rows = reading_rows(result.verdict.judged) if format_ != "text" else []
    emit(
        format_,
        text=lambda: verdict_text(
            result.verdict,
            seconds=result.seconds,
            planted=result.planted,
            next_command=result.next_command,
            matrix=matrix,
        ),
        record={**record, "readings": rows},
        rows=rows,
    )

"""`weft replay`: a recorded program on a twin."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import tomli_w
from click.core import ParameterSource

from weft.cli.backend.choice import BackendChoice, require_twin, twin_options
from weft.cli.bench.congestion import (
    AGGRESSOR,
    EACH,
    REPEATS,
    load_factor,
    require_aggressors,
)
from weft.cli.measure import measure_study
from weft.cli.options import FILE, NODE_SETS, NumberRange, run_dir_option
from weft.cli.output import format_option, talk
from weft.core.errors import ExitCode, InputError
from weft.core.files import write_whole
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.replay import ReplayOptions
    from weft.study.plan.model import Study
    from weft.trace.iterations import Iterations
    from weft.trace.trace import Trace


class ScaleType(click.ParamType[int]):
    """'8x' or '8' as a number."""

    name = "scale"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of a text."""
        digits = str(value).removesuffix("x")
        from weft.trace.scaling import MOST_FACTOR

        if not digits.isdecimal() or not 1 <= int(digits[:9]) <= MOST_FACTOR:
            self.fail(f"'{value}' is no scale from 1x to {MOST_FACTOR}x", param, ctx)
        return int(digits)


REFUSED = (
    *("tasks_per_node", "iteration", "goal", "scale", "strong", "compute", "node_sets", "run_dir"),
    *("dry_run", "each_aggressor"),
)
"""Options that a Chakra trace does not have."""


def is_default(context: click.Context, name: str) -> bool:
    """Whether the user left an option out."""
    return context.get_parameter_source(name) is ParameterSource.DEFAULT


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1),
    help="Ranks a node. Default: as recorded; 1 if there was one host, or if hosts had different "
    "numbers of ranks.",
)
@click.option(
    "--compute",
    type=NumberRange(0, 1e6),
    default=1.0,
    show_default=True,
    help="Multiply all computing: 0.5 for processors twice as fast.",
)
@click.option(
    "--iteration",
    metavar="CALL[:SIZE][*N]",
    help="The collective of all ranks at which an iteration begins, such as allreduce:8; *2: at "
    "each second one. Default: the one that divides the run best.",
)
@click.option(
    "--scale",
    metavar="Nx",
    type=ScaleType(),
    default=1,
    help="On N times the ranks, by the grid of neighbours that its messages show: 8x.",
)
@click.option(
    "--strong",
    is_flag=True,
    help="With --scale: all ranks together have as much to do as before. Default: each rank has.",
)
@AGGRESSOR
@EACH
@click.option(
    "--goal",
    type=FILE,
    help="Write the program as GOAL there, for LogGOPSim and others, and simulate nothing.",
)
@NODE_SETS
@run_dir_option("Where the run is kept. Default: runs/replay-<time>.")
@click.option("--dry-run", is_flag=True, help="Print what would be simulated; simulate nothing.")
@twin_options
@format_option
def command(
    *,
    trace: Path,
    tasks_per_node: int | None,
    compute: float,
    iteration: str | None,
    scale: int,
    strong: bool,
    aggressors: tuple[str, ...],
    each_aggressor: bool,
    goal: Path | None,
    node_sets: int | None,
    run_dir: Path | None,
    dry_run: bool,
    choice: BackendChoice,
    format_: str,
) -> int:
    """Repeat a recorded program on a twin.

    TRACE is a directory that `weft record` wrote, an OTF2 archive (its traces.otf2, or the
    directory that Score-P wrote), or the directory of a Chakra execution trace (NAME.0.et ...),
    whose GPUs a twin with NVLink and rails repeats once. Each rank computes as long as it did, and
    sends and receives the same messages. Collectives use the algorithms that the platform is known
    to use; else those that the recorded MPI would choose, if the catalogue knows them; else the
    platform's assumed ones. An iteration lasts from when the last rank passes one mark to when the
    last rank passes the next.

    With --aggressor weft compares iterations alone and beside another job, on node sets drawn anew.
    """
    from weft.bench.replay import RankScale, ReplayOptions, recorded_trace
    from weft.cli.replay.chakra import replay_chakra
    from weft.trace.chakra.files import is_chakra

    _check(choice, aggressors, goal, scale, strong=strong)
    require_aggressors(aggressors, each=each_aggressor)
    if is_chakra(trace):
        context = click.get_current_context()
        others = {k: context.params[k] for k in REFUSED if not is_default(context, k)}
        others["aggressors"] = aggressors
        return replay_chakra(trace, choice, format_, others)
    whole, iterations = recorded_trace(str(trace), iteration or "")
    tasks = tasks_per_node or _recorded_tasks(whole)
    how = ReplayOptions(iteration or "", compute, RankScale(scale, strong))
    n_nodes = _whole_nodes(whole.n_ranks * scale, tasks)
    for line in [*_summary_lines(whole, iterations, how), *_scale_lines(str(trace), how)]:
        talk(line)
    if goal is not None:
        return _write_goal(whole, how, goal)
    sets = node_sets or (REPEATS if aggressors else 1)
    plan: dict[str, Any] = {
        "nodes": [n_nodes],
        "tasks_per_node": [tasks],
        "repeats": 1,
        "node_sets": sets,
        "seed": choice.seed,
        **({"factors": [load_factor(aggressors, each=each_aggressor)]} if aggressors else {}),
    }
    options: dict[str, Any] = {"trace": str(trace.absolute()), "compute": compute}
    if iteration is not None:
        options["iteration"] = iteration
    if scale > 1:
        options |= {"scale": scale, "strong": strong}

    def study_on(_: Sequence[str]) -> "tuple[Study, str]":
        from weft.study.plan.document import parse_study

        text = _study_text(_name(trace), plan, options)
        return parse_study(text, "weft replay"), text

    return measure_study(study_on, choice, format_, run_dir=run_dir, resume=False, dry_run=dry_run)


def _name(path: Path) -> str:
    """Of an archive's anchor file the directory as well: most are named alike."""
    return f"{path.absolute().parent.name}/{path.name}" if path.is_file() else path.name


def _whole_nodes(n_ranks: int, tasks: int) -> int:
    """How many nodes. Raises InputError where the last one is not full."""
    if n_ranks % tasks:
        raise InputError(
            f"{n_ranks} ranks do not fill whole nodes of {tasks}",
            expected=f"a number that divides {n_ranks}",
            hint="--tasks-per-node N",
        )
    return n_ranks // tasks


def _study_text(name: str, plan: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    return tomli_w.dumps(
        {
            "schema": "weft.study/1",
            "name": "replay",
            "title": f"replay of {name}",
            "question": f"How long is an iteration of {name} here?",
            **plan,
            "benchmarks": [{"name": "replay", "sizes": "", "options": options}],
        }
    )


def _scale_lines(path: str, how: "ReplayOptions") -> list[str]:
    """How the program grows. Raises InputError."""
    from weft.bench.replay import recorded_programs
    from weft.trace.grid import larger
    from weft.trace.scaling import grid_of, iterations_of_ranks

    if how.scale.factor == 1:
        return []
    small = grid_of(iterations_of_ranks(recorded_programs(path, how)))
    weak, strong = "weak: each rank does as much", "strong: all ranks together do as much"
    large, kind = larger(small, how.scale.factor), strong if how.scale.strong else weak
    return [f"scaled from a grid of {small.words} ranks to {large.words}; {kind} as recorded"]


def _write_goal(trace: "Trace", how: "ReplayOptions", out: Path) -> int:
    from weft.bench.replay import (
        collective_moves,
        library_algorithm,
        library_of,
        replay_programs,
    )
    from weft.trace.goal import goal_text
    from weft.trace.program import written

    choose = partial(library_algorithm, library_of(trace))
    program = written(replay_programs(str(trace.path), how), choose)
    text = "\n".join(goal_text(program.text, collective_moves)) + "\n"
    write_whole(out, text, what="GOAL text")
    talk(f"wrote {out}")
    return int(ExitCode.GOOD)


def _check(
    choice: BackendChoice, aggressors: Sequence[str], goal: Path | None, scale: int, *, strong: bool
) -> None:
    """Raises InputError for options that contradict each other."""
    if goal is None:
        require_twin(choice, {"weft replay": True})
    elif aggressors:
        raise InputError("--goal with --aggressor", expected="one of them: GOAL is one program")
    if strong and scale == 1:
        raise InputError("--strong without --scale", expected="--scale 8x with it")


def _recorded_tasks(trace: "Trace") -> int:
    """Ranks a node as recorded; 1 of one host, and of hosts with different numbers of ranks."""
    counts = set(trace.tasks_by_host.values())
    return counts.pop() if len(trace.tasks_by_host) > 1 and len(counts) == 1 else 1


def _summary_lines(trace: "Trace", iterations: "Iterations", how: "ReplayOptions") -> list[str]:
    """What is replayed, and what of it cannot be."""
    import numpy as np

    from weft.bench.replay import program_caveats
    from weft.trace.recording import command_of

    name = command_of(trace.path) or _name(trace.path)
    lines = [f"{counted(trace.n_ranks, 'rank')} of: {name}"]
    if iterations.n:
        median_us = float(np.median(iterations.seconds)) * 1e6
        lines.append(
            f"{counted(iterations.n, 'iteration')}, from {iterations.name} to the next; recorded "
            f"median {median_us:,.0f} us"
        )
    else:
        lines.append(
            "no call repeats six times or more on all ranks: the whole run is one iteration; "
            "--iteration CALL names a rarer one"
        )
    return lines + [f"! {caveat}" for caveat in program_caveats(str(trace.path), how)]

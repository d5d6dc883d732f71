"""The output of `--dry-run`: the command lines of a live run, or a twin's scenarios in few words.

A scenario is a document of hundreds of lines: it is printed whole only as JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.bench.model import Backend, Launch, Trial
from weft.cli.output import emit
from weft.core.words import counted


def print_dry_run(
    backend: Backend,
    launches: Sequence[Launch],
    format_: str,
    *,
    first_line: str = "",
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print one launch a trial: its repeats are alike. `first_line` (or a few) stands above them;
    `more` is added to the JSON."""
    from weft.bench.twin.backend import TwinBackend

    by_trial: dict[str, list[Launch]] = {}
    for launch in launches:
        by_trial.setdefault(launch.trial.id, []).append(launch)
    rows = [_row(same[0].trial, len(same)) for same in by_trial.values()]
    # A twin's scenario is a document; any other backend has a recipe in words.
    recipes: list[dict[str, Any]] = [
        {"scenario": backend.scenario(same[0])}
        if isinstance(backend, TwinBackend)
        else {"recipe": backend.recipe(same[0])}
        for same in by_trial.values()
    ]
    emit(
        format_,
        text=lambda: _text(rows, recipes, first_line),
        record={
            "dry_run": True,
            **({"summary": first_line} if first_line else {}),
            **(more or {}),
            "trials": [{**row, **recipe} for row, recipe in zip(rows, recipes, strict=True)],
        },
        rows=rows,
    )


def _row(trial: Trial, n_launches: int) -> dict[str, Any]:
    return {
        "trial": trial.id,
        "benchmark": trial.benchmark,
        "nodes": ",".join(trial.nodes),
        "tasks_per_node": trial.tasks_per_node,
        "n_sizes": len(trial.sizes_bytes),
        "launches": n_launches,
    }


def _text(
    rows: Sequence[Mapping[str, Any]], recipes: Sequence[Mapping[str, Any]], first_line: str
) -> str:
    lines = [first_line] if first_line else []
    for row, recipe in zip(rows, recipes, strict=True):
        is_live = "recipe" in recipe
        text = recipe["recipe"] if is_live else _scenario_words(row, recipe["scenario"])
        lines += [f"# {row['trial']}", text]
    if any("scenario" in recipe for recipe in recipes):
        lines.append("\nthe whole scenario:  the same command with --format json")
    return "\n".join(lines)


def _scenario_words(row: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    job = scenario["tenants"][0] if "tenants" in scenario else scenario
    nodes = job["placement"]["nodes"]
    where = row["nodes"] if len(nodes) <= 4 else counted(len(nodes), "node")
    tasks = counted(int(row["tasks_per_node"]), "rank")
    sizes = f", {counted(row['n_sizes'], 'message size')}" if row["n_sizes"] else ""
    times = "once" if row["launches"] == 1 else f"{row['launches']} times"
    faults = ", with planted faults" if scenario["faults"] else ""
    return (
        f"simulated {times}: {row['benchmark']} on {where} of {scenario['fabric']['name']},"
        f" {tasks} a node{sizes}{faults}"
    )

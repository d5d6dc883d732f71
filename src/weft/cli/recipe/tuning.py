"""`weft recipe --from RUN --to FORM`: a study's algorithms as a file that its library loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.output import emit, table_text
from weft.cli.recipe.written_files import write_files
from weft.core.errors import ExitCode, InputError
from weft.core.shell_line import quoted
from weft.core.units import format_size
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.tuning.held_out import HeldOutRegret, TooFewLaunches
    from weft.study.tuning.ranges import RankRange, SizeRange
    from weft.study.tuning.tuning import Tuning
    from weft.study.tuning.tuning_files import TunedCollective

TUNING_FORMS = ("ompi-rules", "mpich-json", "nccl-tuner")
ENVIRONMENT = "tuning.env"


def tuning_recipe(
    run_dir: Path, form: str, library: Path | None, folder: Path | None, format_: str
) -> int:
    """Print the choices of a run, and write their files into `folder`. Raises InputError."""
    from weft.study.run.store import read_run
    from weft.study.tuning.tuning import tune

    if library is not None and form != "mpich-json":
        raise InputError(
            f"--library and --to {form} exclude each other", expected="--to mpich-json"
        )
    tuning = tune(read_run(run_dir, with_fabric=False), form, library)
    texts = _texts(tuning, folder)
    last = ""
    if folder is not None and texts:
        write_files(folder, texts, "tuning of a library")
        last = f"next:  set the variables of {folder / ENVIRONMENT} in the job"
    elif texts:
        again = f"weft recipe --from {quoted(str(run_dir))} --to {form}"
        again += f" --library {quoted(str(library))}" if library else ""
        last = f"next:  {again} --dir tuning"
    emit(
        format_,
        text=lambda: _text(tuning, last),
        record=_record(tuning, form, texts),
        rows=_rows(tuning),
    )
    return int(ExitCode.NO_VERDICT if tuning.is_undecided else ExitCode.GOOD)


def _texts(tuning: "Tuning", folder: Path | None) -> dict[str, str]:
    """By name the text of each file; with `folder` the variables name its files by their paths."""
    if tuning.files is None:
        return {}
    texts = dict(tuning.files.texts)
    place = Path() if folder is None else folder.absolute()
    lines = [
        f"{name}={place / value if value in texts else value}\n"
        for name, value in tuning.files.variables.items()
    ]
    return texts | {ENVIRONMENT: "".join(lines)}


def _text(tuning: "Tuning", last: str) -> str:
    lines = [_verdict(tuning)]
    if tuning.is_simulated:
        lines.append("  ! Simulated: a twin's default stands for the library's own choice.")
    lines += [f"  ! {note}" for note in (tuning.files.notes if tuning.files else ())]
    lines += [f"  ! left out, as it changes more: {arm}" for arm in tuning.left_out]
    lines += ["", *(_regret_line(name, one) for name, one in tuning.regrets.items())]
    lines += ["", _table(tuning), "", *_reach(tuning)]
    return "\n".join([*lines, *(["", last] if last else [])])


def _verdict(tuning: "Tuning") -> str:
    chosen = [choice for choice in tuning.choices if not choice.is_default]
    n_all = counted(len(tuning.choices), "cell")
    title = tuning.library.title
    if tuning.is_undecided:
        words = ", ".join(dict.fromkeys(choice.undecided for choice in tuning.choices))
        return f"UNKNOWN  no arm has a verdict in {n_all}: {words}"
    if not chosen:
        return f"KEEP  no algorithm beats {title}'s own choice beyond doubt in {n_all}"
    least, most = (end(choice.speed_up for choice in chosen) for end in (min, max))
    return (
        f"CHOSEN  {title} gets another algorithm in {len(chosen)} of {n_all}: {least:.2f} to "
        f"{most:.2f} times faster; its own choice stays in {len(tuning.choices) - len(chosen)}"
    )


def _regret_line(name: str, regret: "HeldOutRegret | TooFewLaunches") -> str:
    from weft.study.tuning.held_out import TooFewLaunches

    if isinstance(regret, TooFewLaunches):
        return (
            f"expected regret of {name}: not known, because halves of {regret.n} "
            f"{regret.unit.value} decide nothing; {regret.needed} in all would"
        )
    ranks, size = regret.worst_place
    place = f"{format_size(size)} on {ranks} ranks" if size else f"{ranks} ranks"
    return (
        f"expected regret of {name}: {regret.mean:.1%} in the mean of "
        f"{counted(regret.n_cells, 'cell')}, {regret.worst:.1%} at most ({place}); the library's "
        f"own choice: {regret.of_default:.1%}"
    )


def _table(tuning: "Tuning") -> str:
    """A line a range of sizes."""
    title = "# chosen on all launches; faster than the library's own choice, with the 95 % interval"
    heads = ["collective", "ranks", "sizes", "algorithm", "times faster"]
    cells = [
        [one.arms.collective, _ranks(ranks), _sizes(sizes), *_chosen(one, sizes)]
        for one in tuning.collectives
        for ranks in one.ranges
        for sizes in ranks.sizes
    ]
    return f"{title}\n{table_text(heads, cells, left=5)}"


def _ranks(ranks: "RankRange") -> str:
    return str(ranks.first) if ranks.first == ranks.last else f"{ranks.first} to {ranks.last}"


def _sizes(sizes: "SizeRange") -> str:
    if sizes.last == 0:
        return "-"
    first, last = format_size(sizes.first), format_size(sizes.last)
    return first if first == last else f"{first} to {last}"


def _chosen(one: "TunedCollective", sizes: "SizeRange") -> list[str]:
    if not sizes.arm:
        undecided = all(choice.undecided for choice in sizes.choices)
        return [
            "the library's own",
            sizes.choices[0].undecided if undecided else "none beyond doubt",
        ]
    low = min(choice.speed_up_low for choice in sizes.choices)
    high = max(choice.speed_up_high for choice in sizes.choices)
    speeds = [choice.speed_up for choice in sizes.choices]
    shown = f"{min(speeds):.2f}"
    shown += f" to {max(speeds):.2f}" if len(speeds) > 1 else ""
    return [
        f"{sizes.arm} ({one.arms.algorithms[sizes.arm].name})",
        f"{shown} [{low:.2f}, {high:.2f}]",
    ]


def _reach(tuning: "Tuning") -> list[str]:
    lines = []
    for one in tuning.collectives:
        if one.is_changed:
            first, last = one.ranges[0].first, one.ranges[-1].last
            who = f"exactly {first}" if first == last else f"{first} to {last}"
            lines.append(
                f"applies to {one.arms.collective} on communicators of {who} ranks, in the sizes "
                "above; all others keep the library's own choice"
            )
    return lines


def _record(tuning: "Tuning", form: str, texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "schema": "weft.tuning/1",
        "form": form,
        "library": tuning.library.title,
        "is_simulated": tuning.is_simulated,
        "ranges": _rows(tuning),
        "regrets": [_regret_row(name, one) for name, one in tuning.regrets.items()],
        "left_out": list(tuning.left_out),
        "notes": list(tuning.files.notes) if tuning.files else [],
        "files": dict(texts),
    }


def _regret_row(name: str, regret: "HeldOutRegret | TooFewLaunches") -> dict[str, Any]:
    from weft.study.tuning.held_out import TooFewLaunches

    if isinstance(regret, TooFewLaunches):
        return {"benchmark": name, "regret_mean": None, "units_needed": regret.needed}
    return {
        "benchmark": name,
        "regret_mean": regret.mean,
        "regret_worst": regret.worst,
        "regret_of_default": regret.of_default,
        "n_cells": regret.n_cells,
    }


def _rows(tuning: "Tuning") -> list[dict[str, Any]]:
    return [
        {
            "benchmark": one.arms.benchmark,
            "collective": one.arms.collective,
            "ranks_first": ranks.first,
            "ranks_last": ranks.last,
            "size_first_bytes": sizes.first,
            "size_last_bytes": sizes.last,
            "arm": sizes.arm or None,
            "algorithm": one.arms.algorithms[sizes.arm].name if sizes.arm else None,
            "speed_up_least": min(choice.speed_up for choice in sizes.choices),
            "speed_up_low": min(choice.speed_up_low for choice in sizes.choices),
            "speed_up_high": max(choice.speed_up_high for choice in sizes.choices),
            "undecided": ", ".join(
                dict.fromkeys(c.undecided for c in sizes.choices if c.undecided)
            ),
        }
        for one in tuning.collectives
        for ranks in one.ranges
        for sizes in ranks.sizes
    ]

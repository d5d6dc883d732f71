"""What each rule of the diagnosis earns: the scoreboard's cases, judged with one rule left out.

    ablation.py --keep FILE [--cases N] [--healthy N] [--seed S] [--twin T]... [--only KIND,KIND]

A case is measured once. Where a rule is used, the case is judged again without it, and its
follow-up measured anew. Each case is a line of FILE: the same command goes on where it was
interrupted, and other seeds add to it. Prints the table of docs/internals/diagnosis.md.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.ablation_rules import RULES, left_out, noted
from benches.check import Job, jobs, settings
from benches.check_answer import answer_of, effects
from benches.check_case import Case, draw_case, healthy_case
from benches.check_figures import figures
from benches.check_ground import ROUTINGS, Ground, Recorded
from benches.check_noise import NoisyBackend
from benches.check_record import code
from benches.check_score import score
from benches.check_table import markdown_table
from benches.check_visibility import Seen

from weft.bench.model import Launch, Sample
from weft.core.errors import ExitCode, WeftError

WHOLE = ""
"""Nothing is left out."""

Line = dict[str, Any]


class RepeatedTwin:
    """A backend that simulates each launch once."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.name, self.faults = inner, inner.name, inner.faults
        self._known: dict[str, list[Sample]] = {}

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples kept, or new ones."""
        key = json.dumps([launch.trial.id, launch.trial.options])
        if key not in self._known:
            self._known[key] = list(self._inner.measure(launch))
        return iter(self._known[key])


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """Of one case: faults that show, those of them that are named; whether something else is
    accused, or only warned of; the exit code."""

    n_shown: int
    n_named: int
    wrong: bool
    doubted: bool
    code: int


@lru_cache(maxsize=1)
def _ground(twin: str, routing: str) -> Ground:
    return Ground(twin, routing)


def outcomes(job: Job, titles: Sequence[str]) -> dict[str, RuleOutcome | None]:
    """By rule left out; None where it was not used. Raises WeftError where nothing is measured."""
    ground = _ground(job.twin, job.routing)
    where = {"number": job.number, "twin": job.twin, "routing": job.routing, "seed": job.seed}
    draw = {**where, "only": job.only}
    case = healthy_case(**where) if job.healthy else draw_case(ground.document, **draw)
    inner, seen = ground.healthy, list[Seen]()
    if case.planted:
        inner = Recorded(ground.twin_with(case.planted, case.seed), ground.launches[0])
        seen = effects(ground, case, inner.samples)
    twin, used = RepeatedTwin(inner), set[str]()
    with noted(used, titles):
        found: dict[str, RuleOutcome | None] = {WHOLE: _outcome(ground, case, twin, seen)}
    for title in titles:
        found[title] = None
        if title in used:
            with left_out(title):
                found[title] = _outcome(ground, case, twin, seen)
    return found


def _outcome(ground: Ground, case: Case, twin: RepeatedTwin, seen: Sequence[Seen]) -> RuleOutcome:
    answer = answer_of(ground, NoisyBackend(twin, case.noise, case.seed))
    of = score(case.planted, seen, answer.accused, answer.suspected)
    shown = [one for one in of.outcomes if one.identifiable]
    named = sum(one.named for one in shown)
    return RuleOutcome(len(shown), named, bool(of.wrong), bool(of.doubted), answer.exit_code)


COUNTS = ("named", "wrong", "healthy accused", "doubted", "UNKNOWN", "GOOD beside a fault")


def counts(lines: Iterable[Line], title: str) -> list[int]:
    """Faults named; cases that accuse something else; healthy runs that accuse; cases and runs that
    only warn of something else; UNKNOWN ones; GOOD ones with a fault that shows and is not
    named."""
    found = [0] * len(COUNTS)
    for line in lines:
        of = RuleOutcome(*(line["of"].get(title) or line["of"][WHOLE]))
        missed = of.code == ExitCode.GOOD and of.n_named < of.n_shown
        unknown = of.code == ExitCode.NO_VERDICT
        accused = (of.wrong and not line["healthy"], of.wrong and line["healthy"])
        now = (of.n_named, *accused, of.doubted and not of.wrong, unknown, missed)
        found = [before + int(more) for before, more in zip(found, now, strict=True)]
    return found


def table(lines: Sequence[Line]) -> str:
    """The whole, then the change without each rule that was used."""
    n_healthy = sum(line["healthy"] for line in lines)
    n_shown = sum(line["of"][WHOLE][0] for line in lines)
    head = (
        f"{len(lines) - n_healthy} cases with {n_shown} faults that show, {n_healthy} healthy runs."
    )
    rows = [("nothing", str(len(lines)), *map(str, counts(lines, WHOLE)))]
    unused = []
    for title in RULES:
        asked = [line for line in lines if title in line["of"]]
        if not asked:
            continue
        n_used = sum(line["of"][title] is not None for line in asked)
        if not n_used:
            unused.append(title)
            continue
        both = zip(counts(asked, title), counts(asked, WHOLE), strict=True)
        changes = [f"{now - before:+d}" if now != before else "0" for now, before in both]
        rows.append((title, f"{n_used} of {len(asked)}", *changes))
    shown = markdown_table(("left out", "used in", *COUNTS), rows)
    return "\n\n".join([head, shown, f"Not used in any: {', '.join(unused) or 'none'}."])


def _kept(path: Path) -> dict[Job, Line]:
    """The lines that this code made."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    of_this = (line for line in map(json.loads, lines) if line["code"] == code())
    return {Job(*line["job"]): line for line in of_this}


def main() -> int:
    """Run what is not kept, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=60, metavar="N")
    parser.add_argument("--healthy", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--twin", action="append", choices=list(figures()["twins"]))
    parser.add_argument("--only", metavar="KINDS", help="plant these only: a,b")
    parser.add_argument("--rule", action="append", choices=list(RULES))
    parser.add_argument("--keep", type=Path, required=True, metavar="FILE")
    chosen = parser.parse_args()
    turns = settings(chosen.twin or list(figures()["twins"]), ROUTINGS)
    given = {name: getattr(chosen, name) for name in ("cases", "healthy", "seed", "only")}
    known = _kept(chosen.keep)
    for job in jobs(turns, **given):
        if job in known:
            continue
        try:
            found = outcomes(job, chosen.rule or list(RULES))
        except WeftError as error:
            print(f"{job}: {error.describe()}", file=sys.stderr)
            continue
        of = {title: None if one is None else astuple(one) for title, one in found.items()}
        line = {"job": astuple(job), "healthy": job.healthy, "of": of, "code": code()}
        known[job] = line
        with chosen.keep.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{len(known)}  {job.twin} {job.routing} {job.number}", file=sys.stderr, flush=True)
    print(table(list(known.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())

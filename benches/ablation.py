"""Which rules of the diagnosis change the scoreboard? Each is left out once, on two boards.

    ablation.py --keep FOLDER [--board NAME]... [--only NAME]... [--strata WORD]

Every case is simulated once and judged again without each rule that it asks for. FOLDER keeps what
is simulated, and the results as lines of FOLDER/BOARD.jsonl; a case with a line is not judged
again. Prints the table as Markdown.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.ablation_boards import BOARDS, OtherGround, Stratum, cases_of
from benches.ablation_judge import Answered, Judge
from benches.ablation_rules import Ablation
from benches.ablation_table import ABLATIONS, COSTLY
from benches.check_case import Case

Line = dict[str, Any]

COSTLY_IN = 3
"""Rules that change what is measured again are left out in every third case."""

A_TURN = 2
"""Cases of a stratum before the next one's."""


def judged(judge: Judge, ablations: Iterable[Ablation], routing: str) -> Line:
    """The answer as it is, and by name those that another rule set gives, where they differ."""
    base = judge.base()
    line: Line = {"base": asdict(base), "asked": [], "changed": {}, "left": [], "s": {}}
    for one in ablations:
        if one.where not in ("both", routing) or not one.is_asked(judge.asked):
            continue
        if one.name in COSTLY and not judge.is_chosen(COSTLY_IN):
            line["left"].append(one.name)
            continue
        without = judge.without(one)
        line["asked"].append(one.name)
        line["s"][one.name] = round(without.seconds - base.seconds, 3)
        if without.result != base.result:
            line["changed"][one.name] = asdict(without)
    return line


def run(  # noqa: PLR0917
    board: str,
    folder: Path,
    ablations: list[Ablation],
    word: str,
    share: tuple[int, int],
    backwards: bool,
) -> None:
    """Judge the cases of a board that the folder has no line of."""
    path = folder / f"{board}.jsonl"
    known = {line["case"] for line in lines_of(path)}
    strata, seed = BOARDS[board]
    turns = [
        (stratum, iter(in_turn(stratum, seed)))
        for place, stratum in enumerate(strata)
        if word in stratum.name and place % share[1] == share[0]
    ]
    turns = turns[::-1] if backwards else turns
    # So that a run which is cut short has some of all.
    while turns:
        for turn in list(turns):
            stratum, cases = turn
            for _ in range(A_TURN):
                ground, case = next(cases, (None, None))
                if ground is None or case is None:
                    turns.remove(turn)
                    break
                name = f"{stratum.name} / {case.seed}"
                if name in known or name in {line["case"] for line in lines_of(path)}:
                    continue
                line = judged(Judge(ground, stratum, case, folder), ablations, stratum.routing)
                head = {"case": name, "stratum": stratum.name, "healthy": not case.planted}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**head, **line}) + "\n")
                print(name, said(line), file=sys.stderr, flush=True)


def in_turn(stratum: Stratum, seed: int) -> Iterator[tuple[OtherGround, Case]]:
    """The cases of a stratum, on its ground: faulty and healthy ones by turns."""
    ground = OtherGround(stratum)
    cases = list(cases_of(stratum, ground, seed))
    faulty, healthy = cases[: stratum.n_faulty], cases[stratum.n_faulty :]
    for pair in zip_longest(faulty, healthy):
        yield from ((ground, case) for case in pair if case is not None)


def said(line: Line) -> str:
    """A line of progress."""
    base = Answered(**line["base"])
    words = [f"{sum(base.named)} of {len(base.named)} named", *map(str, base.wrong)]
    words += [base.failure] if base.failure else []
    return ", ".join([*words, f"{len(line['asked'])} asked", *line["changed"]])


def lines_of(path: Path) -> list[Line]:
    """The lines of a file; none of one cut short."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line[-1:] == "}"]


Score = tuple[int, int, int, int, int]
"""Faults named, faults that show, faulty runs that accuse others, healthy ones that accuse, and
runs without a verdict."""


def score_of(lines: Iterable[Line], name: str | None) -> Score:
    """The score of a board, as it is or without a rule."""
    named = showing = beside = healthy = failed = 0
    for line in lines:
        if name in line.get("left", ()):
            continue
        one = line["base"] if name is None else line["changed"].get(name, line["base"])
        named += sum(one["named"])
        showing += len(line["base"]["named"])
        beside += bool(one["wrong"]) and not line["healthy"]
        healthy += bool(one["wrong"]) and line["healthy"]
        failed += one["failure"] is not None
    return named, showing, beside, healthy, failed


def table(boards: dict[str, list[Line]]) -> str:
    """One row a rule: the score without it, on each board."""
    head = [f"{board}: named, accused beside, healthy accused; asked in" for board in boards]
    rows = [["left out", "instead", *head], ["---"] * (len(head) + 2)]
    for name, how in [("nothing", ""), *((one.name, one.how) for one in ABLATIONS)]:
        cells = []
        for lines in boards.values():
            score = score_of(lines, None if name == "nothing" else name)
            asked = sum(name in line["asked"] for line in lines)
            named, showing, beside, healthy, failed = score
            cell = f"{named} of {showing}, {beside}, {healthy}"
            cell += f", {failed} failed" if failed else ""
            cells.append(cell + (f"; {asked}" if name != "nothing" else f"; {len(lines)} runs"))
        rows.append([name, how, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> int:
    """Run what is not kept, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keep", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--board", action="append", choices=list(BOARDS))
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--strata", default="", metavar="WORD")
    parser.add_argument("--share", default="1/1", help="of the strata, 2/3 is the second third")
    parser.add_argument("--backwards", action="store_true", help="the last stratum first")
    parser.add_argument("--table", action="store_true", help="run nothing")
    chosen = parser.parse_args()
    chosen.keep.mkdir(parents=True, exist_ok=True)
    ablations = [one for one in ABLATIONS if not chosen.only or one.name in chosen.only]
    boards = chosen.board or list(BOARDS)
    for board in boards:
        if not chosen.table:
            part, of = map(int, chosen.share.split("/"))
            run(board, chosen.keep, ablations, chosen.strata, (part - 1, of), chosen.backwards)
    print(table({board: lines_of(chosen.keep / f"{board}.jsonl") for board in boards}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

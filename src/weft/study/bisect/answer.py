"""The answer of a bisect: one sentence about the variables that make BAD bad, and its evidence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from weft.bench.model import State
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_duration, format_significant
from weft.core.words import counted, first_few
from weft.stats.rank_order import middle_shift, shift_interval
from weft.study.bisect.decision import LEVEL, Behaviour, BisectCell, Decisions
from weft.study.bisect.figures import PRINTED, WALL
from weft.study.bisect.search import FoundCause, SearchResult
from weft.study.bisect.variables import DifferingVariable

STATED = (
    f"chance: at most {100 * LEVEL:g} % of bisects are wrong, counted over all environments, "
    "whenever they stop"
)
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell against GOOD. `ratio` above 1 is worse; its ends hold at any launch with 95 %, None
    where too few launches say. Where launches failed or hung the ratio is None, and `n_failed` of
    `n` did, in `state`."""

    ratio: float | None
    low: float | None
    high: float | None
    n: int
    n_failed: int
    state: str

    def against_good(self, word: str) -> str:
        """As `text`, of a cell that may be better than GOOD: '0.98x GOOD [0.9, 1.1]'."""
        return self.text(word).replace(f"x {word}", "x GOOD")

    def text(self, word: str) -> str:
        """'2.31x slower [2.2, 2.4]', 'hangs in 4 of 4 launches'."""
        if self.ratio is None:
            verb = "hangs" if self.state == State.HUNG.value else "fails"
            return f"{verb} in {self.n_failed} of {counted(self.n, 'launch', 'launches')}"
        ends = [format_significant(one, 2) if one else "?" for one in (self.low, self.high)]
        return f"{self.ratio:.2f}x {word} [{', '.join(ends)}]"


@dataclass(frozen=True, slots=True)
class BisectFacts(FindingFacts):
    """`variables` as in BAD do it alone; `effect` is against GOOD. `launches` and `environments`
    are of the whole bisect."""

    variables: tuple[Mapping[str, str | None], ...]
    figure: str
    effect: Mapping[str, Any] | None
    launches: int
    environments: int
    alone: tuple[Mapping[str, Any], ...] = ()
    without: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BisectQuestion:
    """What is known of a bisect beside its launches: the differing variables, the names left out,
    and the command lines of `next:`, each "" where there is none."""

    variables: Sequence[DifferingVariable]
    left_out: Mapping[str, str] = field(default_factory=dict)
    more_launches: str = ""
    afresh: str = ""
    swapped: str = ""
    fixed: str = ""
    seconds: float = 0.0


def effect_of(decisions: Decisions, cell: BisectCell) -> Effect:
    """A cell against GOOD."""
    good = [one for one in decisions.costs(decisions.good) if math.isfinite(one)]
    costs = decisions.costs(cell)
    own = [one for one in costs if math.isfinite(one)]
    n, n_failed = len(costs), len(costs) - len(own)
    state = cell.usual_state.value if n else State.OK.value
    if not good or not own or 2 * n_failed > n:
        return Effect(None, None, None, n, n_failed, state)
    low, high = (
        math.exp(end) if math.isfinite(end) else None for end in shift_interval(good, own, LEVEL)
    )
    return Effect(math.exp(middle_shift(good, own)), low, high, n, n_failed, state)


def found(decisions: Decisions, result: SearchResult, question: BisectQuestion) -> list[Finding]:
    """One finding for each cause, and a note where BAD stays bad without all of them."""
    findings = [_cause_finding(decisions, one, result, question) for one in result.causes]
    if result.without is not Behaviour.GOOD:
        is_bad = result.without is Behaviour.BAD
        sentence = (
            "BAD is still worse than GOOD without these variables: others do it, too"
            if is_bad
            else "whether BAD is as GOOD without these variables was not decided"
        )
        severity = Severity.WARNING if is_bad else Severity.NOTE
        findings.append(Finding(FindingKind.EXPLANATION, severity, sentence))
    return findings


def no_difference(decisions: Decisions, question: BisectQuestion) -> Finding:
    """GOOD and BAD behave alike as far as the launches tell, or BAD is the better one."""
    n = counted(decisions.n_launches, "launch", "launches")
    effect = effect_of(decisions, decisions.bad)
    compared = _compared(decisions, effect)
    facts = _facts(decisions, (), question, effect)
    if effect.ratio is not None and effect.high is not None and effect.high < 1:
        sentence = cannot_tell(
            f"BAD is better than GOOD after {n}: {compared}", "GOOD and BAD swapped"
        )
        return Finding(
            FindingKind.SPEED_UP, Severity.UNKNOWN, sentence, (), question.swapped or None, facts
        )
    sentence = cannot_tell(f"no difference found after {n}: {compared}", "more launches")
    evidence = (_judged_by(decisions), *left_out_lines(question.left_out))
    return Finding(
        FindingKind.NO_DIFFERENCE,
        Severity.UNKNOWN,
        sentence,
        evidence,
        question.more_launches or None,
        facts,
    )


def no_answer(decisions: Decisions, why: str, question: BisectQuestion) -> Finding:
    """GOOD and BAD differ, but the search for the variable came to no end."""
    effect = effect_of(decisions, decisions.bad)
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"{why}; {_compared(decisions, effect)}", "the same again on a quieter machine"
        ),
        (_judged_by(decisions), *left_out_lines(question.left_out)),
        question.afresh or None,
        _facts(decisions, (), question, effect),
    )


def _cause_finding(
    decisions: Decisions, cause: FoundCause, result: SearchResult, question: BisectQuestion
) -> Finding:
    variables = [question.variables[one] for one in cause.variables]
    alone = decisions.cell(cause.changed)
    effect = effect_of(decisions, alone)
    changes = " and ".join(one.change for one in variables)
    together = " together" if len(variables) > 1 else ""
    n = counted(decisions.n_launches, "launch", "launches")
    sentence = f"because {changes}{together}: {effect.text(word_of(decisions))}, {n}"
    facts = _facts(decisions, cause.variables, question, effect)
    evidence = [_judged_by(decisions), *_enough(decisions, alone, effect)]
    if len(variables) > 1:
        evidence += _parts(decisions, cause, question)
    if len(result.causes) == 1 and result.without is Behaviour.GOOD:
        evidence.append(_without(decisions, cause, len(variables)))
    if not cause.is_decided:
        evidence.append("whether each of these variables is needed was not decided")
    evidence += [_cost(decisions, question), STATED, *left_out_lines(question.left_out)]
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.BAD,
        sentence,
        tuple(evidence),
        question.fixed or None,
        facts,
    )


def word_of(decisions: Decisions) -> str:
    """'slower', or 'worse' of a figure that only the user knows."""
    return "worse" if decisions.figure.startswith(PRINTED) else "slower"


def _enough(decisions: Decisions, alone: BisectCell, effect: Effect) -> list[str]:
    if alone is decisions.bad:
        return []
    whole = effect_of(decisions, decisions.bad)
    n = counted(effect.n, "launch", "launches")
    word, is_ = word_of(decisions), "" if effect.ratio is None else "is "
    return [
        f"it is enough: GOOD with this change alone {is_}{effect.text(word)} ({n}); "
        f"all of BAD: {whole.text(word)}"
    ]


def _without(decisions: Decisions, cause: FoundCause, n_variables: int) -> str:
    cell = decisions.cell(decisions.bad.changed - cause.changed)
    it = "it" if n_variables == 1 else "them"
    if cell is decisions.good:
        return f"nothing else differs: without {it} BAD is GOOD"
    effect = effect_of(decisions, cell)
    n = counted(effect.n, "launch", "launches")
    return f"without {it} BAD is as GOOD: {effect.against_good(word_of(decisions))} ({n})"


def _parts(decisions: Decisions, cause: FoundCause, question: BisectQuestion) -> list[str]:
    """What each variable of a set does without the others."""
    lines = []
    for one in cause.variables:
        rest = decisions.cell(cause.changed - {one})
        if rest.readings and rest is not decisions.good:
            name = question.variables[one].name
            text = effect_of(decisions, rest).against_good(word_of(decisions))
            lines.append(f"without {name} the others are not enough: {text}")
    return lines


def _compared(decisions: Decisions, effect: Effect) -> str:
    if effect.ratio is None:
        return f"BAD {effect.text('')}, GOOD in {_n_failed(decisions.good)}"
    faster = "faster" if word_of(decisions) == "slower" else "better"
    if effect.ratio >= 1:
        return f"BAD is {effect.text(word_of(decisions))}"
    low, high = (None if one is None else 1 / one for one in (effect.high, effect.low))
    turned = replace(effect, ratio=1 / effect.ratio, low=low, high=high)
    return f"BAD is {turned.text(faster)}"


def _n_failed(cell: BisectCell) -> str:
    return str(sum(one.state is not State.OK for one in cell.readings))


def _judged_by(decisions: Decisions) -> str:
    figure = decisions.figure
    ends = [_middle(cell, figure) for cell in (decisions.good, decisions.bad)]
    name = {WALL: "wall time", PRINTED: "the printed number"}.get(figure, figure)
    good, bad = decisions.good, decisions.bad
    return (
        f"judged by {name}: GOOD {ends[0]} ({len(good.readings)} launches), "
        f"BAD {ends[1]} ({len(bad.readings)})"
    )


def _middle(cell: BisectCell, figure: str) -> str:
    values = [one.figures[figure] for one in cell.readings if figure in one.figures]
    n_failed = len(cell.readings) - len(values)
    if 2 * n_failed > len(cell.readings):
        return next((one.message.splitlines()[0] for one in cell.readings if one.message), "fails")
    middle = float(np.median(values)) if values else math.nan
    shown = format_duration(middle / 1e6) if figure == WALL else format_significant(middle)
    return shown + (f", {n_failed} failed" if n_failed else "")


def _cost(decisions: Decisions, question: BisectQuestion) -> str:
    took = f", {format_duration(question.seconds)}" if question.seconds else ""
    n = len(question.variables)
    differ = "1 variable differs" if n == 1 else f"{n} variables differ"
    return (
        f"{differ}; {counted(len(decisions.cells), 'environment')} measured, "
        f"{counted(decisions.n_launches, 'launch', 'launches')}{took}"
    )


def left_out_lines(left_out: Mapping[str, str]) -> list[str]:
    """The names that were not compared, by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, why in left_out.items():
        by_reason.setdefault(why, []).append(name)
    return [
        f"not compared: {first_few(names[:_SHOWN], len(names))} ({why})"
        for why, names in by_reason.items()
    ]


def _facts(
    decisions: Decisions, cause: Sequence[int], question: BisectQuestion, effect: Effect
) -> BisectFacts:
    changed = frozenset(cause)
    rest = decisions.bad.changed - changed
    without = next((one for one in decisions.cells if cause and one.changed == rest), None)
    return BisectFacts(
        variables=tuple(question.variables[one].to_record() for one in cause),
        figure=decisions.figure,
        effect=asdict(effect),
        launches=decisions.n_launches,
        environments=len(decisions.cells),
        alone=tuple(
            asdict(effect_of(decisions, cell))
            for one in cause
            for cell in decisions.cells
            if len(cause) > 1 and cell.changed == {one} and cell.readings
        ),
        without=asdict(effect_of(decisions, without)) if without and without.readings else None,
    )


def cell_rows(decisions: Decisions, variables: Sequence[DifferingVariable]) -> list[dict[str, Any]]:
    """One row for each environment: what it has of BAD, its behaviour, and its effect."""
    rows = []
    for cell in decisions.cells:
        names = [variables[one].name for one in sorted(cell.changed)]
        ends = {0: "good", 1: "bad"}
        behaviour = ends.get(cell.number) or (cell.behaviour.value if cell.behaviour else "")
        effect = asdict(effect_of(decisions, cell)) if cell.readings else {}
        effect.pop("state", None)
        rows.append(
            {"cell": cell.number, "as_in_bad": " ".join(names), "behaviour": behaviour, **effect}
        )
    return rows

"""The command that measures a study again with as many launches or node sets as would decide."""

from collections.abc import Iterable, Sequence

from weft.core.finding import Finding
from weft.core.shell_line import shell_line
from weft.study.comparison.effects import MOST_UNITS, EffectFacts
from weft.study.comparison.replication import Unit
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

_MEASURES = (("study", "run"), ("bench",))
_ONE_WORD = ("--resume", "--sensitivity")
_ONCE = ("--dir", "--report", "--output", "-o", "--executor")
"""Options of files that the run has written already, and of the job that it was part of."""


def larger_command(run: StudyRun, findings: Iterable[Finding]) -> str | None:
    """The words of the run's own command with the units that its findings need; None where all is
    decided, where no command can do it, or where the run remembers no command."""
    needs = {
        facts.unit: facts.n_units_needed
        for facts in sorted(_effects(findings), key=lambda facts: facts.n_units_needed)
        if facts.n_units_needed
    }
    words = [str(word) for word in run.meta.get("argv", ())]
    if not needs or not _measures(words) or any(n > MOST_UNITS for n in needs.values()):
        return None
    if Unit.NODE_SET in needs and not _can_draw(run):
        return None
    for unit, n in needs.items():
        words = [*without_option(words, unit.option), unit.option, str(n)]
    for option in _ONCE:
        words = without_option(words, option)
    return shell_line(["weft", *words])


def without_option(words: Sequence[str], option: str) -> list[str]:
    """A command line without an option, its value, --resume and --sensitivity."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == option:
            skip = True
        elif not word.startswith(f"{option}=") and word not in _ONE_WORD:
            kept.append(word)
    return kept


def _effects(findings: Iterable[Finding]) -> list[EffectFacts]:
    return [one.facts for one in findings if isinstance(one.facts, EffectFacts)]


def _measures(words: Sequence[str]) -> bool:
    return any(tuple(words[: len(verb)]) == verb for verb in _MEASURES)


def _can_draw(run: StudyRun) -> bool:
    """Whether the twin is larger than the jobs: else it has one node set."""
    n_nodes = backend_of(run).facts.get("n_nodes", 0)
    return all(len(launch.trial.nodes) < n_nodes for launch in run.launches)

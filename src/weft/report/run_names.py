"""Names of runs on one page: no two are equal, and each says what differs."""

from collections.abc import Sequence

from weft.core.shell_line import shell_line
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

PLACES = ("--dir", "--resume", "-o", "--output")
"""Options that say where a run is kept, and not what was run."""
LONGEST = 60
"""Of the options in a name; more of them would not fit into a legend."""


def run_names(runs: Sequence[StudyRun]) -> list[str]:
    """'r1 (twin of azure-a9)', 'r2 (twin of azure-a9, --plant 'n3 slow=2')': directories, with the
    options of the command that not all runs have; numbered where they are equal."""
    options = [_options(run) for run in runs]
    shared = set(options[0]).intersection(*options) if options else set()
    names = []
    for run, given in zip(runs, options, strict=True):
        differs = [shell_line(option) for option in given if option not in shared]
        inside = ", ".join([_what(run), *_that_fit(differs)])
        names.append(f"{run.directory.name or run.directory} ({inside})")
    return [
        name if names.count(name) == 1 else f"{number}: {name}"
        for number, name in enumerate(names, start=1)
    ]


def titles(runs: Sequence[StudyRun], given: Sequence[str]) -> list[str]:
    """The titles `given` to the runs, each with its run's name where another run has the same."""
    return [
        title if given.count(title) == 1 else f"{title}: {name}"
        for title, name in zip(given, run_names(runs), strict=True)
    ]


def _what(run: StudyRun) -> str:
    backend = backend_of(run)
    platform = backend.facts.get("platform") if backend.is_twin else None
    return f"twin of {platform}" if platform else backend.name


def _options(run: StudyRun) -> list[tuple[str, ...]]:
    """The options of the command, each with its values, without the name of the twin, which is
    told apart."""
    words = run.meta.get("argv")
    found: list[list[str]] = []
    for word in map(str, words if isinstance(words, list) else ()):
        if word.startswith("-"):
            found.append([word])
        elif found:
            found[-1].append(word)
    return [tuple(one) for one in found if one[0] not in (*PLACES, "--twin")]


def _that_fit(options: Sequence[str]) -> list[str]:
    """The first options that a legend has room for, and how many are left."""
    kept: list[str] = []
    for option in options:
        if sum(map(len, kept)) + len(option) > LONGEST:
            return [*kept, f"{len(options) - len(kept)} more options"]
        kept.append(option)
    return kept

"""Options of Slurm in a batch script's #SBATCH lines."""

import shlex
from collections.abc import Iterator

from weft.doctor.job import SourceLines, Word


def scheduler_options(text: str) -> dict[str, Word]:
    """Options in #SBATCH lines, by their long names."""
    options: dict[str, Word] = {}
    lines = SourceLines(text)
    at = 0
    for line in text.split("\n"):
        if line.startswith("#SBATCH"):
            for option, value in _options_of(line[len("#SBATCH") :]):
                place = lines.place(at, at + len(line))
                options.setdefault(SBATCH_SHORT.get(option, option), Word(value, place))
        at += len(line) + 1
    return options


SBATCH_SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "p": "partition", "C": "constraint"}


def _options_of(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        elif not word.startswith("--") and len(name) > 1 and not equals:
            name, value = name[0], name[1:]
        yield name, value

"""What a result file itself says of its path: a launch line, an adapter, a line of a log."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from weft.catalog.paths.path_class import PathProof, path_classes
from weft.core.documents.text_file import open_file
from weft.results.result_file import EXPECTED_FILE, MOST_RESULT_BYTES

HEAD_BYTES = 262_144
"""So much of a file is searched for proofs: launch lines and adapters stand above the rows."""
LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class FoundProof:
    """A proof with the line that gives it; line 0 is the recorded environment."""

    proof: PathProof
    line: int
    text: str

    @property
    def where(self) -> str:
        """The place of the line, as text."""
        return f"line {self.line}" if self.line else "the recorded environment"


def head_of(path: Path) -> bytes:
    """The first bytes of a regular file."""
    with open_file(path, expected=EXPECTED_FILE, most_bytes=MOST_RESULT_BYTES) as file:
        return file.read(HEAD_BYTES)


def proofs_in(head: bytes, environment: Mapping[str, str]) -> tuple[FoundProof, ...]:
    """Each proof of the catalogue that a file's head or environment gives, once."""
    found: dict[str, FoundProof] = {}
    for line, text in _lines(head, environment):
        for proof, pattern in _patterns():
            if proof.says not in found and pattern.search(text):
                found[proof.says] = FoundProof(proof, line, text.strip()[:160])
    return tuple(found.values())


def _lines(head: bytes, environment: Mapping[str, str]) -> Iterable[tuple[int, str]]:
    for number, line in enumerate(head.splitlines(), start=1):
        text = line[:LONGEST_LINE].decode("utf-8", "replace")
        if not text.lstrip(" >").replace(".", "", 1)[:1].isdigit():
            yield number, text
    for name, value in environment.items():
        yield 0, f"{name}={value}"


@cache
def _patterns() -> tuple[tuple[PathProof, re.Pattern[str]], ...]:
    return tuple((proof, re.compile(proof.pattern)) for proof in path_classes().proofs)

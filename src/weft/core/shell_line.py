"""Commands as a shell reads them: pasted as they stand, they run what they name and only that."""

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import PurePath

UNSHOWN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
    r"|[\ud800-\udfff]"
)
"""Characters that steer a terminal, change the order in which text is shown, or are no text."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-./:,=+@#[]")


def quoted(word: str | PurePath) -> str:
    """A word that a POSIX shell reads back as it is. What a terminal would not show as it stands is
    spelled by printf. A path never looks like an option."""
    text = str(word)
    if isinstance(word, PurePath) and text.startswith("-") and text != "-":
        text = f"./{text}"
    if UNSHOWN.search(text) is None:
        return shlex.quote(text)
    kept = text.rstrip("\n")
    spelled = "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in _bytes_of(kept))
    # A shell drops line ends at the end of what a command prints.
    ends = "'" + "\n" * (len(text) - len(kept)) + "'" if kept != text else ""
    return f"\"$(printf '%b' '{spelled}')\"{ends}"


def shell_line(words: Iterable[str | PurePath]) -> str:
    """The words as one line to paste."""
    return " ".join(map(quoted, words))


def _bytes_of(text: str) -> bytes:
    """As a file name has them; half a character of UTF-16 is in no file name."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")

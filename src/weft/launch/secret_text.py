"""Secrets out of a text: by their form, by the name before them, by the option that takes them."""

import base64
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from weft.catalog.secret_form import SecretForm, password_programs, secret_forms
from weft.launch.secret_name import SECRET_PARTS, may_name_secret, names_secret

MASK = "[redacted]"

_NAME = re.compile(
    r"(?<![\w.-])(?P<option>-{0,2})(?P<name>[A-Za-z_][\w.-]{0,100})(?P<close>\\?[\"']?)"
    r"(?P<sep>[ \t]{0,20}(?::=|[=:])[ \t]{0,20}|[\"'][ \t]{0,9},[ \t]{0,9}|[ \t]{1,20})"
)
_SETS = re.compile(
    r"(?<![\w-])(?:--?g?env|set(?:env)?)[ \t]{1,9}(?P<name>[A-Za-z_]\w{0,100})[ \t]{1,9}"
)
_VALUE = re.compile(
    r"""\\"(?P<escaped>[^"\\\r\n]{1,4096})"""
    r"""|"(?P<double>(?:[^"\\\r\n]|\\.){1,4096})"""
    r"""|'(?P<single>[^'\r\n]{1,4096})"""
    r"""|(?:(?:bearer|basic|token)[ \t]{1,9})?"""
    r"""(?P<bare>[^\s"'\\;}\])]{1,4096}?)(?=,[\w.-]{1,100}=|[\s"'\\;}\])]|$|,\s|,$)""",
    re.IGNORECASE,
)
_TO_QUOTE = {'"': re.compile(r'[^"\r\n]{1,4096}'), "'": re.compile(r"[^'\r\n]{1,4096}")}
_WORD = re.compile(r"[A-Za-z0-9+/_-]{16,4096}={0,2}")
_OPAQUE_LENGTH = 32
"""No service gives shorter tokens without a prefix of its own. SOURCE: catalog/secret_forms.toml"""
_AWS_LENGTH = 40
_AWS_SIGNS = re.compile(r"[/+]")
"""A secret access key, the one secret of forty characters with these signs and no prefix."""
_CHANGES = 0.4
"""Least share of neighbours of different classes. SOURCE: drawn at random from letters and digits,
it is 0.62 on average. With the two bounds below, 95 % of 32 such characters and 99 % of 64 are
found, and 7 in 10,000 names in the shared libraries of a Debian system, but for mangled ones."""
_ASCII_LOWER = {ord(c): c.lower() for c in string.ascii_uppercase}
_WRITTEN_PATH = re.compile(r"^/[a-z]{2,}/|(?:(?:^|/)[a-z]{3,}(?=/|$).*){2}|^_{1,3}Z[A-Z0-9]")
"""A path with words as folders, or a mangled name of C++."""
_WORDS = re.compile(r"[a-z]{4,}")
_IN_WORDS = 0.3
"""Least share of an identifier that is in lower-case runs of four or more."""
_IN_BASE64 = ("password", "passwd", "secret", "api_key", "token=", "Authorization", "BEGIN ")


def mask_text(text: str) -> tuple[str, int]:
    """The text with a mask in the place of each secret, and how many. Lines stay lines."""
    n_masked = 0
    for form in secret_forms():
        if any(mark in text for mark in form.marks):
            text, n = _without(text, _spans_of_form(form, text))
            n_masked += n
    for find in (_spans_of_names, _spans_of_sets, _spans_of_programs, _spans_of_words):
        text, n = _without(text, find(text))
        n_masked += n
    return text, n_masked


def mask_forms(text: str) -> str:
    """The text without secrets that show by a published form: few enough rules for any output."""
    for form in secret_forms():
        if any(mark in text for mark in form.marks):
            text, _ = _without(text, _spans_of_form(form, text))
    return text


def holds_secret(text: str) -> bool:
    """Whether a mask would be put somewhere."""
    return mask_text(text)[1] > 0


def mask_words(words: Sequence[str]) -> list[str]:
    """The words of a command line, each masked, also one that the option before it makes secret."""
    shown = [mask_text(word)[0] for word in words]
    for at, (option, word) in enumerate(pairwise(words), start=1):
        is_option = option.startswith("-") and "=" not in option
        if is_option and not word.startswith("-") and names_secret(option.lstrip("-"), word):
            shown[at] = MASK
    return shown


def mask_values(value: Any) -> Any:
    """A plain JSON value with each of its texts masked."""
    if isinstance(value, str):
        return mask_text(value)[0]
    if isinstance(value, Mapping):
        return {key: mask_values(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [mask_values(one) for one in value]
    return value


def _without(text: str, spans: Iterator[tuple[int, int]]) -> tuple[str, int]:
    parts: list[str] = []
    at = n_masked = 0
    for start, end in sorted(spans):
        found = text[start:end]
        if start < at or not found.strip() or MASK in found or found + "]" == MASK:
            continue
        # INVARIANT: the numbers of later lines stay.
        parts += (text[at:start], MASK, "\n" * found.count("\n"))
        at = end
        n_masked += 1
    return ("".join((*parts, text[at:])), n_masked) if parts else (text, 0)


def _spans_of_form(form: SecretForm, text: str) -> Iterator[tuple[int, int]]:
    pattern = _compiled(form.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    for found in pattern.finditer(text):
        yield found.span(group if found[group] is not None else 0)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _spans_of_names(text: str) -> Iterator[tuple[int, int]]:
    """NAME=VALUE, NAME: VALUE, "NAME": "VALUE", --name VALUE, "--name", "VALUE"."""
    for found in _in_lines_with(SECRET_PARTS, _lowered(text), _NAME, text):
        name, sep = found["name"], found["sep"].strip()
        is_pair = sep in ("=", ":", ":=")
        if not is_pair and not found["option"]:
            continue
        if not may_name_secret(name):
            continue
        before = text[found.start() - 1] if found.start() else ""
        if before == "/" and sep == ":":
            continue  # The file of a message: /etc/passwd: no such file.
        whole = _TO_QUOTE.get(before) if sep == "=" and not found["close"] else None
        span = _value_at(text, found.end(), whole)
        if span is None or (not is_pair and text.startswith("-", span[0])):
            continue
        in_prose = sep == ":" and not found["option"]
        if names_secret(name, text[slice(*span)], in_prose=in_prose):
            yield span


def _spans_of_sets(text: str) -> Iterator[tuple[int, int]]:
    """-genv NAME VALUE, setenv NAME VALUE."""
    for found in _in_lines_with(SECRET_PARTS, _lowered(text), _SETS, text):
        if may_name_secret(found["name"]):
            span = _value_at(text, found.end())
            if span is not None and names_secret(found["name"], text[slice(*span)]):
                yield span


def _spans_of_programs(text: str) -> Iterator[tuple[int, int]]:
    for names, pattern in _programs():
        for found in _in_lines_with(names, text, pattern, text):
            span = _value_at(text, found.end())
            if span is not None and not text.startswith("-", span[0]):
                yield span


@cache
def _programs() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    return tuple(
        (
            program.names,
            re.compile(
                rf"(?<![\w-])(?:{'|'.join(map(re.escape, program.names))})(?=\s)[^\n|;&]{{0,300}}?"
                rf"\s(?:{'|'.join(map(re.escape, program.options))})(?:[ \t=]{{1,9}}|(?=[^\s-]))"
            ),
        )
        for program in password_programs()
    )


def _in_lines_with(
    parts: Sequence[str], searched: str, pattern: re.Pattern[str], text: str
) -> Iterator[re.Match[str]]:
    """Matches in lines of the text that hold one of the parts in `searched`, of the same length.
    Few lines of a log do."""
    if not (there := [part for part in parts if part in searched]):
        return
    end = -1
    for part in re.finditer("|".join(map(re.escape, there)), searched):
        if part.start() > end:
            start = text.rfind("\n", 0, part.start()) + 1
            end = text.find("\n", part.start())
            end = len(text) if end < 0 else end
            yield from pattern.finditer(text, start, end)


def _lowered(text: str) -> str:
    """ASCII in lower case, character by character: `lower` makes some letters two."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _value_at(text: str, at: int, whole: re.Pattern[str] | None = None) -> tuple[int, int] | None:
    """The place of the value that begins here, without its quotes."""
    if whole is not None:
        found = whole.match(text, at)
        return None if found is None else found.span()
    found = _VALUE.match(text, at)
    return None if found is None else found.span(found.lastgroup or 0)


def _spans_of_words(text: str) -> Iterator[tuple[int, int]]:
    for found in _WORD.finditer(text):
        if _is_opaque(found[0]) or any(mark in found[0] for mark in _base64_marks()):
            yield found.span()


def _is_opaque(word: str) -> bool:
    """Whether it looks drawn at random from letters of both cases and digits. Identifiers in
    hexadecimal, hashes, names and paths do not."""
    if len(word) < _OPAQUE_LENGTH or _WRITTEN_PATH.search(word):
        return False
    runs = re.split(r"[-_/+=]", word)
    kinds = [[(c.isdigit(), c.isupper()) for c in run] for run in runs]
    if len({kind for run in kinds for kind in run}) < 3:
        return False
    if len(word) == _AWS_LENGTH and _AWS_SIGNS.search(word):
        return True
    if max(map(len, runs)) < _OPAQUE_LENGTH // 2 and "+" not in word:
        return False
    changes = sum(a != b for run in kinds for a, b in pairwise(run))
    n_pairs = sum(len(run) - 1 for run in kinds if run)
    in_words = sum(map(len, _WORDS.findall(word)))
    return changes >= _CHANGES * n_pairs and in_words < _IN_WORDS * len(word)


@cache
def _base64_marks() -> tuple[str, ...]:
    """What words that go with secrets become in base64, at each of the three places of a byte."""
    spelled = {form for word in _IN_BASE64 for form in (word, word.upper(), word.title())}
    marks = set()
    for word in sorted(spelled):
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + word.encode()).decode()
            bits = (shift * 8, (shift + len(word)) * 8)
            # Whole characters only: the others also hold bits of the neighbours.
            marks.add(encoded[-(-bits[0] // 6) : bits[1] // 6])
    return tuple(sorted(marks))

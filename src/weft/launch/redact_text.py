"""Secrets out of a file that holds an environment, everything else untouched."""

import re
from functools import lru_cache

from weft.launch.redact import MASK, is_secret, redact_environment

_ASSIGNED = re.compile(rb"\b([A-Za-z_][A-Za-z0-9_]{0,99})=([^\s\"',;]{1,4096})")
_RECORDED = re.compile(rb'"env(?:ironment)?"\s*:\s*([\[{])')
_QUOTE_OR_END = re.compile(rb'["\]}]')
_REST_OF_STRING = re.compile(rb'((?:[^"\\\r\n]|\\.)*)("?)')


def redact_content(content: bytes) -> tuple[bytes, int]:
    """The content with what may be secret masked, and how many values that were.

    In a JSON environment (`"env": [...]` or `{...}`) every value is masked but those of settings
    that are known to hold none; everywhere else only a NAME=VALUE that looks like a secret.
    Line numbers stay.
    """
    whole, n_recorded = _redact_recorded(content)
    n_assigned = 0

    def masked(match: re.Match[bytes]) -> bytes:
        nonlocal n_assigned
        if not _is_secret(*match.groups()):
            return match.group()
        n_assigned += 1
        return match.group(1) + b"=" + MASK.encode()

    return _ASSIGNED.sub(masked, whole), n_recorded + n_assigned


def _redact_recorded(content: bytes) -> tuple[bytes, int]:
    """Each recorded environment, string by string, up to its closing bracket. A string that does
    not end on its line is masked as far as the line goes."""
    parts: list[bytes] = []
    at = n_masked = 0
    while opened := _RECORDED.search(content, at):
        is_list = opened.group(1) == b"["
        parts.append(content[at : opened.end()])
        at = opened.end()
        name = b""
        while (found := _QUOTE_OR_END.search(content, at)) and found.group() == b'"':
            between = content[at : found.end()]
            string = _REST_OF_STRING.match(content, found.end())
            assert string is not None
            text, closing = string.groups()
            is_value = is_list or between.strip().startswith(b":")
            shown = _shown(name, text, is_list=is_list) if is_value else text
            shown = shown if closing else MASK.encode()
            n_masked += shown != text
            parts.extend((between, shown, closing))
            name, at = text, string.end()
    parts.append(content[at:])
    return b"".join(parts), n_masked


def _shown(name: bytes, text: bytes, *, is_list: bool) -> bytes:
    return _shown_entry(text) if is_list else _shown_value(name, text)


def _shown_entry(entry: bytes) -> bytes:
    """'NAME=VALUE' with its value masked unless it is a known setting."""
    name, equals, value = entry.partition(b"=")
    return name + equals + _shown_value(name, value) if equals else MASK.encode()


def _shown_value(name: bytes, value: bytes) -> bytes:
    shown = redact_environment({_text(name): _text(value)})[_text(name)]
    return value if shown != MASK else MASK.encode()


@lru_cache(maxsize=65_536)
def _is_secret(name: bytes, value: bytes) -> bool:
    """Logs repeat themselves a million times; a mask is no secret."""
    return value != MASK.encode() and is_secret(_text(name), _text(value))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")

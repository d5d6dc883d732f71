"""Secrets out of a file that holds an environment, everything else untouched."""

import re
from functools import lru_cache

from weft.launch.redact import MASK, is_secret, redact_environment

_ASSIGNED = re.compile(rb"\b([A-Za-z_][A-Za-z0-9_]{0,99})=([^\s\"',;]{1,4096})")
_RECORDED = re.compile(rb'"env(?:ironment)?"\s*:\s*([\[{])')
_QUOTE_OR_BRACKET = re.compile(rb'["\[\]{}]')
_REST_OF_STRING = re.compile(rb'((?:[^"\\\r\n]|\\.)*)("?)')


_WORDS = (
    *(b"token", b"secret", b"passwd", b"password", b"passphrase", b"credential", b"authorization"),
    *(b"api_key", b"api-key", b"apikey", b"access_key", b"access-key", b"accesskey"),
    *(b"private_key", b"private-key", b"privatekey", b"account_key", b"accountkey"),
)
"""Of names that hold secrets however the value is set off: by a colon, blanks, quotes."""
_WORD = rb"(?:" + b"|".join(_WORDS) + rb")[\w-]{0,60}"
_VALUE = rb"""(?:"([^"\r\n]{1,4096})|'([^'\r\n]{1,4096})|([^\s"',;}\]\\]{1,4096}))"""
_SET_OFF = re.compile(
    rb"(?i)(?:"
    + _WORD
    + rb"""\\?["']?[ \t]{0,20}[:=][ \t]{0,20}\\?(?:(?:bearer|basic|token)[ \t]{1,20})?"""
    + rb"|(?<![\w-])--[a-z0-9-]{0,60}?"
    + _WORD
    + rb"""(?:["'][ \t]{0,20},[ \t]{0,20}|[ \t]{1,20})"""
    + rb"|\bset(?:env)?[ \t]{1,20}\w{0,60}?"
    + _WORD
    + rb"[ \t]{1,20})"
    + _VALUE
)
_QUOTED = re.compile(
    rb"""\b([A-Za-z_][A-Za-z0-9_]{0,99})=(?:"([^"\r\n]{1,4096})|'([^'\r\n]{1,4096}))"""
)
_NUMBER = re.compile(rb"[0-9.,eE+-]{1,20}")
_BARE = re.compile(
    rb"(?i)://[^/\s@:]{0,256}:([^/\s@]{1,256})@"
    rb"|\beyJ([\w-]{8,512}\.[\w.-]{8,4096})"
    rb"|\bAKIA([0-9A-Z]{12,128})"
    rb"|\b(?:gh[pousr]|glpat|sk|xox[abp])[-_]([\w-]{16,256})"
    rb"|[?&](?:sig|token|key|password|secret)=([^&\s\"']{1,4096})"
)
"""Secrets known by their form: passwords of addresses, web tokens, keys of well-known services."""


def redact_content(content: bytes) -> tuple[bytes, int]:
    """The content with what may be secret masked, and how many values that were.

    In a JSON environment (`"env": [...]` or `{...}`) every value is masked but those of settings
    that are known to hold none; everywhere else a NAME=VALUE that looks like a secret, what follows
    a name like PASSWORD after a colon or as an option, and keys known by their form. Line numbers
    stay.
    """
    whole, n_recorded = _redact_recorded(content)
    n_assigned = 0

    def masked(match: re.Match[bytes]) -> bytes:
        nonlocal n_assigned
        if not _is_secret(*match.groups()):
            return match.group()
        n_assigned += 1
        return match.group(1) + b"=" + MASK.encode()

    whole = _ASSIGNED.sub(masked, whole)
    whole, n_others = _redact_others(whole)
    return whole, n_recorded + n_assigned + n_others


def _redact_others(content: bytes) -> tuple[bytes, int]:
    """Secrets that are not plainly NAME=VALUE."""
    n_masked = 0

    def masked(match: re.Match[bytes], group: int) -> bytes:
        nonlocal n_masked
        n_masked += 1
        return (
            content[match.start() : match.start(group)]
            + MASK.encode()
            + content[match.end(group) : match.end()]
        )

    def set_off(match: re.Match[bytes]) -> bytes:
        group = match.lastindex or 0
        value = match.group(group)
        is_known = value.startswith(MASK.encode()) or value + b"]" == MASK.encode()
        return match.group() if is_known or _NUMBER.fullmatch(value) else masked(match, group)

    def quoted(match: re.Match[bytes]) -> bytes:
        group = match.lastindex or 0
        is_told = _is_secret(match.group(1), match.group(group))
        return masked(match, group) if is_told else match.group()

    def bare(match: re.Match[bytes]) -> bytes:
        return masked(match, match.lastindex or 0)

    lowered = content.lower()
    if any(word in lowered for word in _WORDS):
        content = _SET_OFF.sub(set_off, content)
    content = _QUOTED.sub(quoted, content)
    return _BARE.sub(bare, content), n_masked


def _redact_recorded(content: bytes) -> tuple[bytes, int]:
    """Each recorded environment, string by string, up to its closing bracket. A string that does
    not end on its line is masked as far as the line goes."""
    parts: list[bytes] = []
    at = n_masked = 0
    while opened := _RECORDED.search(content, at):
        parts.append(content[at : opened.end()])
        at = opened.end()
        within = [opened.group(1)]
        name = b""
        while within and (found := _QUOTE_OR_BRACKET.search(content, at)):
            between = content[at : found.end()]
            at = found.end()
            if found.group() != b'"':
                parts.append(between)
                if found.group() in b"[{":
                    within.append(found.group())
                else:
                    within.pop()
                continue
            is_list = within[-1] == b"["
            string = _REST_OF_STRING.match(content, at)
            assert string is not None
            text, closing = string.groups()
            is_value = is_list or between.strip().startswith(b":")
            shown = text
            if is_value:
                shown = _shown_entry(text) if is_list else _shown_value(name, text)
            shown = shown if closing else MASK.encode()
            n_masked += shown != text
            parts.extend((between, shown, closing))
            name, at = text, string.end()
    parts.append(content[at:])
    return b"".join(parts), n_masked


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

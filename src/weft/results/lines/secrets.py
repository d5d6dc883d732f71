"""Text of a log as it may be kept: without passwords, tokens and keys."""

import re

from weft.launch.redact import MASK, is_secret

_LONGEST = 2000
_VALUE = r"""(?P<value>"[^"]*"?|'[^']*'?|[^\s"']*?(?=,[\w.-]{1,100}=|[\s"']|$))"""
_PAIR = re.compile(
    r"""(?P<head>(?P<name>[A-Za-z_][\w.-]{0,100})["']?\s{0,2}[=:]\s{0,2})""" + _VALUE
)
_QUOTED = re.compile(r"""(?P<head>["'](?P<name>[A-Za-z_][\w.-]{0,100})=)(?P<value>[^"']{1,2000})""")
_OPTION = re.compile(
    r"(?P<head>(?<!\S)(?:--?g?env\s{1,3})?(?P<name>(?<=env )\w{1,100}|-{1,2}[A-Za-z][\w-]{0,60})"
    r"\s{1,3})(?!-)(?P<value>\S+)"
)
_LOGIN = re.compile(r"(?P<head>://)[^/\s@]*:[^\s@]*@")
_BEARER = re.compile(r"(?P<head>\b(?:Bearer|Basic)\s{1,3})\S+", re.IGNORECASE)
_WORD = re.compile(r"[^\s/\"'=]{16,}")
"""No secret that shows itself by its form alone is shorter (`weft.launch.redact`)."""


def masked(text: str) -> str:
    """The text, its first 2,000 characters, with a mask in the place of each value that is given
    to a name that speaks of a secret (`TOKEN=...`, `--password ...`) or itself looks like one."""
    text = _LOGIN.sub(rf"\g<head>{MASK}@", text[:_LONGEST])
    text = _BEARER.sub(rf"\g<head>{MASK}", text)
    text = _QUOTED.sub(_masked_value, text)
    if "=" in text or ":" in text:
        text = _PAIR.sub(_masked_value, text)
    text = _OPTION.sub(_masked_value, text)
    return _WORD.sub(lambda word: MASK if is_secret("", word[0]) else word[0], text)


def _masked_value(found: re.Match[str]) -> str:
    value = found["value"]
    if not value.strip("\"'") or not is_secret(found["name"].lstrip("-"), value):
        return found[0]
    return found["head"] + MASK

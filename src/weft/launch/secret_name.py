"""Names that speak of secrets, and values under them that are none."""

import re
from functools import lru_cache

_ALWAYS = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "ACCESSKEY", "PRIVATEKEY"),
    *("PRIVKEY", "ACCOUNTKEY", "CREDENTIAL", "AUTHORIZATION"),
)
"""Wherever they stand in a name, its signs left out."""
_AS_A_WORD = frozenset(
    {
        *("PASS", "PASSCODE", "PW", "PWD", "PSK", "KEY", "KEYS", "CRED", "CREDS", "AUTH", "COOKIE"),
        *("CERT", "CERTIFICATE", "PRIVATE", "SIGNATURE", "SAS", "JWT", "BEARER", "SESSION"),
    }
)
"""As a whole word of a name: such a value may also be a setting, a number or a path."""
SECRET_PARTS = (
    *("token", "secret", "pass", "pw", "psk", "key", "cred", "auth", "cookie", "cert", "private"),
    *("privkey", "signature", "sas", "jwt", "bearer", "session"),
)
"""One of these, in either case, stands in every name that speaks of a secret."""
_IN_PROSE = frozenset(
    {"PASS", "PASSCODE", "PW", "PWD", "PSK", "CREDS", "SAS", "JWT", "AUTH", "COOKIE"}
)
"""Those that name a secret before a colon, too, where sentences use the others."""
_OF_A_PLACE = ("FILE", "PATH", "DIR", "SOCK", "TIMEOUT", "TYPE", "EXPIRY", "LENGTH", "COUNT")
_NO_SECRET = ("TOKENIZ",)
_NUMBER = re.compile(r"[0-9.,eE+-]{1,20}|0x[0-9a-fA-F]{1,16}")
_NO_WORD = re.compile(r"\d|[a-z][A-Z]")
_PIN = re.compile(r"[0-9]{4,}")
_SETTING = re.compile(
    r"y|n|yes|no|on|off|true|false|none|null|nil|auto|default|enabled?|disabled?|required|any|all"
    r"|munge|ssh|sasl|basic|digest|\(null\)|<\w+>|\$\{?\w+\}?|\*+",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@%+-]+)+/?|[\w-]+\.\w{2,5}")


def names_secret(name: str, value: str, *, in_prose: bool = False) -> bool:
    """Whether the name says that the value is a secret. `in_prose`: a colon stands between."""
    always, by_word = _kind_of(name)
    if always:
        is_count = "TOKEN" in always and _NUMBER.fullmatch(value)
        return bool(value) and not is_count and not _is_reference(value)
    if not by_word or not value or _SETTING.fullmatch(value) or _PATH.fullmatch(value):
        return False
    words = by_word & _IN_PROSE
    if in_prose and not (words and _NO_WORD.search(value)):
        return False
    return not _NUMBER.fullmatch(value) or bool(words and _PIN.fullmatch(value))


def may_name_secret(name: str) -> bool:
    """Whether some value under this name is a secret."""
    return any(_kind_of(name))


def _is_reference(value: str) -> bool:
    """$TOKEN and ${TOKEN}: the shell puts the secret in later."""
    return re.fullmatch(r"\$\{?\w+\}?", value) is not None


@lru_cache(maxsize=65_536)
def _kind_of(name: str) -> tuple[str, frozenset[str]]:
    """(the part that names a secret whatever the value, the words that do so for most)."""
    upper = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    words = re.split(r"[^A-Z0-9]+", upper)
    joined = "".join(words)
    if words[-1] in _OF_A_PLACE or any(part in joined for part in _NO_SECRET):
        return "", frozenset()
    always = next((part for part in _ALWAYS if part in joined), "")
    return always, _AS_A_WORD.intersection(words)

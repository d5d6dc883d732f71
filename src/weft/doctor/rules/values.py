"""Values: how the library reads them."""

import re
from collections.abc import Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.libraries.variables import BOOLEAN_WORDS, ValueSyntax, Variable, version_key
from weft.doctor.case import NCCL, DoctorCase, Edit, Found
from weft.doctor.job import JobSetting, SettingOrigin
from weft.doctor.numbers import meant, strtoll

DEBUG_BETTER = {"debug": "INFO", "error": "WARN", "err": "WARN", "warning": "WARN", "warn": "WARN"}
TYPOGRAPHIC = "\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb"  # fmt: skip
NUMBER_WORDS = {"auto", "inf", "infinity", "try"}
BOOLEANS = {
    "0",
    "1",
    "y",
    "n",
    "yes",
    "no",
    "true",
    "false",
    "on",
    "off",
    "t",
    "f",
    "enabled",
    "disabled",
}
EMPTY = {
    ValueSyntax.INTEGER: "it is as if it were not set",
    ValueSyntax.PATH: "no file is read, and nothing says so",
    ValueSyntax.INTERFACES: "no name is in the list, so all are taken",
}


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for setting in case.job.settings:
        variable = case.variable(setting.name)
        library = case.library(setting.name)
        if setting.known is None or library is None:
            continue
        if variable is not None and library.library == NCCL and not _is_read(case, variable):
            continue
        wrong = list(_text(case, setting))
        if not wrong and variable is not None:
            wrong = list(_value(case, setting, variable))
        if not wrong and variable is not None and library.library == NCCL:
            wrong = list(_default(case, setting, variable))
        yield from wrong


def _is_read(case: DoctorCase, variable: Variable) -> bool:
    """Whether this NCCL asks for it: of a name that it ignores the value does not matter."""
    return variable.known_in(case.version) or variable.name in (case.names or ())


def edit(setting: JobSetting, text: str) -> tuple[Edit, ...]:
    """Put another value where the setting's value stands."""
    at = setting.value_at
    return (Edit(at, text, is_value=True),) if at is not None and at.exact else ()


def _text(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    value = setting.known or ""
    if setting.way is SettingOrigin.CONF and case.since(RETURNS_ARE_CUT):
        value = value.removesuffix("\r")
    words = {"name": setting.name, "value": value}
    if not value:
        reads = variable.reads if (variable := case.variable(setting.name)) else ValueSyntax.TEXT
        effect = EMPTY.get(reads, "it is as if it were not set, or the empty word is taken")
        yield Found("empty-value", {**words, "effect": effect}, setting.at, setting)
    elif (quote := next((one for one in value if one in TYPOGRAPHIC), None)) is not None:
        better = value.strip(TYPOGRAPHIC)
        yield Found(
            "typographic-quotes",
            {**words, "quote": quote},
            setting.at,
            setting,
            edit(setting, better),
        )
    elif len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        yield Found("quotes-in-value", words, setting.at, setting, edit(setting, value[1:-1]))
    elif value != value.strip():
        better = value.strip()
        found = {**words, "better": better}
        yield Found("spaces-around-value", found, setting.at, setting, edit(setting, better))


def _value(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    if setting.name == "NCCL_DEBUG":
        yield from _debug(case, setting, variable)
    elif setting.name == "NCCL_DEBUG_SUBSYS":
        yield from _subsystems(case, setting, variable)
    elif variable.reads is ValueSyntax.INTEGER:
        yield from _integer(case, setting, variable)
    elif variable.reads is ValueSyntax.LEVEL:
        yield from _level(case, setting, variable)
    elif variable.reads is ValueSyntax.CHOICE:
        yield from _choice(setting, variable)
    elif variable.reads is ValueSyntax.BOOLEAN:
        if (setting.known or "").lower() not in BOOLEANS:
            words = {"name": setting.name, "value": setting.known or "", "choices": "yes or no"}
            yield Found("unknown-word", words, setting.at, setting)
    elif variable.reads is ValueSyntax.NUMBER:
        yield from _number(setting, variable)


WORDS_ARE_REFUSED = "2.32.3"
"""From this NCCL on a value without digits is refused aloud; before, it was read as 0."""
LISTS_ARE_REFUSED = "2.30.7"
"""From this NCCL on one unknown part refuses the list; before, it was left out (2.30.3)."""
RETURNS_ARE_CUT = "2.30.3"
"""From this NCCL on lines of an nccl.conf may end as those of Windows (2.29.7 keeps the \\r)."""


def _integer(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    value, rest = strtoll(text)
    if variable.boolean_since and case.since(variable.boolean_since):
        if text.lower() not in BOOLEAN_WORDS:
            words = {"name": setting.name, "value": text, "choices": ", ".join(BOOLEAN_WORDS)}
            yield Found("unknown-word", words, setting.at, setting)
        return
    intended = meant(text)
    words = {
        "name": setting.name,
        "value": text,
        "read": str(value),
        "meant": intended or "a number",
    }
    mended = edit(setting, intended) if intended is not None else ()
    if value is None:
        yield Found("number-too-large", words, setting.at, setting)
    elif rest == text:
        of_nccl = (library := case.library(setting.name)) is not None and library.library == NCCL
        default = variable.default_in(case.version) if of_nccl else ""
        shown = f", {default}," if default not in ("", "unset") else ""
        refused = of_nccl and case.since(WORDS_ARE_REFUSED)
        rule = "word-refused" if refused else "word-for-number"
        words = {**words, "default": shown, "version": WORDS_ARE_REFUSED}
        yield Found(rule, words, setting.at, setting, mended)
    elif rest.strip():
        rule = "suffix-on-number"
        yield Found(rule, words, setting.at, setting, mended)
    elif (octal := re.fullmatch(r"[+]?(-?)0+([0-9]+)", text.strip())) is not None:
        decimal = octal[1] + (octal[2].lstrip("0") or "0")
        found = {**words, "meant": decimal}
        yield Found("octal-number", found, setting.at, setting, edit(setting, decimal))
    else:
        yield from _range(setting, variable, value)


def _range(setting: JobSetting, variable: Variable, value: int) -> Iterator[Found]:
    least, most = variable.least, variable.most
    defaults = {default for _, default in variable.defaults}
    if str(value) in defaults or (least is None and most is None):
        return
    if (least is not None and value < least) or (most is not None and value > most):
        words = {
            "name": setting.name,
            "value": str(value),
            "least": str(least) if least is not None else "any number",
            "most": str(most) if most is not None else "any number",
        }
        yield Found("out-of-range", words, setting.at, setting)


def _number(setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = (setting.known or "").strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        yield from _range(setting, variable, int(text))
    elif re.fullmatch(r"[A-Za-z]{2,}", text) and text.lower() not in BOOLEANS | NUMBER_WORDS:
        words = {"name": setting.name, "value": text, "choices": "a number"}
        yield Found("unknown-word", words, setting.at, setting)


def _level(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    """What begins with a digit is a number, whatever follows."""
    text = setting.known or ""
    levels = variable.choices_in(case.version)
    words = {"name": setting.name, "value": text, "version": case.version}
    value, _ = strtoll(text)
    if text in levels:
        return
    if text[0].isdigit() and value is not None:
        meaning = nccl_topology().level(value)
        found = {**words, "meaning": meaning}
        yield Found("level-number", found, setting.at, setting, edit(setting, meaning))
        return
    better = text.upper() if text.upper() in levels else None
    edits = edit(setting, better) if better is not None else ()
    yield Found("level-word", words, setting.at, setting, edits)


def _choice(setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    allowed = (
        {one.lower() for one in variable.choices} if variable.any_case else {*variable.choices}
    )
    if (text.lower() if variable.any_case else text) in allowed:
        return
    words = {"name": setting.name, "value": text, "choices": ", ".join(variable.choices)}
    near = next((one for one in variable.choices if one.lower() == text.lower()), None)
    yield Found("unknown-word", words, setting.at, setting, edit(setting, near) if near else ())


def _debug(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    if text.upper() in (*variable.choices_in(case.version), "NONE"):
        return
    better = DEBUG_BETTER.get(text.lower(), "INFO")
    words = {"value": text, "better": better}
    yield Found("debug-level", words, setting.at, setting, edit(setting, better))


def _subsystems(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    known = variable.choices_in(case.version)
    effect, parts = "it is left out", (setting.known or "").removeprefix("^").split(",")
    if case.since(LISTS_ARE_REFUSED):
        effect, parts = "the whole list is refused", [part.strip() for part in parts]
    for part in parts:
        if part.upper() not in known:
            words = {"value": part, "version": case.version, "choices": ", ".join(known)}
            yield Found("debug-subsystem", {**words, "effect": effect}, setting.at, setting)


def _default(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    default = variable.default_in(case.version)
    value, rest = strtoll(setting.known or "")
    if default not in ("", "unset") and not rest and value is not None and str(value) == default:
        words = {
            "name": setting.name,
            "value": setting.known or "",
            "library": "NCCL",
            "version": case.version,
        }
        yield Found("default-value", words, setting.at, setting)
        return
    history = [one for one in variable.defaults if re.fullmatch(r"-?[0-9]+", one[1])]
    now = [one for one in history if version_key(one[0]) <= version_key(case.version)]
    if len(now) > 1 and now[-1][1] == default and not rest and value is not None:
        words = {
            "name": setting.name,
            "value": setting.known or "",
            "default": default,
            "since": now[-1][0],
            "before": now[-2][1],
        }
        yield Found("default-changed", words, setting.at, setting)

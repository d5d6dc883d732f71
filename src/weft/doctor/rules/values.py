"""Values, as the library reads them."""

import re
from collections.abc import Callable, Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.libraries.variables import BOOLEAN_WORDS, ValueSyntax, Variable, version_key
from weft.core.finding import Severity
from weft.doctor.case import NCCL, DoctorCase, Edit, Found, mistake
from weft.doctor.job import JobSetting, SettingOrigin
from weft.doctor.numbers import meant, strtoll

DEBUG_BETTER = {"debug": "INFO", "error": "WARN", "err": "WARN", "warning": "WARN", "warn": "WARN"}
TYPOGRAPHIC = "\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb"  # fmt: skip
NUMBER_WORDS = {"auto", "inf", "infinity", "try"}
BOOLEANS = {
    *("0", "1", "y", "n", "yes", "no", "true", "false", "on", "off", "t", "f"),
    *("enabled", "disabled"),
}
EMPTY = {
    ValueSyntax.INTEGER: "it is as if it were not set",
    ValueSyntax.PATH: "no file is read, and nothing says so",
    ValueSyntax.INTERFACES: "no name is in the list, so all are taken",
}
WORDS_ARE_REFUSED = "2.32.3"
"""From this NCCL on a value without digits is refused aloud; before, it was read as 0."""
LISTS_ARE_REFUSED = "2.30.7"
"""From this NCCL on one unknown part refuses the list; before, it was left out (2.30.3)."""
RETURNS_ARE_CUT = "2.30.3"
"""From this NCCL on lines of an nccl.conf may end as those of Windows (2.29.7 keeps the \\r)."""


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for setting in case.job.settings:
        variable = case.variable(setting.name)
        library = case.library(setting.name)
        if setting.known is None or library is None:
            continue
        of_nccl = library.library == NCCL
        if variable is not None and of_nccl and not _is_read(case, variable):
            continue
        wrong = list(_text(case, setting))
        if not wrong and variable is not None:
            wrong = list(_value(case, setting, variable))
            if not wrong and of_nccl:
                wrong = list(_default(case, setting, variable))
        yield from wrong


def _is_read(case: DoctorCase, variable: Variable) -> bool:
    """Whether this NCCL asks for it: the value of a name that it ignores has no effect."""
    return variable.known_in(case.version) or variable.name in (case.names or ())


def edit(setting: JobSetting, text: str | None) -> tuple[Edit, ...]:
    """Put another value where the setting's value stands; nothing for None."""
    at = setting.value_at
    return (Edit(at, text, is_value=True),) if text is not None and at and at.exact else ()


def _text(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    value = setting.known or ""
    if setting.origin is SettingOrigin.CONF and case.since(RETURNS_ARE_CUT):
        value = value.removesuffix("\r")
    better = value.strip()
    quote = next((one for one in value if one in TYPOGRAPHIC), None)
    if not value:
        reads = variable.reads if (variable := case.variable(setting.name)) else ValueSyntax.TEXT
        effect = EMPTY.get(reads, "it is as if it were not set, or the empty word is taken")
        is_harmless = reads is not ValueSyntax.PATH or setting.is_optional
        severity = Severity.WARNING if is_harmless else None
        yield mistake("empty-value", setting, (), severity, value="", effect=effect)
    elif quote is not None:
        edits = edit(setting, value.strip(TYPOGRAPHIC))
        yield mistake("typographic-quotes", setting, edits, value=value, quote=quote)
    elif len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        yield mistake("quotes-in-value", setting, edit(setting, value[1:-1]), value=value)
    elif value != better:
        edits = edit(setting, better)
        yield mistake("spaces-around-value", setting, edits, value=value, better=better)


def _value(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    read = _OF_NAME.get(setting.name) or _OF_SYNTAX.get(variable.reads)
    return read(case, setting, variable) if read is not None else iter(())


def _boolean(_case: DoctorCase, setting: JobSetting, _variable: Variable) -> Iterator[Found]:
    if (setting.known or "").lower() not in BOOLEANS:
        yield mistake("unknown-word", setting, choices="yes or no")


def _integer(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    value, remaining = strtoll(text)
    if variable.boolean_since and case.since(variable.boolean_since):
        if text.lower() not in BOOLEAN_WORDS:
            yield mistake("unknown-word", setting, choices=", ".join(BOOLEAN_WORDS))
        return
    intended = meant(text)
    words = {"read": str(value), "meant": intended or "a number"}
    if value is None:
        yield mistake("number-too-large", setting, **words)
    elif remaining == text:
        of_nccl = (library := case.library(setting.name)) is not None and library.library == NCCL
        default = variable.default_in(case.version) if of_nccl else ""
        shown = f", {default}," if default not in ("", "unset") else ""
        refused = of_nccl and case.since(WORDS_ARE_REFUSED)
        rule = "word-refused" if refused else "word-for-number"
        words |= {"default": shown, "version": WORDS_ARE_REFUSED}
        yield mistake(rule, setting, edit(setting, intended), **words)
    elif remaining.strip():
        yield mistake("suffix-on-number", setting, edit(setting, intended), **words)
    elif (octal := re.fullmatch(r"[+]?(-?)0+([0-9]+)", text.strip())) is not None:
        words["meant"] = octal[1] + (octal[2].lstrip("0") or "0")
        yield mistake("octal-number", setting, edit(setting, words["meant"]), **words)
    else:
        yield from _range(setting, variable, value)


def _range(setting: JobSetting, variable: Variable, value: int) -> Iterator[Found]:
    least, most = variable.least, variable.most
    if str(value) in {default for _, default in variable.defaults}:
        return
    if (least is not None and value < least) or (most is not None and value > most):
        low, high = ("any number" if one is None else str(one) for one in (least, most))
        yield mistake("out-of-range", setting, value=str(value), least=low, most=high)


def _number(_case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = (setting.known or "").strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        yield from _range(setting, variable, int(text))
    elif re.fullmatch(r"[A-Za-z]{2,}", text) and text.lower() not in BOOLEANS | NUMBER_WORDS:
        yield mistake("unknown-word", setting, value=text, choices="a number")


def _level(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    """A text that begins with a digit is a number, whatever follows."""
    text = setting.known or ""
    levels = variable.choices_in(case.version)
    value, _ = strtoll(text)
    if text in levels:
        return
    if text[0].isdigit() and value is not None:
        meaning = nccl_topology().level(value)
        yield mistake("level-number", setting, edit(setting, meaning), meaning=meaning)
        return
    better = text.upper() if text.upper() in levels else None
    yield mistake("level-word", setting, edit(setting, better), version=case.version)


def _choice(_case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    near = next((one for one in variable.choices if one.lower() == text.lower()), None)
    if text not in variable.choices and not (variable.any_case and near):
        choices = ", ".join(variable.choices)
        # NCCL takes its default instead of a word that it does not know.
        severity = Severity.WARNING if setting.name.startswith("NCCL_") else None
        # A log that says too little slows no job.
        severity = Severity.NOTE if "_LOG_LEVEL" in setting.name else severity
        yield mistake("unknown-word", setting, edit(setting, near), severity, choices=choices)


def _debug(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    text = setting.known or ""
    if text.upper() not in (*variable.choices_in(case.version), "NONE"):
        better = DEBUG_BETTER.get(text.lower(), "INFO")
        yield mistake("debug-level", setting, edit(setting, better), better=better)


def _subsystems(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    known = variable.choices_in(case.version)
    effect, parts = "it is left out", (setting.known or "").removeprefix("^").split(",")
    if case.since(LISTS_ARE_REFUSED):
        effect, parts = "the whole list is refused", [part.strip() for part in parts]
    words = {"version": case.version, "choices": ", ".join(known), "effect": effect}
    for part in parts:
        if part.upper() not in known:
            yield mistake("debug-subsystem", setting, value=part, **words)


_Reader = Callable[[DoctorCase, JobSetting, Variable], Iterator[Found]]
_OF_NAME: dict[str, _Reader] = {"NCCL_DEBUG": _debug, "NCCL_DEBUG_SUBSYS": _subsystems}
_OF_SYNTAX: dict[ValueSyntax, _Reader] = {
    ValueSyntax.INTEGER: _integer,
    ValueSyntax.LEVEL: _level,
    ValueSyntax.CHOICE: _choice,
    ValueSyntax.BOOLEAN: _boolean,
    ValueSyntax.NUMBER: _number,
}


def _default(case: DoctorCase, setting: JobSetting, variable: Variable) -> Iterator[Found]:
    default = variable.default_in(case.version)
    value, remaining = strtoll(setting.known or "")
    if remaining or value is None:
        return
    if default not in ("", "unset") and str(value) == default:
        yield mistake("default-value", setting, library="NCCL", version=case.version)
        return
    history = [one for one in variable.defaults if re.fullmatch(r"-?[0-9]+", one[1])]
    now = [one for one in history if version_key(one[0]) <= version_key(case.version)]
    if len(now) > 1 and now[-1][1] == default:
        words = {"default": default, "since": now[-1][0], "before": now[-2][1]}
        yield mistake("default-changed", setting, **words)

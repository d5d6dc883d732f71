"""Names: known, misspelt, too new, gone, or never exported."""

import re
from collections.abc import Iterator
from dataclasses import replace

from weft.catalog.libraries.variables import Variable, VariableList, version_key
from weft.core.finding import Severity
from weft.core.words import nearest
from weft.doctor.case import NCCL, DoctorCase, Edit, Found, mistake
from weft.doctor.job import HOLE, NOWHERE, JobKind, JobSetting, SettingOrigin
from weft.doctor.readers.text_kind import is_nccl_conf

PRIVATE = (
    "NCCL_FASTRAK_",
    "NCCL_GPUDIRECTTCPX_",
    "NCCL_TESTS_",
    "NCCL_UCX_",
    "NCCL_IBEXT_",
    "NCCL_SHIMNET_",
)
"""Prefixes of plug-ins and test programs whose names no list has."""
MOST_LETTERS = 2
"""So many letters may differ between a name and the one that was meant."""
LONG = 4
"""Words of a name from which on one may be missing."""
CODE = re.compile(r"NCCL_(ROOT|HOME|DIR|VERSION|INCLUDE_DIR|LIB_DIR|LIBRARY|SRC|BUILD|TESTS?)(_|$)")
"""Names of build systems and scripts, which no program reads while it runs."""


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    yield from _names(case)
    yield from _not_exported(case)
    yield from _malformed(case)
    yield from _twice(case)
    yield from _overridden(case)
    yield from _hidden(case)
    yield from _conflicts(case)


def _names(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        if case.job.kind is JobKind.CONF and not re.fullmatch(r"\w+", setting.name):
            continue
        library = case.library(setting.name)
        if library is None or is_private(setting.name):
            continue
        variable, known = case.variable(setting.name), None
        if case.names is not None and setting.name.startswith("NCCL_"):
            # The given library's own names decide; a plug-in's variables are the catalogue's.
            if setting.name in case.names:
                continue
            plugins, known = case.lists["nccl-plugins"], sorted(case.names)
            library = plugins if setting.name in plugins.by_name else case.lists[NCCL]
        if variable is None:
            yield from _unknown(case, setting, library, known)
        else:
            yield from _known(case, setting, library, variable)


def is_private(name: str) -> bool:
    """Whether a name is that of a plug-in without a list, of a build system or of a test."""
    return name.startswith(PRIVATE) or CODE.match(name) is not None


def is_of_a_log(name: str) -> bool:
    """Whether a variable only says how much is logged."""
    return name.startswith("NCCL_DEBUG") or "_LOG_" in name


def _unknown(
    case: DoctorCase, setting: JobSetting, library: VariableList, known: list[str] | None
) -> Iterator[Found]:
    of_nccl = library.library == NCCL
    if known is None:
        variables = library.variables
        known = [one.name for one in variables if not of_nccl or one.known_in(case.version)]
        if of_nccl:
            known += [one.name for one in case.lists["nccl-plugins"].variables]
    near = meant_name(setting.name, known)
    if near is not None:
        rule = "unknown-name-warned" if library.says_when_unknown else "unknown-name"
        edits = rename(case, setting, near)
        yield mistake(rule, setting, edits, library=library.title, near=near)
    elif of_nccl and setting.origin is not SettingOrigin.ASSIGNED:
        # Libraries take names that weft's list may lack: only NCCL's is whole.
        yield mistake("unfamiliar-name", setting, library=library.title)


def meant_name(name: str, known: list[str]) -> str | None:
    """The known name that was meant, or None where it is not clear.

    The same words in another order, at most two letters too many, too few or wrong, or one word
    left out of a long name. NCCL_TIMEOUT is none of them: it is not NCCL_IB_TIMEOUT.
    """
    words = name.split("_")
    ordered = sorted(words)
    for one in known:
        if len(one) == len(name) and sorted(one.split("_")) == ordered:
            return one
    near = nearest(name, known, most_letters=MOST_LETTERS)
    if near is not None or len(words) < LONG:
        return near
    longer = [one for one in known if _is_one_word_more(one.split("_"), words)]
    return longer[0] if len(longer) == 1 else None


def _is_one_word_more(longer: list[str], words: list[str]) -> bool:
    if len(longer) != len(words) + 1:
        return False
    return any(longer[:i] + longer[i + 1 :] == words for i in range(len(longer)))


def rename(case: DoctorCase, setting: JobSetting, name: str) -> tuple[Edit, ...]:
    """The edit that gives a setting another name, where its name stands in the text."""
    text = case.job.text[setting.at.start : setting.at.end]
    if not setting.at.exact:
        return ()
    shown = setting.name
    if setting.origin is SettingOrigin.MCA:
        shown, name = shown.removeprefix("OMPI_MCA_"), name.removeprefix("OMPI_MCA_")
    found = re.search(rf"(?<!\w){re.escape(shown)}(?!\w)", text)
    if found is None:
        return ()
    start = setting.at.start + found.start()
    return (Edit(replace(setting.at, start=start, end=start + len(shown)), name),)


def _known(
    case: DoctorCase, setting: JobSetting, library: VariableList, variable: Variable
) -> Iterator[Found]:
    words = {"library": library.title, "version": case.version}
    words |= {"since": variable.since, "until": variable.until, "instead": variable.instead}
    of_nccl, at = library.library == NCCL, version_key(case.version)
    if of_nccl and variable.since and at < version_key(variable.since):
        yield mistake("newer-name", setting, **words)
    elif of_nccl and variable.until and at > version_key(variable.until):
        words["instead"] = f"write {variable.instead}" if variable.instead else "leave it out"
        yield mistake("removed-name", setting, **words)
    elif variable.instead:
        says = (variable.says or f"{variable.instead} does its work now").rstrip(".")
        edits = rename(case, setting, variable.instead) if "=" not in variable.instead else ()
        yield mistake("other-name", setting, edits, **words, says=says)


def _not_exported(case: DoctorCase) -> Iterator[Found]:
    if case.job.kind is not JobKind.SCRIPT or not case.job.launches:
        return
    # A command line may hand the shell's value on: -x NAME=$NAME or --export=NAME=$NAME.
    handed_on = {one.name for one in case.job.settings if one.launch is not None}
    for setting in case.job.settings:
        name = setting.name
        if setting.origin is not SettingOrigin.ASSIGNED or case.library(name) is None:
            continue
        if case.variable(name) is not None and not is_private(name) and name not in handed_on:
            at = replace(setting.at, end=setting.at.start)
            edits = (Edit(at, "export "),) if at.exact else ()
            # A level of a log that is lost slows no job.
            severity = Severity.WARNING if is_of_a_log(name) else None
            yield mistake("not-exported", setting, edits, severity)


def _malformed(case: DoctorCase) -> Iterator[Found]:
    if case.job.kind is JobKind.SCRIPT and is_nccl_conf(case.job.name):
        yield mistake("conf-of-a-shell", NOWHERE)
    for broken in case.job.broken:
        if case.library(broken.name) is not None:
            value = (broken.value or "").replace(HOLE, "...")
            better = f"export {broken.name}={value}"
            yield mistake("spaces-around-equals", broken, value=value, better=better)
    for setting in case.job.layer:
        if case.variable(setting.name) is not None:
            yield mistake("ends-with-layer", setting, value=(setting.known or "..."))
    if case.job.kind is not JobKind.CONF:
        return
    for setting in case.job.settings:
        if re.fullmatch(r"\w+", setting.name):
            continue
        name = setting.name.replace("export ", "").strip()
        better = f"{name}={(setting.value or '').strip()}"
        edits = (Edit(setting.at, better),) if re.fullmatch(r"\w+", name) else ()
        yield mistake("malformed-line", setting, edits, name=f"`{setting.name}`", better=better)
    for place in case.job.unread:
        text = case.job.text[place.start : place.end]
        yield mistake("malformed-line", place, name=f"`{text}`", better="NAME=VALUE")


def _twice(case: DoctorCase) -> Iterator[Found]:
    first: dict[tuple[int | None, str], JobSetting] = {}
    for setting in case.job.settings:
        if None in (setting.launch, setting.known) or setting.origin is SettingOrigin.EXPORT:
            continue
        before = first.setdefault((setting.launch, setting.name), setting)
        if before.known != setting.known and before.origin is setting.origin:
            words = {"first": before.known or "empty", "second": setting.known or "empty"}
            yield mistake("twice", setting, **words)


def _overridden(case: DoctorCase) -> Iterator[Found]:
    """A value that a script replaces before any launch could see it."""
    launches = [one.order for one in case.job.launches]
    last: dict[str, JobSetting] = {}
    for setting in case.job.settings:
        if setting.origin is not SettingOrigin.EXPORT or case.variable(setting.name) is None:
            continue
        before = last.get(setting.name)
        last[setting.name] = setting
        if before is None or setting.is_optional or None in (before.known, setting.known):
            continue
        is_seen = any(before.order < one < setting.order for one in launches)
        if before.known != setting.known and not is_seen:
            words = {"first": before.known or "empty", "second": setting.known or "empty"}
            yield mistake("overridden", before, **words, line=str(setting.at.line))


def _hidden(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        other, source = case.elsewhere.get(setting.name, (None, ""))
        if other in (None, setting.known) or setting.known is None:
            continue
        if setting.origin is not SettingOrigin.CONF:
            words = {"value": setting.known or "empty", "other": other or "empty"}
            yield mistake("hidden-by-environment", setting, **words, source=source)


NOTHING = ("", "0", "-1")
"""Values with which a variable asks for nothing."""


def _conflicts(case: DoctorCase) -> Iterator[Found]:
    """Two variables of which the catalogue says that one defeats the other."""
    for name in dict.fromkeys(setting.name for setting in case.job.settings):
        setting, variable = case.in_force(name), case.variable(name)
        if setting is None or variable is None or setting.known in NOTHING:
            continue
        for other, what in variable.conflicts:
            second = case.in_force(other)
            if second is not None and second.known not in NOTHING:
                yield mistake("conflict", setting, other=other, what=what)

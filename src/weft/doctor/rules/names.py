"""Names: known, misspelt, too new, gone, or never exported."""

import re
from collections.abc import Iterator
from dataclasses import replace

from weft.catalog.libraries.variables import Variable, VariableList, version_key
from weft.core.words import nearest
from weft.doctor.case import NCCL, DoctorCase, Edit, Found
from weft.doctor.job import JobKind, JobSetting, SettingOrigin

PRIVATE = ("NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_", "NCCL_TESTS_", "NCCL_UCX_", "NCCL_IBEXT_")
"""Prefixes of plug-ins and test programs whose names nobody lists."""
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
    yield from _hidden(case)
    yield from _conflicts(case)


def _names(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        if case.job.kind is JobKind.CONF and not re.fullmatch(r"\w+", setting.name):
            continue
        library = case.library(setting.name)
        if library is None or _is_private(setting.name):
            continue
        variable = case.variable(setting.name)
        if case.names is not None and setting.name.startswith("NCCL_"):
            yield from _by_library(case, setting, variable)
        elif variable is None:
            yield from _unknown(case, setting, library)
        else:
            yield from _known(case, setting, library, variable)


def _is_private(name: str) -> bool:
    return name.startswith(PRIVATE) or CODE.match(name) is not None


def _by_library(
    case: DoctorCase, setting: JobSetting, variable: Variable | None
) -> Iterator[Found]:
    """The given library's own names decide; a plug-in's variables are the catalogue's."""
    assert case.names is not None
    own = variable is not None and case.lists["nccl-plugins"].by_name.get(setting.name) is not None
    if setting.name in case.names:
        return
    if own and variable is not None:
        yield from _known(case, setting, case.lists["nccl-plugins"], variable)
        return
    nccl = case.lists[NCCL]
    if variable is not None:
        yield from _known(case, setting, nccl, variable)
        return
    yield from _unknown(case, setting, nccl, sorted(case.names))


def _unknown(
    case: DoctorCase, setting: JobSetting, library: VariableList, known: list[str] | None = None
) -> Iterator[Found]:
    if known is None:
        known = [one.name for one in library.variables if _usable(case, library, one)]
        if library.library == NCCL:
            known += [one.name for one in case.lists["nccl-plugins"].variables]
    near = meant_name(setting.name, known)
    words = {"name": setting.name, "library": library.title, "near": near or ""}
    if near is None:
        # Libraries take names that weft's list may lack: only NCCL's is whole.
        if library.library == NCCL:
            yield Found("unfamiliar-name", words, setting.at, setting)
        return
    rule = "unknown-name-warned" if library.says_when_unknown else "unknown-name"
    yield Found(rule, words, setting.at, setting, rename(case, setting, near))


def _usable(case: DoctorCase, library: VariableList, variable: Variable) -> bool:
    return library.library != NCCL or variable.known_in(case.version)


def meant_name(name: str, known: list[str]) -> str | None:
    """The known name that was meant, or None where nobody can say.

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
    if setting.way is SettingOrigin.MCA:
        shown, name = shown.removeprefix("OMPI_MCA_"), name.removeprefix("OMPI_MCA_")
    found = re.search(rf"(?<!\w){re.escape(shown)}(?!\w)", text)
    if found is None:
        return ()
    start = setting.at.start + found.start()
    return (Edit(replace(setting.at, start=start, end=start + len(shown)), name),)


def _known(
    case: DoctorCase, setting: JobSetting, library: VariableList, variable: Variable
) -> Iterator[Found]:
    words = {
        "name": setting.name,
        "library": library.title,
        "version": case.version,
        "since": variable.since,
        "until": variable.until,
    }
    of_nccl = library.library == NCCL
    if of_nccl and variable.since and version_key(case.version) < version_key(variable.since):
        yield Found("newer-name", words, setting.at, setting)
    elif of_nccl and variable.until and version_key(case.version) > version_key(variable.until):
        instead = f"write {variable.instead}" if variable.instead else "leave it out"
        yield Found("removed-name", {**words, "instead": instead}, setting.at, setting)
    elif variable.instead:
        says = (variable.says or f"{variable.instead} does its work now").rstrip(".")
        edits = rename(case, setting, variable.instead) if "=" not in variable.instead else ()
        words = {**words, "says": says, "instead": variable.instead}
        yield Found("other-name", words, setting.at, setting, edits)


def _not_exported(case: DoctorCase) -> Iterator[Found]:
    if case.job.kind is not JobKind.SCRIPT or not case.job.launches:
        return
    for setting in case.job.settings:
        library = case.library(setting.name)
        if (
            setting.way is not SettingOrigin.ASSIGNED
            or library is None
            or _is_private(setting.name)
        ):
            continue
        if case.variable(setting.name) is None or _is_handed_on(case, setting):
            continue
        at = replace(setting.at, end=setting.at.start)
        edits = (Edit(at, "export "),) if setting.at.exact else ()
        yield Found("not-exported", {"name": setting.name}, setting.at, setting, edits)


def _is_handed_on(case: DoctorCase, setting: JobSetting) -> bool:
    """Whether a command line gives the shell's value on: -x NAME=$NAME or --export=NAME=$NAME."""
    return any(
        other.name == setting.name and other.launch is not None for other in case.job.settings
    )


def _malformed(case: DoctorCase) -> Iterator[Found]:
    if case.job.kind is not JobKind.CONF:
        return
    for setting in case.job.settings:
        if re.fullmatch(r"\w+", setting.name):
            continue
        name = setting.name.replace("export ", "").strip()
        better = f"{name}={(setting.value or '').strip()}"
        words = {"name": f"`{setting.name}`", "better": better}
        edits = (Edit(setting.at, better),) if re.fullmatch(r"\w+", name) else ()
        yield Found("malformed-line", words, setting.at, setting, edits)
    for place in case.job.unread:
        text = case.job.text[place.start : place.end]
        yield Found("malformed-line", {"name": f"`{text}`", "better": "NAME=VALUE"}, place)


def _twice(case: DoctorCase) -> Iterator[Found]:
    for index in range(len(case.job.launches)):
        first: dict[str, JobSetting] = {}
        for setting in case.job.settings:
            if (
                setting.launch != index
                or setting.known is None
                or setting.way is SettingOrigin.EXPORT
            ):
                continue
            before = first.setdefault(setting.name, setting)
            if before.known != setting.known and before.way is setting.way:
                words = {
                    "name": setting.name,
                    "first": before.known or "empty",
                    "second": setting.known or "empty",
                }
                yield Found("twice", words, setting.at, setting)


def _hidden(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        other, source = case.elsewhere.get(setting.name, (None, ""))
        if other is None or setting.known is None or setting.way is SettingOrigin.CONF:
            continue
        if other != setting.known:
            words = {
                "name": setting.name,
                "value": setting.known or "empty",
                "other": other or "empty",
                "source": source,
            }
            yield Found("hidden-by-environment", words, setting.at, setting)


NOTHING = ("", "0", "-1")
"""Values with which a variable asks for nothing."""


def _conflicts(case: DoctorCase) -> Iterator[Found]:
    """Two variables of which the catalogue says that one defeats the other."""
    for name in dict.fromkeys(setting.name for setting in case.job.settings):
        setting, variable = case.in_force(name), case.variable(name)
        if setting is None or variable is None or setting.known in NOTHING:
            continue
        for other, what in variable.conflicts:
            beside = case.in_force(other)
            if beside is not None and beside.known not in NOTHING:
                words = {"name": name, "other": other, "what": what}
                yield Found("conflict", words, setting.at, setting)

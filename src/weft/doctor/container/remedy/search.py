"""The search for a remedy: the first additions with which the judge says GOOD."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.core.shell_line import UNSHOWN
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.report import Chain, is_known
from weft.doctor.container.judge import fabric_of, judge_container
from weft.doctor.container.launch.environment import VariableValue
from weft.doctor.container.launch.runtime import PLAIN, RUNNING
from weft.doctor.container.loader.closure import Closure, LoadedFile
from weft.doctor.container.remedy.additions import (
    FOLDER,
    AddedMount,
    AddedVariable,
    Additions,
)
from weft.doctor.container.remedy.documents import LINKER_HOOK
from weft.doctor.container.remedy.emission import (
    GIVEN,
    Emission,
    base_plan,
    emission_of,
    is_writable,
    joined_plan,
)
from weft.doctor.container.remedy.emission_forms import EmissionForm
from weft.doctor.container.remedy.host_libraries import HostLibraries, is_of_glibc
from weft.doctor.container.remedy.parts import Parts, devices_of, parts_of, variables_of
from weft.launch.prescription import HANDED_ON

MOST_TRIES = 32
"""Choices of libraries. One takes 0.03 s, and 1.4 s where it searches an image of 180,000 files by
name (measured): a minute for all."""
MOST_ROUNDS = 64
"""Of adding libraries that the added ones need; a closure of libfabric is a dozen deep at most."""


@dataclass(frozen=True, slots=True)
class ContainerRemedy:
    """Additions, their text, and the launch with them, judged."""

    added: Additions
    emission: Emission
    case: ContainerCase
    chain: Chain
    left: tuple[str, ...] = ()
    """What was not tried, in words, where what was tried leaves a fault."""


def find_remedy(case: ContainerCase, form: EmissionForm) -> ContainerRemedy:
    """The first additions that make the chain whole; where none do, those with the fewest faults,
    which are open questions if choices are `left`.

    Raises InputError where the launch and the format do not go together, MissingError where the
    host lacks a part.
    """
    _require_fit(case, form)
    search = _Search(case, form)
    best: ContainerRemedy | None = None
    passed: dict[str, InputError] = {}
    choices = parts_of(search.bare, search.host)
    for parts in islice(choices, MOST_TRIES):
        for has_hook in search.hooks:
            try:
                tried = search.attempt(parts, has_hook=has_hook)
            except InputError as error:
                passed[f"{error.what} ({error.where})"] = error
                continue
            if tried.chain.verdict() is Severity.GOOD:
                return tried
            if best is None or _badness(tried) < _badness(best):
                best = tried
    if best is None:
        raise next(iter(passed.values()))
    left = [f"passed over: {one}" for one in (*passed, *search.host.skipped)]
    if next(choices, None) is not None:
        left.append(f"the first {MOST_TRIES} choices of libraries were tried, and there are more")
    return _left_open(best, left)


def _left_open(best: ContainerRemedy, left: Sequence[str]) -> ContainerRemedy:
    """A remedy with its faults as open questions, if a choice that is left could be without."""
    chain = best.chain
    if not left or not chain.faults:
        return best
    tells = "--mount HOST:CONTAINER of the folders with the libraries to take"
    for one in chain.faults:
        chain.gap(f"{one.happens}, unless other libraries of the host mend it", tells)
    chain.faults.clear()
    return replace(best, left=tuple(left))


def _badness(tried: ContainerRemedy) -> tuple[int, int]:
    return len(tried.chain.faults), len(tried.chain.gaps)


def _require_fit(case: ContainerCase, form: EmissionForm) -> None:
    runtime = case.plan.runtime
    if runtime is RUNNING:
        raise InputError(
            "a running container takes no mounts",
            where=case.image.name,
            expected="--emit with the image that it was started from",
        )
    if runtime is not PLAIN and runtime.name not in form.runtimes:
        raise InputError(
            f"the launch is by {runtime.name}",
            where=case.plan.place or "--cdi or --hook",
            expected=f"--emit of a format for {runtime.name}; {form.name} is for "
            f"{' or '.join(form.runtimes)}",
        )
    if not fabric_of(case):
        raise InputError(
            "no device, variable or mount shows the network of the nodes",
            where=f"--emit {form.name}",
            expected="--recipe PLATFORM, or --host ROOT of a compute node",
        )


@dataclass(frozen=True)
class _Search:
    case: ContainerCase
    form: EmissionForm

    @cached_property
    def bare(self) -> ContainerCase:
        """The case before the search: what its document says, and options of the command line."""
        added = self._text_of(self._given())
        return self._applied(added)

    @cached_property
    def host(self) -> HostLibraries:
        return HostLibraries(self.case)

    @property
    def hooks(self) -> tuple[bool, ...]:
        """Whether a hook of CDI tells ld.so of the libraries: before LD_LIBRARY_PATH, if it is
        there, for that is a variable of the image."""
        has_hook = self.form.name == "cdi" and self.case.host.resolve(LINKER_HOOK) is not None
        return (True, False) if has_hook else (False,)

    def _given(self) -> Additions:
        """Mounts and variables of the command line or of the recipe, which no document has."""
        plan, recipe = self.case.plan, self.case.recipe
        values = (*(plan.layers.options if not plan.place else ()), *plan.layers.given)
        settings = recipe.settings if recipe is not None else ()
        reasons = {(one.name, one.value): one.reason for one in settings}
        mounts = [one for one in plan.mounts if one.origin == GIVEN]
        # A recipe hands some values of the environment on; there is none to hand on yet.
        chosen = {one.name: one for one in values if one.value != f"{HANDED_ON}{one.name}"}
        return Additions(
            tuple(
                AddedMount(one.source, one.target, "given by --mount", one.is_read_only)
                for one in mounts
            ),
            variables=tuple(
                AddedVariable(
                    one.name,
                    one.value,
                    reasons.get((one.name, one.value), f"given by {one.origin}"),
                )
                for one in chosen.values()
            ),
        )

    def _text_of(self, added: Additions) -> Emission:
        paths = [path for one in added.mounts for path in (one.source, one.target)]
        for path in (*paths, *(one.path for one in added.devices)):
            if not is_writable(path):
                raise InputError(
                    f"{path!r} cannot be written as a mount",
                    where=f"--emit {self.form.name}",
                    expected="paths of letters, digits and _ - . + @ % / ~",
                )
        for name, value in ((one.name, one.value) for one in added.variables):
            if not is_known(value) or UNSHOWN.search(value) is not None or not name.isascii():
                raise InputError(
                    f"the value of {name} cannot be written",
                    where=f"--emit {self.form.name}",
                    expected="--env NAME=VALUE, written out",
                )
        return emission_of(self.form, added, base_plan(self.case, self.form).runtime.name)

    def _applied(self, emission: Emission) -> ContainerCase:
        base = base_plan(self.case, self.form)
        return replace(self.case, plan=joined_plan(base, emission.plan()))

    def attempt(self, parts: Parts, *, has_hook: bool) -> ContainerRemedy:
        """The parts with all that they need, judged."""
        files = dict(parts.files)
        there = self.host.loaded_by(list(files.values()))
        reasons = dict(parts.reasons)
        for name, file in there.items():
            if name.startswith(parts.together) and name not in files and parts.together:
                files[name], reasons[name] = file, "it belongs to the driver of the adapter"
        for _ in range(MOST_ROUNDS):
            added = self._additions(parts, files, reasons, has_hook=has_hook)
            case = self._applied(self._text_of(added))
            found = dict(_lacking(case, (*files, *parts.inner), there, files))
            if not found:
                break
            for name, reason in found.items():
                files[name], reasons[name] = there[name], reason
        emission = self._text_of(added)
        return ContainerRemedy(added, emission, case, judge_container(case))

    def _additions(
        self,
        parts: Parts,
        files: Mapping[str, LoadedFile],
        reasons: Mapping[str, str],
        *,
        has_hook: bool,
    ) -> Additions:
        given = self._given()
        mounts = [
            AddedMount(file.opened, f"{FOLDER}/{name}", reasons[name])
            for name, file in files.items()
        ]
        own = {one.name: one for one in given.variables}
        own |= {one.name: one for one in variables_of(self.bare, parts)}
        folders = [FOLDER] if files and not has_hook else []
        if folders or parts.folders:
            added = _library_path(self.bare, [*folders, *parts.folders])
            own[added.name] = added
        return Additions(
            (*given.mounts, *mounts, *parts.mounts),
            devices_of(self.bare),
            tuple(own.values()),
            linker_hook=LINKER_HOOK if files and has_hook else "",
        )


def _library_path(case: ContainerCase, folders: list[str]) -> AddedVariable:
    found = case.variables.get("LD_LIBRARY_PATH") or VariableValue("", "", "")
    if not is_known(found.value):
        raise InputError(
            "LD_LIBRARY_PATH has folders that only the job knows",
            where=found.origin,
            expected="--env LD_LIBRARY_PATH=VALUE, written out",
        )
    left = [one for one in found.value.split(":") if one not in folders]
    value = ":".join([*folders, *(left if found.value else ())])
    kept = f"; behind them the value of {found.origin}" if found.value else ""
    return AddedVariable(
        "LD_LIBRARY_PATH", value, f"the folders with the libraries come first{kept}"
    )


def _lacking(
    case: ContainerCase,
    roots: tuple[str, ...],
    there: Mapping[str, LoadedFile],
    files: Mapping[str, LoadedFile],
) -> Iterator[tuple[str, str]]:
    """Names of host libraries that the container lacks or has too old, each with the reason; never
    one of glibc, and none that is older than the image's."""
    for root in roots:
        path = root if root.startswith("/") else f"{FOLDER}/{root}"
        closure = case.loader.dlopen(path, case.program)
        for name, reason in _wanted(closure, there):
            if name in there and name not in files and not is_of_glibc(name):
                yield name, reason


def _wanted(closure: Closure, there: Mapping[str, LoadedFile]) -> Iterator[tuple[str, str]]:
    for lost in closure.missing:
        asking = lost.asked_by.opened.rpartition("/")[2] if lost.asked_by is not None else "it"
        lack = "has a broken one" if lost.reason else "lacks it"
        yield lost.name, f"{asking} needs it, and the image {lack}"
    for old in closure.versions:
        name = old.offered_by.name.rpartition("/")[2]
        own = there[name].facts.versions or frozenset() if name in there else frozenset()
        if old.is_fatal and own >= {old.version, *(old.offered_by.facts.versions or ())}:
            asking = old.asked_by.opened.rpartition("/")[2]
            yield name, f"{asking} needs {old.version}, which the image's lacks"

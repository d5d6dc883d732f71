"""The subject of the rules: the job, the machine, and the libraries that will read the settings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.libraries.variables import Variable, VariableList, version_key
from weft.core.finding import Severity
from weft.doctor.job import Job, JobSetting, SettingOrigin, TextPlace
from weft.doctor.numbers import strtoll

NCCL = "nccl"


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` where `at` is; of a value, as the file's language writes it there."""

    at: TextPlace
    text: str
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a rule found: the words of its sentence, where, and how it is mended. `also`
    are the lines of others that are equal to it. `severity` replaces the rule's own."""

    rule: str
    words: Mapping[str, str]
    at: TextPlace
    setting: JobSetting | None = None
    edits: tuple[Edit, ...] = ()
    also: tuple[int, ...] = ()
    severity: Severity | None = None


def mistake(
    rule: str,
    on: JobSetting | TextPlace,
    edits: tuple[Edit, ...] = (),
    severity: Severity | None = None,
    /,
    **words: str,
) -> Found:
    """A fault at a place, or in a setting, whose `name` and `value` are words then."""
    if isinstance(on, TextPlace):
        return Found(rule, words, on, None, edits, severity=severity)
    words = {"name": on.name, "value": on.known or "", **words}
    return Found(rule, words, on.at, on, edits, severity=severity)


@dataclass(frozen=True)
class DoctorCase:
    """`nccl` is the version that is asked about, "" for the newest known; `names` those that a
    given library knows, which then decides instead of the catalogue. `exists` answers whether a
    file is there, None where the files of this machine say nothing about the job's."""

    job: Job
    lists: Mapping[str, VariableList]
    recipe: LaunchRecipe | None = None
    nccl: str = ""
    names: frozenset[str] | None = None
    n_nodes: int | None = None
    exists: Callable[[str], bool] | None = None
    elsewhere: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Values that other sources give (nccl.conf): name to value and source."""
    interfaces: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    """Network interfaces and RDMA devices of the machine that the settings are for, where it is
    this one; else empty."""
    gpu_cpus: tuple[int, ...] = ()
    """Processors near each GPU as bits, as a topology file has them; empty without one."""

    @cached_property
    def version(self) -> str:
        """The version of NCCL that rules are for."""
        return self.nccl or self.lists[NCCL].versions[-1]

    def since(self, version: str) -> bool:
        """Whether the NCCL asked about is at least this one."""
        return version_key(self.version) >= version_key(version)

    def variable(self, name: str) -> Variable | None:
        """The catalogue's entry of a name."""
        found = (one.by_name[name] for one in self.lists.values() if name in one.by_name)
        return next(found, None)

    def library(self, name: str) -> VariableList | None:
        """The library that a name belongs to: that of the longest prefix."""
        lists = [
            (len(prefix), one)
            for one in self.lists.values()
            for prefix in one.prefixes
            if name.startswith(prefix)
        ]
        return max(lists, key=lambda found: found[0], default=(0, None))[1]

    def settings(self, *names: str) -> Iterator[JobSetting]:
        """Settings of these names, in order, assigned ones too."""
        return (setting for setting in self.job.settings if setting.name in names)

    def in_force(self, name: str) -> JobSetting | None:
        """The setting of a name that the first launch, or else the file, ends up with."""
        settings = self._exported.get(name, [])
        for launch in sorted({one.launch for one in settings if one.launch is not None}):
            own = _last([one for one in settings if one.launch in (None, launch)])
            if own is not None and own.launch is not None:
                return own
        return _last([one for one in settings if one.launch is None])

    @cached_property
    def _exported(self) -> dict[str, list[JobSetting]]:
        """Settings that programs see, by name, in order."""
        found: dict[str, list[JobSetting]] = {}
        for setting in self.job.settings:
            if setting.origin is not SettingOrigin.ASSIGNED:
                found.setdefault(setting.name, []).append(setting)
        return found

    def value(self, name: str) -> str | None:
        """The value in force where it is known."""
        setting = self.in_force(name)
        return None if setting is None else setting.known

    def is_on(self, name: str) -> bool:
        """Whether an integer variable is set to anything but 0."""
        return self.number(name) not in (0, None)

    def number(self, name: str) -> int | None:
        """The value in force as NCCL's reader of numbers takes it, None where there is none."""
        value = self.value(name)
        return None if value is None or not value.strip() else strtoll(value)[0]

    @property
    def nodes(self) -> int | None:
        """Nodes of the job, as asked or as the file says."""
        return self.n_nodes if self.n_nodes is not None else self.job.n_nodes

    def across_nodes(self, setting: JobSetting) -> Severity:
        """How a setting counts that harms only traffic between nodes: BAD on several nodes, WARNING
        where the file names no number or the setting stands in a branch, NOTE on one node."""
        if self.nodes == 1:
            return Severity.NOTE
        return Severity.WARNING if self.nodes is None or setting.is_optional else Severity.BAD

    @property
    def fabric(self) -> str:
        """The platform's fabric, "" where none is named."""
        return self.recipe.fabric if self.recipe is not None else ""

    def machine(self, unnamed: str = "this machine") -> str:
        """The platform's title, or words for a machine whose platform is not named."""
        return self.recipe.title if self.recipe is not None else unnamed

    def prescribes(self, name: str) -> bool:
        """Whether the platform's own recipe sets a variable."""
        return self.recipe is not None and any(one.name == name for one in self.recipe.settings)

    def uses_nccl(self) -> bool:
        """Whether anything in the file is NCCL's."""
        return any(setting.name.startswith("NCCL_") for setting in self.job.settings)


def _last(settings: list[JobSetting]) -> JobSetting | None:
    """The one that ends up in force; a value that is only handed on is that of the one before."""
    found = None
    for setting in settings:
        if setting.value is None and found is not None:
            found = replace(setting, value=found.value, value_at=found.value_at)
        else:
            found = setting
    return found


Rule = Callable[[DoctorCase], Iterator[Found]]

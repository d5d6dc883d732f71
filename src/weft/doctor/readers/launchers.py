"""Command lines of launchers: what they set, what they hand on, and what they start."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.doctor.job import HOLE, Container, JobLaunch, JobSetting, SettingOrigin, TextPlace, Word
from weft.launch.command_words import APPTAINER, CONTAINERS, SLURM, option_of

_WITHOUT_VALUE = {
    "bind-to-core", "bynode", "bysocket", "display-allocation", "display-map", "do-not-launch",
    "enable-recovery", "nolocal", "nooversubscribe", "oversubscribe", "quiet", "report-bindings",
    "tag-output", "timestamp-output", "allow-run-as-root", "verbose", "version", "help", "display",
    "genvall", "genvnone", "envall", "envnone", "print-rank-map", "print-all-exitcodes", "l",
    "v", "q", "h", "V", "exclusive", "label", "unbuffered", "overlap", "exact", "wait-all-nodes",
    "container-writable", "container-readonly", "no-container-mount-home", "container-mount-home",
    "container-remap-root", "no-container-remap-root", "no-container-entrypoint", "mpi-list",
    "container-entrypoint", "kill-on-bad-exit", "no-kill", "preserve-env", "pty", "rm", "it", "i",
    "t", "d", "privileged", "detach", "nv", "rocm", "cleanenv", "containall", "no-home", "contain",
    "writable-tmpfs", "writable", "fakeroot", "gpu", "mpi", "cxi", "cvmfs", "mpich", "e", "c",
    "interactive", "tty", "init", "u", "s",
}  # fmt: skip
"""Options that take no value. Of others the next word is one, unless it begins with a dash."""


@dataclass
class _Found:
    """What was read of one command line so far."""

    options: dict[str, Word] = field(default_factory=dict)
    settings: list[JobSetting] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)
    mounts: list[Word] = field(default_factory=list)
    hands_on_all: bool = True


def read_launch(
    name: str, words: Sequence[Word], at: TextPlace
) -> tuple[JobLaunch, list[JobSetting]]:
    """One launch and the variables that its own options set.

    `words` begins with the launcher; with `name` empty it is a plain command.
    """
    if not name:
        return JobLaunch("", at, program=tuple(words)), []
    found = _Found()
    read_options = _container_options if name in CONTAINERS else _options
    left = read_options(name, list(words[1:]), found)
    launch = JobLaunch(
        name,
        at,
        found.options,
        tuple(found.passes),
        found.hands_on_all and name not in CONTAINERS - APPTAINER - {"shifter"},
        _container(name, found, left),
        tuple(left[1:] if name in CONTAINERS else left),
    )
    # A name that only the running job knows allows no statement.
    return launch, [one for one in found.settings if HOLE not in one.name]


def _options(name: str, left: list[Word], found: _Found) -> list[Word]:
    special = SPECIAL_OF_SLURM if name in SLURM else SPECIAL_OF_MPI
    while left and left[0].text.startswith("-") and left[0].text not in ("-", "--"):
        word = left.pop(0)
        option, equals, value = word.text.lstrip("-").partition("=")
        taken = special.get(option)
        if taken is not None:
            values = [replace(word, text=value, at=word.value_at or word.at)] if equals else left
            taken(found, values, word)
            continue
        option = option_of(name, option)
        if equals:
            found.options[option] = Word(value, word.at)
        elif option in _WITHOUT_VALUE or not left or left[0].text.startswith("-"):
            found.options[option] = Word("", word.at)
        else:
            found.options[option] = left.pop(0)
    return left[1:] if left and left[0].text == "--" else left


def _pop(values: list[Word]) -> Word | None:
    return values.pop(0) if values else None


def _pass_or_set(found: _Found, values: list[Word], option: Word) -> None:
    """Open MPI's -x NAME or -x NAME=VALUE, docker's -e the same."""
    word = _pop(values)
    if word is None:
        return
    found.options[option.text.lstrip("-").partition("=")[0]] = word
    name, equals, value = word.text.partition("=")
    found.passes.append(name)
    origin = SettingOrigin.LAUNCHER
    found.settings.append(
        JobSetting(name, value if equals else None, origin, word.at, word.value_at)
    )


def _parameter(found: _Found, values: list[Word], option: Word) -> None:
    """Open MPI's --mca NAME VALUE."""
    name, value = _pop(values), _pop(values)
    if name is None or value is None:
        return
    prefix = {"prtemca": "PRTE_MCA_", "pmixmca": "PMIX_MCA_"}.get(option.text.lstrip("-"))
    full = f"{prefix or 'OMPI_MCA_'}{name.text}"
    whole = replace(name.at, end=value.at.end)
    found.settings.append(JobSetting(full, value.text, SettingOrigin.MCA, whole, value.at))


def _env_pair(found: _Found, values: list[Word], _option: Word) -> None:
    """Hydra's -genv NAME VALUE."""
    word = _pop(values)
    if word is None:
        return
    name, equals, text = word.text.partition("=")
    value_at = word.value_at
    if not equals:
        value = _pop(values)
        text, value_at = (value.text, value.at) if value is not None else ("", None)
    found.settings.append(JobSetting(name, text, SettingOrigin.LAUNCHER, word.at, value_at))


def _env_list(found: _Found, values: list[Word], _option: Word) -> None:
    word = _pop(values)
    if word is not None:
        found.hands_on_all = False
        found.passes += [name for name in word.text.split(",") if name]


def _hand_on_nothing(found: _Found, _values: list[Word], _option: Word) -> None:
    found.hands_on_all = False


def _export(found: _Found, values: list[Word], _option: Word) -> None:
    """Slurm's --export=ALL,NAME,NAME=VALUE or NONE."""
    word = _pop(values)
    if word is None:
        return
    parts = word.text.split(",")
    found.options["export"] = word
    found.hands_on_all = "ALL" in parts
    # A word with quotes or variables in it is longer, or shorter, than its text.
    is_plain = word.at.exact and len(word.text) == word.at.end - word.at.start
    start = word.at.start
    for part in parts:
        name, equals, value = part.partition("=")
        place = replace(word.at, start=start, end=start + len(part)) if is_plain else word.at
        start += len(part) + 1
        if part not in ("ALL", "NONE", "NIL", ""):
            found.passes.append(name)
            given = value if equals else None
            found.settings.append(JobSetting(name, given, SettingOrigin.LAUNCHER, place))


def _mounts(found: _Found, values: list[Word], _option: Word) -> None:
    word = _pop(values)
    if word is not None:
        found.mounts += [replace(word, text=part) for part in word.text.split(",") if part]


_Taker = Callable[[_Found, list[Word], Word], None]
SPECIAL_OF_MPI: Mapping[str, _Taker] = {
    "x": _pass_or_set,
    "mca": _parameter,
    "gmca": _parameter,
    "prtemca": _parameter,
    "pmixmca": _parameter,
    "genv": _env_pair,
    "env": _env_pair,
    "genvlist": _env_list,
    "envlist": _env_list,
    "genvnone": _hand_on_nothing,
    "envnone": _hand_on_nothing,
}
SPECIAL_OF_SLURM: Mapping[str, _Taker] = {"export": _export, "container-mounts": _mounts}
_OF_CONTAINERS: Mapping[str, _Taker] = {
    "e": _pass_or_set,
    "env": _pass_or_set,
    "v": _mounts,
    "volume": _mounts,
    "mount": _mounts,
    "B": _mounts,
    "bind": _mounts,
}
_VALUED_OF_CONTAINERS = {
    "name", "network", "net", "ipc", "ulimit", "device", "gpus", "shm-size", "user", "workdir", "w",
    "hostname", "entrypoint", "runtime", "security-opt", "cap-add", "pid", "env-file", "image",
    "module", "modules", "pwd", "home", "H", "annotation", "label", "memory", "cpus", "cpuset-cpus",
}  # fmt: skip


def _container_options(name: str, left: list[Word], found: _Found) -> list[Word]:
    short = "e" if name in APPTAINER else None
    while left:
        if not left[0].text.startswith("-"):
            is_command = left[0].text in ("run", "exec", "shell", "start")
            if not is_command or "command" in found.options:
                return left
            found.options["command"] = left.pop(0)
            continue
        word = left.pop(0)
        option, equals, value = word.text.lstrip("-").partition("=")
        taken = _OF_CONTAINERS.get(option) if option != short else None
        if taken is not None:
            values = [replace(word, text=value, at=word.value_at or word.at)] if equals else left
            taken(found, values, word)
        elif equals:
            found.options[option] = Word(value, word.at)
        elif option in _VALUED_OF_CONTAINERS and left:
            found.options[option] = left.pop(0)
        else:
            found.options[option] = Word("", word.at)
    return left


def _container(name: str, found: _Found, left: Sequence[Word]) -> Container | None:
    if name in CONTAINERS:
        given = found.options.get("image")
        image = left[0].text if left else given.text if given is not None else ""
        return Container(image, tuple(found.mounts), tuple(found.passes))
    if not found.options.keys() & {"container-image", "environment", "container-name"}:
        return None
    empty = Word("", TextPlace(0, 0, 1, 1, exact=False))
    passed = found.options.get("container-env")
    return Container(
        found.options.get("container-image", empty).text,
        tuple(found.mounts),
        tuple(part for part in passed.text.split(",") if part) if passed is not None else None,
        passed.at if passed is not None else None,
        found.options.get("environment", empty).text,
    )

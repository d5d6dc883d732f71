"""Command lines of launchers: variables that they set and hand on, and the program."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.doctor.job import HOLE, Container, JobLaunch, JobSetting, SettingOrigin, TextPlace, Word
from weft.launch.command_words import APPTAINER, CONTAINERS, SLURM, option_of
from weft.launch.engine_options import (
    ENGINES,
    GLOBAL_OPTIONS,
    OPTIONS,
    VALUED_OF_APPTAINER,
    VALUED_OF_ENROOT,
    EngineOptions,
)

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
    "writable-tmpfs", "writable", "fakeroot", "gpu", "cxi", "cvmfs", "mpich", "e", "c",
    "interactive", "tty", "init", "u", "s",
}  # fmt: skip
"""Options that take no value. Of others the next word is one, unless it begins with a dash."""

_VALUED_OF_SLURM = frozenset("ABCDFGJLMNSTWabcdeimnopqrtwx")
"""Short options that take a value; sbatch's -W has none. SOURCE: srun(1), sbatch(1), salloc(1)."""
_OPTIONAL_OF_SLURM = frozenset("IK")
"""Short options whose value can only stand in the same word."""

_NEXT_PAIR = re.compile(r",(?=[A-Za-z_]\w*=)")


@dataclass
class _Found:
    """The options of one command line that were read so far."""

    options: dict[str, Word] = field(default_factory=dict)
    settings: list[JobSetting] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)
    mounts: list[Word] = field(default_factory=list)
    devices: list[Word] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    container_names: list[str] = field(default_factory=list)
    not_names: list[Word] = field(default_factory=list)
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
    read = _engine_options if name in ENGINES else _options
    left = read(name, list(words[1:]), found)
    keeps_all = name not in CONTAINERS - APPTAINER - {"shifter"}
    if name in CONTAINERS - {"shifter"} and "command" not in found.options:
        # docker build, docker ps: no program of an image starts.
        return JobLaunch(name, at, found.options), []
    launch = JobLaunch(
        name,
        at,
        found.options,
        tuple(found.passes),
        found.hands_on_all and keeps_all and not found.options.keys() & HANDS_ON_NOTHING,
        _container(name, found, left),
        tuple(left[1:] if name in CONTAINERS - {"shifter"} else left),
        doubts=tuple(found.doubts),
    )
    # A name that only the running job knows allows no statement.
    return launch, [one for one in found.settings if HOLE not in one.name]


def _options(name: str, left: list[Word], found: _Found) -> list[Word]:
    """Read the options in front of `left`; the words behind them."""
    is_container = name in CONTAINERS
    special = _takers_of(name)
    while left:
        word = left[0]
        if is_container and word.text in COMMANDS and "command" not in found.options:
            found.options["command"] = left.pop(0)
            continue
        if not word.text.startswith("-") or (not is_container and word.text in ("-", "--")):
            break
        del left[0]
        if name in SLURM and not word.text.startswith("--"):
            _short_options(name, word, left, found)
            continue
        option, equals, value = word.text.lstrip("-").partition("=")
        taken = special.get(option)
        if taken is not None:
            values = [replace(word, text=value, at=word.value_at or word.at)] if equals else left
            if values:
                taken(found, values.pop(0), values, option)
            continue
        option = option if is_container else option_of(name, option)
        if equals:
            found.options[option] = Word(value, word.at)
        elif left and _takes_value(name, option, left[0]):
            found.options[option] = left.pop(0)
        else:
            found.options[option] = Word("", word.at)
    return left[1:] if left and left[0].text == "--" else left


def _short_options(name: str, word: Word, left: list[Word], found: _Found) -> None:
    """Read a word of Slurm's short options as getopt does: `-N2`, `-N 2`, `-lN2`."""
    for index, letter in enumerate(word.text[1:], start=2):
        option, behind = option_of(name, letter), word.text[index:]
        found.options[option] = Word("", word.at)
        if letter in _VALUED_OF_SLURM and (name, letter) != ("sbatch", "W"):
            if behind:
                found.options[option] = replace(word, text=behind, at=word.value_at or word.at)
            elif left:
                found.options[option] = left.pop(0)
            return
        if letter in _OPTIONAL_OF_SLURM:
            return


def _engine_options(name: str, left: list[Word], found: _Found) -> list[Word]:
    """As `_options`, of podman and docker: options may stand in front of the command, too."""
    left = _flags(name, left, _Found(), GLOBAL_OPTIONS, {})
    if left and left[0].text == "container":
        left = left[1:]
    if not left or left[0].text not in OPTIONS:
        return left
    command = found.options["command"] = left[0]
    return _flags(name, left[1:], found, OPTIONS[command.text], _OF_ENGINES)


def _flags(
    name: str,
    left: list[Word],
    found: _Found,
    known: EngineOptions,
    special: "Mapping[str, _Taker]",
) -> list[Word]:
    """Take options as Go's pflag does, up to the first word that is none; the words from there on.

    SOURCE: spf13/pflag, flag.go: `-abc`, `-eVALUE`, `-e=VALUE`; a flag's value stands behind `=`.
    """
    while left and left[0].text.startswith("-") and left[0].text != "-":
        word = left.pop(0)
        if word.text == "--":
            break
        for option, value in _split_flags(word, known):
            if option in known.valued:
                values = left if value is None else [value]
                if values:
                    first = values.pop(0)
                    special.get(option, _keep)(found, first, values, option)
                continue
            if option not in known.flags and name != "podman-hpc":
                # A module of podman-hpc is a flag of its own.
                found.doubts.append(f"-{option}" if len(option) == 1 else f"--{option}")
            found.options[option] = value or Word("", word.at)
    return left


def _split_flags(word: Word, known: EngineOptions) -> Iterator[tuple[str, Word | None]]:
    """The options of a word, each with the value that it has in it."""
    text = word.text

    def value_of(part: str) -> Word:
        return replace(word, text=part, at=word.value_at or word.at)

    if text.startswith("--"):
        option, equals, value = text[2:].partition("=")
        yield option, value_of(value) if equals else None
        return
    for index, option in enumerate(text[1:], start=2):
        behind = text[index:]
        if behind and (option in known.valued or behind.startswith("=")):
            yield option, value_of(behind.removeprefix("="))
            return
        yield option, None


def _keep(found: _Found, word: Word, _values: list[Word], option: str) -> None:
    found.options[option] = word


def _takes_value(name: str, option: str, following: Word) -> bool:
    if name in CONTAINERS:
        return option in _VALUED.get(name, _VALUED_OF_CONTAINERS)
    return option not in _WITHOUT_VALUE and not following.text.startswith("-")


def _pass_or_set(found: _Found, word: Word, _: list[Word], option: str) -> None:
    """Open MPI's -x NAME or -x NAME=VALUE, docker's -e the same."""
    found.options[option] = word
    name, equals, value = word.text.partition("=")
    found.passes.append(name)
    given = value if equals else None
    found.settings.append(JobSetting(name, given, SettingOrigin.LAUNCHER, word.at, word.value_at))


def _parameter(found: _Found, name: Word, values: list[Word], option: str) -> None:
    """Open MPI's --mca NAME VALUE."""
    if values:
        value = values.pop(0)
        prefix = {"prtemca": "PRTE_MCA_", "pmixmca": "PMIX_MCA_"}.get(option, "OMPI_MCA_")
        whole = replace(name.at, end=value.at.end)
        found.settings.append(
            JobSetting(f"{prefix}{name.text}", value.text, SettingOrigin.MCA, whole, value.at)
        )


def _env_pair(found: _Found, word: Word, values: list[Word], _: str) -> None:
    """Hydra's -genv NAME VALUE."""
    name, equals, text = word.text.partition("=")
    value_at = word.value_at
    if not equals and values:
        value = values.pop(0)
        text, value_at = value.text, value.at
    found.settings.append(JobSetting(name, text, SettingOrigin.LAUNCHER, word.at, value_at))


def _env_list(found: _Found, word: Word, _values: list[Word], _: str) -> None:
    found.hands_on_all = False
    found.passes += [name for name in word.text.split(",") if name]


def _export(found: _Found, word: Word, _values: list[Word], _: str) -> None:
    """Slurm's --export=ALL,NAME,NAME=VALUE or NONE."""
    found.options["export"] = word
    parts = list(_parts(word))
    # SOURCE: SchedMD/slurm, src/common/env.c env_merge_filter: ALL in capitals or small letters.
    found.hands_on_all = "ALL" in (part.text.upper() for part in parts)
    for part in parts:
        name, equals, value = part.text.partition("=")
        if part.text.upper() not in ("ALL", "NONE", "NIL", ""):
            found.passes.append(name)
            given = value if equals else None
            found.settings.append(JobSetting(name, given, SettingOrigin.LAUNCHER, part.at))


def _parts(word: Word) -> Iterator[Word]:
    """The parts of a list A,B,C, each at its own place where the text is as it was written."""
    # A word with quotes or variables in it is longer, or shorter, than its text.
    is_plain = word.at.exact and len(word.text) == word.at.end - word.at.start
    start = word.at.start
    for part in word.text.split(","):
        end = start + len(part)
        yield Word(part, replace(word.at, start=start, end=end) if is_plain else word.at)
        start = end + 1


def _container_names(found: _Found, word: Word, _values: list[Word], option: str) -> None:
    """Pyxis' --container-env=NAME,NAME, as often as wanted. NAME=VALUE is no name.
    SOURCE: NVIDIA/pyxis 0619349, args.c spank_option_container_env: each part is kept as a name."""
    found.options[option] = word
    for part in _parts(word):
        if "=" in part.text and HOLE not in part.text.partition("=")[0]:
            found.not_names.append(part)
        elif part.text:
            found.container_names.append(part.text)


def _apptainer_list(found: _Found, word: Word, values: list[Word], option: str) -> None:
    """Apptainer's --env NAME=VALUE,NAME=VALUE; a comma inside a value stays."""
    for text in _NEXT_PAIR.split(word.text):
        is_whole = text == word.text
        part = Word(text, replace(word.at, exact=False), None)
        _pass_or_set(found, word if is_whole else part, values, option)


def _mounts(found: _Found, word: Word, _values: list[Word], _: str) -> None:
    found.mounts += [replace(word, text=part) for part in word.text.split(",") if part]


def _mount(found: _Found, word: Word, _values: list[Word], _: str) -> None:
    """--mount of one mount, in keys."""
    found.mounts.append(word)


def _volume(found: _Found, word: Word, _values: list[Word], _: str) -> None:
    """-v of podman and docker: one bind mount. One path alone makes a new, empty volume.

    SOURCE: podman-run(1): --volume=[[SOURCE-VOLUME|HOST-DIR:]CONTAINER-DIR[:OPTIONS]].
    """
    parts = word.text.split(":")
    flags = parts[2].split(",") if len(parts) == 3 else []
    if len(parts) > 3 or any(one.startswith("/") for one in flags):
        # The engine starts no container.
        return
    if "," in "".join(parts[:2]):
        found.doubts.append(f"-v {word.text}")
    elif len(parts) > 1 or HOLE in word.text:
        found.mounts.append(word)


def _every(found: _Found, word: Word, _values: list[Word], option: str) -> None:
    """--unsetenv NAME and such, as often as wanted: one a line."""
    before = found.options.get(option)
    found.options[option] = (
        word if before is None else replace(word, text=f"{before.text}\n{word.text}")
    )


def _device(found: _Found, word: Word, _values: list[Word], option: str) -> None:
    found.options[option] = word
    found.devices.append(word)


_Taker = Callable[[_Found, Word, list[Word], str], None]
"""Takes an option's first word, and of the words behind it as many as belong to it."""
_OF_MPI: Mapping[str, _Taker] = {
    "x": _pass_or_set,
    **dict.fromkeys(("mca", "gmca", "prtemca", "pmixmca"), _parameter),
    **dict.fromkeys(("genv", "env"), _env_pair),
    **dict.fromkeys(("genvlist", "envlist"), _env_list),
}
_OF_SLURM: Mapping[str, _Taker] = {
    "export": _export,
    "container-mounts": _mounts,
    "container-env": _container_names,
}
_MOUNTS: Mapping[str, _Taker] = {
    **dict.fromkeys(("v", "volume", "B", "bind"), _mounts),
    "mount": _mount,
}
_OF_CONTAINERS: Mapping[str, _Taker] = {
    **dict.fromkeys(("e", "env"), _pass_or_set),
    **_MOUNTS,
    "device": _device,
}
_OF_ENROOT: Mapping[str, _Taker] = {**_OF_CONTAINERS, "m": _mount}
_OF_ENGINES: Mapping[str, _Taker] = {
    **dict.fromkeys(("e", "env"), _pass_or_set),
    **dict.fromkeys(("v", "volume"), _volume),
    "mount": _mount,
    "device": _device,
    **dict.fromkeys(("unsetenv", "tmpfs", "ulimit", "cap-add"), _every),
}
# Its -e is --cleanenv.
_OF_APPTAINER: Mapping[str, _Taker] = {"env": _apptainer_list, **_MOUNTS}


def _takers_of(launcher: str) -> Mapping[str, _Taker]:
    if launcher in APPTAINER:
        return _OF_APPTAINER
    if launcher == "enroot":
        return _OF_ENROOT
    if launcher in CONTAINERS:
        return _OF_CONTAINERS
    return _OF_SLURM if launcher in SLURM else _OF_MPI


HANDS_ON_NOTHING = {"genvnone", "envnone"}
COMMANDS = ("run", "exec", "shell", "start")
"""Of containers."""
_VALUED_OF_CONTAINERS = {
    "name", "network", "net", "ipc", "ulimit", "device", "gpus", "shm-size", "user", "workdir", "w",
    "hostname", "entrypoint", "runtime", "security-opt", "cap-add", "pid", "env-file", "image",
    "module", "modules", "pwd", "home", "H", "annotation", "label", "memory", "cpus", "cpuset-cpus",
}  # fmt: skip
"""Of Sarus and Shifter."""
_VALUED = {
    **dict.fromkeys(APPTAINER, VALUED_OF_APPTAINER),
    "enroot": VALUED_OF_ENROOT,
}


def _container(name: str, found: _Found, left: Sequence[Word]) -> Container | None:
    options = found.options
    if name in CONTAINERS:
        # SOURCE: NERSC documentation, Shifter: an option names the image.
        named = left[0] if left and name != "shifter" else options.get("image")
        return Container(
            named.text if named is not None else "",
            tuple(found.mounts),
            tuple(found.passes),
            devices=tuple(found.devices),
            image_at=named.at if named is not None else None,
        )
    if not options.keys() & {"container-image", "environment", "container-name"}:
        return None
    image, mounts = _text_of(options, "container-image"), tuple(found.mounts)
    if "container-env" not in options:
        return Container(image, mounts)
    names, at = tuple(found.container_names), options["container-env"].at
    return Container(image, mounts, names, at, tuple(found.not_names))


def _text_of(options: Mapping[str, Word], name: str) -> str:
    return options[name].text if name in options else ""

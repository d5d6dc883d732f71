"""Mounts of a container as its runtime's options write them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.core.errors import InputError
from weft.doctor.job import HOLE, JobLaunch
from weft.launch.engine_options import ENGINES, is_on

_READ_ONLY = ("ro", "readonly")
_FROM, _TO = ("src", "source"), ("dst", "destination", "target")


@dataclass(frozen=True, slots=True)
class BindMount:
    """A path of the host at a path of the container, and what asks for it."""

    source: str
    target: str
    origin: str
    is_read_only: bool = False

    @property
    def is_known(self) -> bool:
        """Whether both paths are written out."""
        text = self.source + self.target
        return HOLE not in text and "$" not in text and self.source.startswith(("/", "~"))


def mounts_of(words: Sequence[str], origin: str) -> Iterator[BindMount]:
    """Of `SOURCE:TARGET[:FLAGS]`, `SOURCE` alone, lists of them with commas, and of
    `type=bind,src=SOURCE,dst=TARGET` in any order, one mount a word."""
    for word in words:
        keyed: dict[str, str] = {}
        found: list[BindMount] = []
        for part in word.split(","):
            key, equals, value = part.partition("=")
            if part in _READ_ONLY or (equals and "/" not in key):
                keyed[key] = value
            elif ":" in part or part.startswith("/"):
                source, _, left = part.partition(":")
                target, _, flags = left.partition(":")
                is_read_only = "ro" in flags.split("+")
                found.append(BindMount(source, target or source, origin, is_read_only))
            elif HOLE in part:
                found.append(BindMount(part, part, origin))
        found += _keyed(keyed, origin)
        # The last mount of a word has the flags behind it.
        is_read_only = any(is_on(keyed[one]) for one in _READ_ONLY if one in keyed)
        if found and is_read_only:
            found[-1] = replace(found[-1], is_read_only=True)
        yield from found


def _keyed(keys: Mapping[str, str], origin: str) -> Iterator[BindMount]:
    source = next((keys[one] for one in _FROM if one in keys), "")
    target = next((keys[one] for one in _TO if one in keys), "")
    if source and target and keys.get("type", "bind") in ("bind", "rbind"):
        yield BindMount(source, target, origin)


def emptied_folders(launch: JobLaunch) -> Iterator[str]:
    """Folders that a launch by podman or docker covers with anything but a known path of the host:
    a tmpfs, a volume, another image; with HOLEs where only the job knows the folder.

    SOURCE: podman-run(1), docker run(1): --tmpfs, --mount (docker's default type is a volume), -v.
    """
    if launch.launcher not in ENGINES:
        return
    if "tmpfs" in launch.options:
        for line in launch.options["tmpfs"].text.splitlines():
            yield line.partition(":")[0]
    for word in launch.container.mounts if launch.container is not None else ():
        keys = dict(one.partition("=")[::2] for one in word.text.split(","))
        covered = next((keys[one] for one in _TO if one in keys), "")
        source, _, left = word.text.partition(":")
        if covered and keys.get("type", "volume") not in ("bind", "rbind"):
            yield covered
        elif not covered and left and not source.startswith(("/", "~", "$", HOLE)):
            yield left.partition(":")[0]


def given_mount(text: str) -> BindMount:
    """Of --mount SOURCE:TARGET[:ro]. Raises InputError where it is none of two absolute paths."""
    source, _, left = text.partition(":")
    target, _, flags = left.partition(":")
    is_mount = source.startswith("/") and target.startswith("/")
    if not is_mount or flags not in ("", "ro", "rw"):
        raise InputError(
            f"'{text}' is no mount",
            where="--mount",
            expected="/PATH/OF/HOST:/PATH/IN/CONTAINER, or with :ro behind it",
        )
    return BindMount(source, target, "--mount", flags == "ro")

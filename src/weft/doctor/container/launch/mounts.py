"""Mounts of a container as its runtime's options write them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.core.errors import InputError
from weft.doctor.job import HOLE

_FROM, _TO = ("src", "source"), ("dst", "destination", "target")


@dataclass(frozen=True, slots=True)
class BindMount:
    """A path of the host at a path of the container, and what asks for it."""

    source: str
    target: str
    origin: str
    is_read_only: bool = False
    """Whether an option of weft says so; those of launches are not read for it."""

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
        for part in word.split(","):
            key, equals, value = part.partition("=")
            if equals and "/" not in key:
                keyed[key] = value
            elif ":" in part or part.startswith("/"):
                source, _, left = part.partition(":")
                yield BindMount(source, left.partition(":")[0] or source, origin)
            elif HOLE in part:
                yield BindMount(part, part, origin)
        yield from _keyed(keyed, origin)


def _keyed(keys: Mapping[str, str], origin: str) -> Iterator[BindMount]:
    source = next((keys[one] for one in _FROM if one in keys), "")
    target = next((keys[one] for one in _TO if one in keys), "")
    if source and target and keys.get("type", "bind") in ("bind", "rbind"):
        yield BindMount(source, target, origin)


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

"""Variables of a program in a container: whose value wins, and over whom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.doctor.container.launch.runtime import Runtime
from weft.doctor.job import HOLE


@dataclass(frozen=True, slots=True)
class VariableValue:
    """A value, and what gives it. `beaten` are the values that it replaced, the last one first."""

    name: str
    value: str
    origin: str
    beaten: tuple["VariableValue", ...] = ()

    @property
    def text(self) -> str:
        """The value as a sentence shows it: parts that only the running job knows are `...`."""
        return self.value.replace(HOLE, "...")


Values = tuple[VariableValue, ...]


@dataclass(frozen=True, slots=True)
class EnvironmentLayers:
    """By the giver: the job script, the image, options of the runtime, edits of CDI, and options
    of weft. `passes` are names for which the host's value beats the image's."""

    host: Values = ()
    options: Values = ()
    edits: Values = ()
    given: Values = ()
    passes: frozenset[str] = frozenset()


def environment(
    runtime: Runtime, image: Iterable[VariableValue], layers: EnvironmentLayers
) -> Mapping[str, VariableValue]:
    """By name, the value that a program gets."""
    host = [one for one in layers.host if runtime.passes and one.name not in runtime.drops]
    kept = [one for one in host if one.name in layers.passes]
    first = [*host, *image, *kept] if runtime.image_wins else [*image, *host]
    found: dict[str, VariableValue] = {}
    for one in (*first, *layers.options, *layers.edits, *layers.given):
        before = found.get(one.name)
        beaten = () if before is None else (before, *before.beaten)
        others = tuple(other for other in beaten if other.origin != one.origin)
        found[one.name] = VariableValue(one.name, one.value, one.origin, others)
    return found


def read_pairs(pairs: Iterable[str], origin: str) -> Values:
    """Of NAME=VALUE each; other texts are left out."""
    split = (one.partition("=") for one in pairs)
    return tuple(VariableValue(name, value, origin) for name, sep, value in split if sep and name)

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
    """By the giver: the job script, the image, options of the runtime, edits of CDI, the command
    in the container, and options of weft. `passes` are names for which the host's value beats the
    image's; `drops` those of the image that an option unsets, None for all of them;
    `drops_inside` those that the command unsets."""

    host: Values = ()
    options: Values = ()
    edits: Values = ()
    given: Values = ()
    passes: frozenset[str] = frozenset()
    drops: frozenset[str] | None = frozenset()
    inside: Values = ()
    drops_inside: frozenset[str] = frozenset()


def environment(
    runtime: Runtime, image: Iterable[VariableValue], layers: EnvironmentLayers
) -> Mapping[str, VariableValue]:
    """By name, the value that a program gets."""
    passes, drops = layers.passes, layers.drops
    image = [one for one in image if drops is not None and one.name not in drops]
    host = [one for one in layers.host if runtime.passes and one.name not in runtime.drops]
    kept = [one for one in layers.host if one.name in passes and one.name not in runtime.drops]
    first = [*host, *image, *kept] if runtime.image_wins else [*image, *host]
    found = _added({}, (*first, *layers.options, *layers.edits))
    found = {name: one for name, one in found.items() if name not in layers.drops_inside}
    return _added(found, (*layers.inside, *layers.given))


def _added(
    found: dict[str, VariableValue], values: Iterable[VariableValue]
) -> dict[str, VariableValue]:
    """With values that replace those of the same names."""
    for one in values:
        before = found.get(one.name)
        beaten = () if before is None else (before, *before.beaten)
        others = tuple(other for other in beaten if other.origin != one.origin)
        found[one.name] = VariableValue(one.name, one.value, one.origin, others)
    return found


def read_pairs(pairs: Iterable[str], origin: str) -> Values:
    """Of NAME=VALUE each; other texts are left out."""
    split = (one.partition("=") for one in pairs)
    return tuple(VariableValue(name, value, origin) for name, sep, value in split if sep and name)

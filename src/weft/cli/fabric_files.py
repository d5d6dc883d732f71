"""Opening the FILES of `weft fabric`: what cannot be read is an error, what is odd is said."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.cli.output import talk

if TYPE_CHECKING:
    from weft.topology.subnet import Subnet

MOST_SAID = 5


def open_subnet(files: Sequence[str]) -> "Subnet":
    """The subnet of the files. Raises InputError where none of them was understood."""
    from weft.core.errors import InputError
    from weft.topology.subnet import Subnet

    subnet = Subnet.read(files)
    sources = subnet.description["sources"]
    if not any(source["format"] for source in sources):
        unread = subnet.description["unread"][0]
        raise InputError(
            f"no reader knows this: {unread['what'].strip()[:200]}",
            where=f"{sources[unread['place']['source']]['name']}:{unread['place']['line']}",
            expected=unread["expected"],
            hint="'weft fabric --help' lists what is read",
        )
    return subnet


def say_problems(subnet: "Subnet") -> list[str]:
    """Say on standard error what is a guess and what was not understood; all of the latter is
    returned."""
    from weft.topology.summary import reading_problems

    for guess in subnet.description["assumed"]:
        talk(f"weft: assumed: {guess}")
    problems = reading_problems(subnet.description)
    for problem in problems[:MOST_SAID]:
        talk(f"weft: {problem}")
    if len(problems) > MOST_SAID:
        talk(f"weft: ... and {len(problems) - MOST_SAID} more: weft fabric show --format json")
    return problems

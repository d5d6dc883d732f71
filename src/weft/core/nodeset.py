"""Node sets in the field's grammar, node[1-64,70], read and folded by ClusterShell."""

import math
import re
from collections.abc import Iterable

from weft.core.errors import InputError

MOST_NODES = 2**18
"""SOURCE: RIKEN R-CCS, "About Fugaku": 158,976 nodes, the most of any machine on the TOP500. More
are a slip of the keyboard."""
_MOST_LETTERS = 2**24
_MOST_DIGITS = 18
_SHOWN = 80
# Brackets of one operand multiply: 'rack[1-2]node[1-8]' are 16 names.
_BRACKETS_OR_END = re.compile(r"\[([^\[\]]*)\]|[\s,!&^]")
_RANGE = re.compile(r"(-?\d+)-(-?\d+)(?:/(\d+))?")
# ClusterShell reads numbers by int(), which passes over these.
_PASSED_OVER = re.compile(r"[\s_+]")


def short_name(node: str) -> str:
    """'node1' of 'node1.site.example'."""
    return node.partition(".")[0]


def expand(text: str) -> tuple[str, ...]:
    """Names of 'node[1-3,7]' in the order ClusterShell gives them. Raises InputError, also for more
    than `MOST_NODES`."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    # ClusterShell builds every name before anybody can count them.
    n_names = most_names(text) if len(text) <= _MOST_LETTERS else math.inf
    if n_names > MOST_NODES:
        raise InputError(
            f"'{_short(text)}' names more than {MOST_NODES:,} nodes",
            expected=f"1 to {MOST_NODES:,} nodes, such as node[1-64,70]",
        )
    try:
        names = tuple(NodeSet(text))
    except (NodeSetException, ValueError, AssertionError) as error:
        raise InputError(
            f"'{_short(text)}' is not a node set ({_short(str(error))})",
            expected="names and ranges such as node[1-64,70]",
        ) from error
    if not names:
        raise InputError(f"'{_short(text)}' names no node", expected="at least one node")
    return names


def most_names(text: str) -> float:
    """The most names that a text can stand for: the sum of its operands, each the product of its
    brackets. Differences and intersections count in full."""
    total, of_operand = 0.0, 1.0
    for match in _BRACKETS_OR_END.finditer(text):
        if match[1] is None:
            total, of_operand = total + of_operand, 1.0
        else:
            of_operand *= _n_indices(match[1])
    return total + of_operand


def fold(names: Iterable[str]) -> str:
    """'node[1-3,7]' of its names; duplicates fold into one."""
    from ClusterShell.NodeSet import NodeSet

    return str(NodeSet.fromlist(list(names)))


def _n_indices(brackets: str) -> float:
    return sum(map(_n_of_range, brackets.split(",")))


def _n_of_range(text: str) -> float:
    match = _RANGE.fullmatch(_PASSED_OVER.sub("", text))
    if match is None:
        return 1
    if any(len(part.lstrip("-0")) > _MOST_DIGITS for part in match.groups("1")):
        return math.inf
    first, last, step = map(int, match.groups("1"))
    return max(1, (last - first) // max(step, 1) + 1)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

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
_LONGEST_NAME = 255
"""SOURCE: POSIX, _POSIX_HOST_NAME_MAX. ClusterShell takes 16 s for a name of 40,000 letters."""
_SHOWN = 80
# Brackets of one operand multiply: 'rack[1-2]node[1-8]' are 16 names.
_BRACKETS_OR_END = re.compile(r"\[([^\[\]]*)\]|[,!&^]")
# To ClusterShell a blank is a letter of a name: 'a[1-9] b[1-9]' are 81 names.
_BETWEEN = re.compile(r"[,!&^]")
_TWO_WORDS = re.compile(r"[^\s,!&^]\s+[^\s,!&^]")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_RANGE = re.compile(r"(-?\d+)-(-?\d+)(?:/(\d+))?")
_PLAIN_NAME = re.compile(r"(?:[0-9_.:/-]|[^\W\d_])+")
"""A name that is no more than a name to ClusterShell: no list, range, group or wildcard.
INVARIANT: one branch alone takes a letter, or a name of 30 letters and a '=' takes 15 s."""
# ClusterShell reads numbers by int(), which passes over these.
_LONG_INDEX = re.compile(rf"\d{{{_MOST_DIGITS + 1}}}")
_NO_TEXT = re.compile(r"[\ud800-\udfff]")
_PASSED_OVER = re.compile(r"[\s_+]")


def short_name(node: str) -> str:
    """'node1' of 'node1.site.example'."""
    return node.partition(".")[0]


def expand(text: str) -> tuple[str, ...]:
    """Names of 'node[1-3,7]' in the order ClusterShell gives them. Raises InputError, also for more
    than `MOST_NODES`."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError

    if _NO_TEXT.search(text):
        raise InputError(
            "the names of the nodes are not UTF-8", expected="names such as node[1-64,70]"
        )
    # ClusterShell builds every name before anybody can count them.
    n_names = most_names(text) if len(text) <= _MOST_LETTERS else math.inf
    if n_names > MOST_NODES:
        raise InputError(
            f"'{_short(text)}' names more than {MOST_NODES:,} nodes",
            expected=f"1 to {MOST_NODES:,} nodes, such as node[1-64,70]",
        )
    if _TWO_WORDS.search(_BRACKETS.sub("0", text)):
        raise InputError(
            f"'{_short(text)}' is not a node set: a name holds a blank",
            expected="names and ranges with commas between, such as node[1-64,70],login1",
        )
    if any(len(name) > _LONGEST_NAME for name in _BETWEEN.split(_BRACKETS.sub("0", text))):
        raise InputError(
            f"'{_short(text)}' has a name of more than {_LONGEST_NAME} letters",
            expected="names of hosts, such as node[1-64,70]",
        )
    refused = (NodeSetException, GroupResolverError, GroupSourceError, ValueError, AssertionError)
    try:
        names = tuple(NodeSet(text))
    except refused as error:
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
    """'node[1-3,7]' of its names; duplicates fold into one. Names with signs of the grammar follow
    one by one, as they are."""
    from ClusterShell.NodeSet import NodeSet

    once = list(dict.fromkeys(names))
    plain = [name for name in once if _is_plain(name)]
    odd = [name for name in once if not _is_plain(name)]
    return ",".join(filter(None, (str(NodeSet.fromlist(plain)), *odd)))


def _is_plain(name: str) -> bool:
    return _PLAIN_NAME.fullmatch(name) is not None and not _LONG_INDEX.search(name)


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

"""Node sets in the field's grammar, node[1-64,70], read and folded by ClusterShell."""

from collections.abc import Iterable

from weft.core.errors import InputError


def short_name(node: str) -> str:
    """'node1' of 'node1.site.example'."""
    return node.partition(".")[0]


def expand(text: str) -> tuple[str, ...]:
    """Names of 'node[1-3,7]' in the order ClusterShell gives them. Raises InputError."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        names = tuple(NodeSet(text))
    except NodeSetException as error:
        raise InputError(
            f"'{text}' is not a node set ({error})",
            expected="names and ranges such as node[1-64,70]",
        ) from error
    if not names:
        raise InputError(f"'{text}' names no node", expected="at least one node")
    return names


def fold(names: Iterable[str]) -> str:
    """'node[1-3,7]' of its names; duplicates fold into one."""
    from ClusterShell.NodeSet import NodeSet

    return str(NodeSet.fromlist(list(names)))

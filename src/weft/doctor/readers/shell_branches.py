"""Conditions of bash's grammar: which parts always run, and which of them only one at a time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

TESTS = {"test", "[", "grep", "which", "command", "type", "hash"}
"""Commands that ask, and change nothing."""


class BranchTurns:
    """Which branch of each condition comes next, over all readings of a script."""

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}
        self._branches: dict[int, int] = {}

    def next_of(self, condition: int, n_branches: int) -> int:
        """The number of the branch whose turn it is; `condition` is where it stands."""
        self._branches[condition] = n_branches
        taken = self._taken.get(condition, 0)
        self._taken[condition] = taken + 1
        return taken % n_branches

    @property
    def are_all_taken(self) -> bool:
        """Whether each branch of each condition that was met had its turn."""
        return all(self._taken[one] >= n for one, n in self._branches.items())


def branches_of(node: "Node") -> tuple[list["Node"], list[list["Node"]]]:
    """(parts that always run, branches of which one runs); without a condition no branches."""
    if node.type == "if_statement":
        return _of_if(node)
    if node.type == "case_statement":
        return _of_case(node)
    return list(node.named_children), []


def _of_if(node: "Node") -> tuple[list["Node"], list[list["Node"]]]:
    always, branches = [], [[]]  # type: tuple[list[Node], list[list[Node]]]
    has_else = False
    for index, child in enumerate(node.children):
        if not child.is_named:
            continue
        if child.type == "elif_clause":
            condition, body = _split(child)
            always += condition
            branches.append(body)
        elif child.type == "else_clause":
            has_else = True
            branches.append(list(child.named_children))
        elif node.field_name_for_child(index) == "condition":
            always.append(child)
        else:
            branches[0].append(child)
    return always, branches if has_else else [*branches, []]


def _split(clause: "Node") -> tuple[list["Node"], list["Node"]]:
    """The condition and the body of an elif."""
    then = next((one.start_byte for one in clause.children if one.type == "then"), clause.end_byte)
    named = clause.named_children
    before = [one for one in named if one.start_byte < then]
    return before, [one for one in named if one.start_byte >= then]


def _of_case(node: "Node") -> tuple[list["Node"], list[list["Node"]]]:
    branches = []
    takes_all = False
    for item in node.named_children:
        if item.type != "case_item":
            continue
        values = item.children_by_field_name("value")
        takes_all |= any(one.text == b"*" for one in values)
        starts = {one.start_byte for one in values}
        branches.append([one for one in item.named_children if one.start_byte not in starts])
    return [], branches if takes_all else [*branches, []]


def has_test(node: "Node") -> bool:
    """Whether a command in front of && only asks."""
    if node.type in ("test_command", "negated_command"):
        return True
    if node.type == "list":
        return any(has_test(one) for one in node.named_children)
    name = node.child_by_field_name("name") if node.type == "command" else None
    return name is not None and (name.text or b"").decode("utf-8", "replace") in TESTS

"""ClusterKit's JSON: lists of links, wherever in the document they stand.

No specification and no whole sample of it is public; what others' scripts search for is
`"Links": [[0, value]]`: for one node, the other's number and the value. Square matrices with a zero
diagonal and triples (node, node, value) are read as well.
"""

from typing import Any

from weft.results.clusterkit.report import Cells, matrix_tables
from weft.results.lines.json_values import amount, count, loaded
from weft.results.model import JsonResult

_MARK = '"Links"'
_MAX_DEPTH = 12
_NAME_KEYS = ("Name", "Node", "Host", "Hostname")
_LARGEST_RANK = 10_000_000


def read_json(text: str) -> JsonResult | None:
    """The pairs of a document with links; None for any other."""
    if _MARK not in text:
        return None
    found = _Search(text)
    found.walk(loaded(text), owner=0, depth=0)
    if not found.cells:
        return None
    tables = matrix_tables(found.first_line, found.cells, found.hosts, found.quantity)
    return JsonResult(tuple(tables), {})


class _Search:
    """Links gathered from a document in the order in which they stand."""

    def __init__(self, text: str) -> None:
        self.cells: Cells = {}
        self.hosts: dict[int, str] = {}
        self.quantity = ""
        self.first_line = 0
        self._text = text
        self._at = 0
        self._line = 1

    def walk(self, value: Any, owner: int, depth: int) -> None:
        """Look for links in `value`, which belongs to node number `owner`."""
        if depth > _MAX_DEPTH:
            return
        if isinstance(value, dict):
            self._note_name(value, owner)
            for key, inside in value.items():
                self._note_quantity(key, inside)
                if key == "Links":
                    self._links(inside, owner, self._next_line())
                else:
                    self.walk(inside, owner, depth + 1)
        elif isinstance(value, list):
            for i, inside in enumerate(value):
                if isinstance(inside, dict | list):
                    self.walk(inside, i, depth + 1)

    def _note_name(self, record: dict[str, Any], owner: int) -> None:
        if "Links" in record:
            names = [record[key] for key in _NAME_KEYS if isinstance(record.get(key), str)]
            if names:
                self.hosts[owner] = names[0][:255]

    def _note_quantity(self, key: str, value: Any) -> None:
        words = f"{key} {value if isinstance(value, str) else ''}".lower()
        for quantity in ("bandwidth", "latency"):
            if not self.quantity and quantity in words:
                self.quantity = quantity

    def _next_line(self) -> int:
        """The line of the next list of links in the text."""
        at = self._text.find(_MARK, self._at)
        if at >= 0:
            self._line += self._text.count("\n", self._at, at)
            self._at = at + len(_MARK)
            # INVARIANT: lines are counted up to the mark, whose own length holds no line end.
        self.first_line = self.first_line or self._line
        return self._line

    def _links(self, links: Any, owner: int, line: int) -> None:
        if not isinstance(links, list):
            return
        rows = [link for link in links if isinstance(link, list)]
        if _is_matrix(rows):
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    self._add(i, j, value, line)
            return
        for link in rows:
            if len(link) == 2:
                self._add(owner, link[0], link[1], line)
            elif len(link) == 3:
                self._add(link[0], link[1], link[2], line)

    def _add(self, rank: Any, other: Any, value: Any, line: int) -> None:
        if not (_is_rank(rank) and _is_rank(other) and _is_number(value)):
            return
        if value and rank != other:
            self.cells[rank, other] = (line, float(value))


def _is_matrix(rows: list[list[Any]]) -> bool:
    """Whether the lists are as many as each is long, with nothing from a node to itself."""
    n = len(rows)
    return n > 1 and all(
        len(row) == n and row[i] == 0 and all(_is_number(v) for v in row)
        for i, row in enumerate(rows)
    )


def _is_rank(value: Any) -> bool:
    number = None if isinstance(value, str) else count(value)
    return number is not None and number < _LARGEST_RANK


def _is_number(value: Any) -> bool:
    return not isinstance(value, str) and amount(value) is not None

"""A fabric document opened for reading: nodes, cables, and the paths between nodes."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from weft.core.errors import InputError
from weft.topology.engine import as_input_error, engine_module

Path = tuple[str, ...]
Cable = tuple[str, str]

_ENGINES = ("dmodk", "minhop", "updn")
_NO_ROUTE = "is unreachable from"
"""What the engine says where a pair has no way."""


class Fabric:
    """A whole fabric document (schema weft.fabric/1, docs/reference/scenario.md).

    Paths follow the document's forwarding tables, or those of a routing engine named when it was
    opened.
    """

    def __init__(self, document: Mapping[str, Any], engine: str | None = None) -> None:
        self._document = document
        self._engine = engine
        self._text = json.dumps(document)
        self._rerouted: dict[tuple[str, ...], dict[tuple[str, str], Path]] = {}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], engine: str | None = None) -> "Fabric":
        """Open a whole or generated document; the engine checks it. Raises InputError."""
        spec = dict(document)
        if engine is not None:
            spec["routing"] = {"engine": engine}
        try:
            complete = engine_module().build_fabric(json.dumps(spec))
        except ValueError as error:
            raise as_input_error(error) from error
        return cls(json.loads(complete), engine)

    @property
    def document(self) -> Mapping[str, Any]:
        """The whole document."""
        return self._document

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of the compute nodes, in document order."""
        return tuple(str(node["name"]) for node in self._document["nodes"])

    def paths(self, pairs: list[tuple[str, str]]) -> list[Path]:
        """The egress ports crossed from node a to node b, a's own first, for each pair.

        Raises InputError for a name the fabric does not have or a pair without a route.
        """
        try:
            found = engine_module().trace(self._text, list(pairs), self._engine)
        except ValueError as error:
            raise as_input_error(error) from error
        return [tuple(path) for path in found]

    @cached_property
    def engines(self) -> tuple[str, ...]:
        """The routing engines that fill the tables as they are; often one, none for other tables
        than weft's own. Small trees may be filled alike by several."""
        if self._engine is not None:
            return (self._engine,)
        document, lfts = json.loads(self._without_tables), self._document.get("lfts")
        return tuple(e for e in _ENGINES if lfts and self._filled_by(e, document) == lfts)

    def rerouted(
        self, pairs: list[tuple[str, str]], down: Sequence[str], engine: str
    ) -> list[Path] | None:
        """The paths of pairs, were the cables at the ports `down` out of use and the tables filled
        anew by an engine; None where a pair then has no way. Raises InputError."""
        known = self._rerouted.setdefault((engine, *down), {})
        asked = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        text = self._without_tables
        try:
            found = engine_module().trace(text, asked, engine, list(down)) if asked else []
        except ValueError as error:
            refused = as_input_error(error)
            if _NO_ROUTE in refused.what:
                return None
            raise refused from error
        known.update(zip(asked, map(tuple, found), strict=True))
        return [known[pair] for pair in pairs]

    @cached_property
    def _without_tables(self) -> str:
        return json.dumps({k: v for k, v in self._document.items() if k != "lfts"})

    def _filled_by(self, engine: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        spec = json.dumps({**document, "routing": {"engine": engine}})
        try:
            filled: dict[str, Any] = json.loads(engine_module().build_fabric(spec))["lfts"]
        except ValueError:
            return None
        return filled

    def hops(self, a: str, b: str) -> int:
        """How many cables the path from node a to node b crosses. Raises InputError."""
        return len(self.paths([(a, b)])[0])

    def cable_of(self, port: str) -> Cable:
        """Both ends of the cable at a port, in document order. Raises InputError."""
        cable = self._cables.get(port)
        if cable is None:
            raise InputError(
                f"no cable at port '{port}'",
                where=f"fabric {self._document.get('name', '')}",
                expected="a cabled port such as leaf-01[17]",
            )
        return cable

    @cached_property
    def _cables(self) -> dict[str, Cable]:
        ends = [(str(link["a"]), str(link["b"])) for link in self._document["links"]]
        return {port: cable for cable in ends for port in cable}

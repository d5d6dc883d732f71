"""A fabric document opened for reading: nodes, cables, and the paths between nodes."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from weft.core.errors import InputError
from weft.topology.engine import engine_module, refusals

Path = tuple[str, ...]

TABLES_AS_READ = "forwarding tables: as they were read, whatever engine filled them"
"""The assumption in a document whose tables are a subnet manager's."""

TABLES_UNREAD = "forwarding tables: none were read; those of OpenSM's minhop"
"""The assumption in a document of a real fabric without tables."""

DRAGONFLY = "dragonfly"
"""The engine of fabrics whose switches are in groups."""

_NO_ROUTE = "is unreachable from"
"""The engine's words for a pair without a path."""


class Fabric:
    """A whole fabric document (schema weft.fabric/1, docs/reference/scenario.md).

    Paths follow the document's forwarding tables, or those of a routing engine named when it was
    opened.
    """

    def __init__(self, built: Any, engine: str | None = None) -> None:
        self._built = built
        self._engine = engine
        self._rerouted: dict[tuple[str, ...], dict[tuple[str, str], Path]] = {}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], engine: str | None = None) -> "Fabric":
        """Open a whole or generated document; the engine checks it. Raises InputError."""
        spec = dict(document)
        if engine is not None:
            spec["routing"] = {"engine": engine}
        with refusals():
            return cls(engine_module().build_fabric(json.dumps(spec)), engine)

    @classmethod
    def with_tables(cls, document: Mapping[str, Any]) -> "Fabric":
        """As `from_document`; groups of switches without tables are routed as a dragonfly."""
        if {"lfts", "routing"} & set(document):
            return cls.from_document(document)
        if document.get("generate") == DRAGONFLY:
            return cls.from_document(document, engine=DRAGONFLY)
        bare = cls.from_document(document)
        groups = {switch.get("group") for switch in bare.document["switches"]} - {None}
        return cls.from_document(document, engine=DRAGONFLY) if len(groups) > 1 else bare

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The whole document."""
        document: Mapping[str, Any] = json.loads(self._built.document())
        return document

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of the compute nodes, in document order."""
        return tuple(str(node["name"]) for node in self.document["nodes"])

    def paths(
        self, pairs: Sequence[tuple[str, str]], engine: str | None = None, down: Sequence[str] = ()
    ) -> list[Path]:
        """The egress ports crossed from node a to node b, a's own first, for each pair; by an
        engine's tables, filled without the cables at the ports `down`, if one is named.

        Raises InputError for a name the fabric does not have or a pair without a route.
        """
        with refusals():
            return [tuple(path) for path in self._built.trace(pairs, engine, list(down))]

    @cached_property
    def engines(self) -> tuple[str, ...]:
        """The routing engines that fill the tables as they are; often one, none for other tables
        than weft's own. Small trees may be filled alike by several. None is a subnet manager's: it
        fills a small tree alike while all is well, and not once a cable is dead. Without tables
        the one whose paths weft takes."""
        kept = self._engine or self.document.get("routing", {}).get("engine")
        if kept is not None:
            return (kept,)
        if {TABLES_AS_READ, TABLES_UNREAD} & set(self.document.get("assumed", ())):
            return ()
        return tuple(self._built.engines()) if self.document.get("lfts") else ("minhop",)

    def rerouted(
        self, pairs: list[tuple[str, str]], down: Sequence[str], engine: str
    ) -> list[Path] | None:
        """The paths of pairs, were the cables at the ports `down` out of use and the tables filled
        anew by an engine; None where a pair then has no path. Raises InputError."""
        known = self._rerouted.setdefault((engine, *down), {})
        asked = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        try:
            found = self.paths(asked, engine, down) if asked else []
        except InputError as refused:
            if _NO_ROUTE in refused.what:
                return None
            raise
        known.update(zip(asked, found, strict=True))
        return [known[pair] for pair in pairs]

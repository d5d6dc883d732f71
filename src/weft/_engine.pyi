"""The engine (crates/weft-py): documents in as JSON text, columns out as numpy arrays.

Every function releases the GIL. A document that is wrong raises ValueError whose text says what
and where in its first line, then what was expected. Formats: docs/reference/scenario.md.
"""

from typing import Any

class Fabric:
    """A whole fabric document, checked. Only `ask_fabric` looks inside."""

def build_fabric(spec_json: str) -> Fabric:
    """The fabric of a whole document or a generator.

    `lfts` are filled if the spec names `"routing": {"engine": ...}`.
    """

def ask_fabric(fabric: Fabric, question_json: str) -> str:
    """The answer to a question: `{"ask": "document"}`, the whole document; `{"ask": "engines"}`,
    those that fill the tables as the document has them; `{"ask": "trace", "pairs": ..., "engine":
    ..., "down": ...}`, the egress ports crossed from each first to each second node (or HCA) name.

    Routes are `engine`'s, else the document's `lfts`, else those of `minhop`. An engine routes
    around the cables at the ports `down`.
    """

def simulate(scenario_json: str) -> dict[str, Any]:
    """The outcome of one scenario: `status`, `message`, and columns.

    Columns of rows, tenants (`tenant_`), ports, loads (`load_`) and flows (`flow_`), counts of what
    was left out, totals: "Outcome" in docs/reference/scenario.md.
    """

def simulate_many(scenarios_json: list[str], threads: int) -> list[dict[str, Any]]:
    """The outcomes of many scenarios, in order, on `threads` threads (0: one a core).

    There are never more threads than scenarios.
    """

def expand_collective(step_json: str, n_ranks: int) -> dict[str, Any]:
    """What every rank exchanges in a step of a scenario's work: one row a send or receive.

    Columns `rank, index, is_send, peer, size_bytes, first_block, n_blocks`; at most 2^22 ranks and
    (about) 2^22 rows.
    """

class Subnet:
    """A subnet with its forwarding tables; opaque."""

def read_subnet(paths: list[str]) -> Subnet:
    """The subnet that files describe, each known by its content ('-': standard input).

    Raises OSError where a file cannot be read; what is wrong inside is part of `describe`.
    """

def build_subnet(spec_json: str) -> Subnet:
    """The subnet of a fabric document or a generator, with GUIDs and LIDs of its own."""

def route_subnet(subnet: Subnet, engine: str, roots: list[int] = ...) -> Subnet:
    """The same subnet with the tables of OpenSM's `engine`; `roots` are node GUIDs, if given."""

def ask_subnet(subnet: Subnet, question_json: str) -> str:
    """The answer to a question such as `{"ask": "describe"}`: docs/reference/fabric.md."""

def read_logs(logs: list[tuple[str, bytes | None]]) -> str:
    """What logs of communication libraries say, as JSON: docs/reference/doctor_log.md.

    Each has a name, and its content where it is no file of that name ('-': standard input).
    Raises OSError where a file cannot be read.
    """

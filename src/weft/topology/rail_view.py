"""A real fabric as the ranks of a run see it: the adapters that they use, in the order of the
ranks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from weft.core.errors import InputError
from weft.core.natural import natural_key
from weft.topology.fabric_spec import Document

_DEVICE = re.compile(r"[a-z]+[0-9]*_[a-z]*[0-9]+(/[0-9]+)?")
"""As Linux names an RDMA device (mlx5_0, mlx5_ib3, hfi1_0), and perhaps its port."""


def rails_of(document: Mapping[str, Any], nodes: Sequence[str]) -> tuple[str, ...] | None:
    """The devices, with ports, of nodes that all have the same several ones; None where they have
    one each, or others than their neighbours, or the fabric does not name them."""
    of_nodes = {tuple(sorted(_devices(document, node), key=natural_key)) for node in nodes}
    devices = of_nodes.pop()
    if of_nodes or len(devices) < 2 or not all(_DEVICE.fullmatch(name) for name in devices):
        return None
    return tuple(_with_port(name) for name in devices)


def on_rails(document: Document, nodes: Sequence[str], rails: Sequence[str]) -> Document:
    """The fabric with those adapters of `nodes` that `rails` name, in their order; other nodes
    keep theirs. A fabric that names no devices stays as it is.

    Raises InputError for a rail that is none of a node's adapters: a rank's number would tell the
    wrong cable.
    """
    if not any(_DEVICE.fullmatch(name) for node in nodes for name in _devices(document, node)):
        return document
    used = {node: [_adapter(document, node, rail) for rail in rails] for node in nodes}
    return _with_adapters(document, used)


def _devices(document: Mapping[str, Any], node: str) -> dict[str, str]:
    """The adapters of a node by device."""
    (adapters,) = (one["hcas"] for one in document["nodes"] if one["name"] == node)
    return {str(name).removeprefix(f"{node}/"): str(name) for name in adapters}


def _adapter(document: Mapping[str, Any], node: str, rail: str) -> str:
    devices = _devices(document, node)
    device, _, port = rail.partition(":")
    for name in (device, f"{device}/{port or 1}"):
        if name in devices:
            return devices[name]
    raise InputError(
        f"{node} has no adapter '{rail}' in this fabric",
        where="--rails",
        expected=", ".join(_with_port(name) for name in sorted(devices, key=natural_key)),
        hint="or leave --fabric out: the wrong cable would be named",
    )


def _with_port(device: str) -> str:
    """mlx5_0:1 of mlx5_0, mlx5_0:2 of mlx5_0/2."""
    name, _, port = device.partition("/")
    return f"{name}:{port or 1}"


def _with_adapters(document: Document, used: Mapping[str, Sequence[str]]) -> Document:
    nodes = [{**one, "hcas": list(used.get(one["name"], one["hcas"]))} for one in document["nodes"]]
    place = {hca: i for i, hca in enumerate(h for one in document["nodes"] for h in one["hcas"])}
    kept = [hca for one in nodes for hca in one["hcas"]]
    gone = place.keys() - set(kept)
    links = [
        link
        for link in document["links"]
        if not {link[end].rpartition("[")[0] for end in ("a", "b")} & gone
    ]
    narrowed: Document = {**document, "nodes": nodes, "links": links}
    if document.get("lfts"):
        columns = [place[hca] for hca in kept]
        narrowed["lfts"] = {
            switch: [row[column] for column in columns] for switch, row in document["lfts"].items()
        }
    return narrowed

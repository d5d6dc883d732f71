"""The trace that `weft train expect --trace` writes, read by protobuf's own library."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.chakra_messages import SCALARS, message_classes

from weft.cli import run
from weft.trace.chakra.files import read_nodes

READERS = Path(sys.prefix) / "opt/exports"
COMP, SEND, RECV, COLLECTIVE = 4, 5, 6, 7
ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 2, 6, 7
"""SOURCE: mlcommons/chakra, schema/protobuf/et_def.proto: NodeType, CollectiveCommType."""
TP, PP, CP, GPUS = 2, 2, 2, 16
LAYOUT = ("--gpus", "16", "--tp", "2", "--pp", "2", "--cp", "2", "--ga", "4")
STEP = ("azure-ndv5", "--model", "llama-3-8b", "--layers", "4", *LAYOUT)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Chakra's messages, of the library of requirements/exports.lock; another one by its path."""
    folder = Path(os.environ.get("WEFT_EXPORT_READERS", READERS))
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    try:
        return message_classes()
    except ImportError:
        pytest.skip(f"no protobuf in {folder} (make exports)")


@dataclass(frozen=True)
class Trace:
    """Nodes of each GPU, GPUs of each group, and the JSON record of the same step."""

    gpus: list[list[Any]]
    groups: dict[str, list[int]]
    record: dict[str, Any]


@pytest.fixture
def trace(messages: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Trace:
    folder = tmp_path / "trace"
    assert run(["train", "expect", *STEP, "--trace", str(folder), "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    gpus = []
    for gpu in range(GPUS):
        head, *nodes = _framed((folder / f"step.{gpu}.et").read_bytes())
        assert messages["GlobalMetadata"].FromString(head).version == "0.0.4"
        gpus.append([messages["Node"].FromString(one) for one in nodes])
        for raw, node in zip(nodes, gpus[-1], strict=True):
            # No field is unknown, and none has another type: the library writes the same bytes. It
            # leaves out an id of 0.
            node.DiscardUnknownFields()
            assert node.SerializeToString() == raw.removeprefix(b"\x08\x00")
    groups = json.loads((folder / "comm_group.json").read_text())
    return Trace(gpus, groups, record)


def _framed(content: bytes) -> Iterator[bytes]:
    """Messages behind their lengths."""
    from google.protobuf.internal.decoder import _DecodeVarint32

    at = 0
    while at < len(content):
        size, at = _DecodeVarint32(content, at)
        yield content[at : at + size]
        at += size


def _attributes(node: Any) -> dict[str, Any]:
    return {one.name: getattr(one, one.WhichOneof("value")) for one in node.attr}


def test_collectives_carry_the_bytes_that_were_asked(trace: Trace) -> None:
    """Each GPU, by dimension: sizes and groups. An allgather's size is a GPU's part of it."""
    n_dp = GPUS // (TP * PP)
    asked = {
        (one["dimension"], one["collective"]): round(one["size_bytes"] * one["count"])
        for one in trace.record["exchanges"]
    }
    for gpu, nodes in enumerate(trace.gpus):
        sums: Counter[tuple[str, int]] = Counter()
        stage = gpu // (GPUS // PP) * (GPUS // PP)
        of_kind = {
            "TP": [gpu // TP * TP + i for i in range(TP)],
            "CP": [gpu // (TP * CP) * TP * CP + gpu % TP + TP * i for i in range(CP)],
            "DP": [stage + gpu % TP + TP * i for i in range(n_dp)],
        }
        for node in nodes:
            if node.type == COLLECTIVE:
                own = _attributes(node)
                kind = node.name.split()[0]
                assert trace.groups[own["pg_name"]] == of_kind[kind]
                sums[kind, own["comm_type"]] += own["comm_size"]
        assert TP * sums["TP", ALL_GATHER] == asked["tp", "allgather"]
        assert sums["TP", REDUCE_SCATTER] == asked["tp", "reduce_scatter"]
        # Half of an alltoall of two GPUs leaves each of them.
        assert sums["CP", ALL_TO_ALL] == CP * asked["cp", "sendrecv"]
        if gpu < GPUS // PP:
            assert n_dp * sums["DP", ALL_GATHER] == asked["dp", "allgather"]
            assert sums["DP", REDUCE_SCATTER] == asked["dp", "reduce_scatter"]


def test_each_message_has_its_receiver(trace: Trace) -> None:
    sent, received = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for gpu, nodes in enumerate(trace.gpus):
        for node in nodes:
            own = _attributes(node)
            if node.type == SEND:
                sent[gpu, own["comm_dst"], own["comm_tag"], own["comm_size"]] += 1
            elif node.type == RECV:
                received[own["comm_src"], gpu, own["comm_tag"], own["comm_size"]] += 1
    assert sent == received
    (pipeline,) = [one for one in trace.record["exchanges"] if one["dimension"] == "pp"]
    # A GPU sends half of what it exchanges, and receives the other half.
    bytes_sent = sum(key[3] * n for key, n in sent.items() if key[0] == 0)
    assert 2 * bytes_sent == pipeline["size_bytes"] * pipeline["count"]


def test_nodes_need_earlier_nodes_and_compute_as_long_as_the_step(trace: Trace) -> None:
    longest = 0
    for nodes in trace.gpus:
        seen: set[int] = set()
        for node in nodes:
            assert set(node.data_deps) <= seen
            assert node.id not in seen
            seen.add(node.id)
            assert _attributes(node)["is_cpu_op"] is False
        computing = [node.duration_micros for node in nodes if node.type == COMP]
        longest = max(longest, sum(computing))
    parts = trace.record["parts_s"]
    wanted = parts["products"] + parts["memory"] + parts["optimizer"]
    assert 1e-6 * longest == pytest.approx(wanted, rel=0.001)


def test_a_file_that_the_library_writes_is_read(messages: dict[str, Any]) -> None:
    """With an attribute of each type that weft keeps."""
    values: dict[str, Any] = dict.fromkeys(SCALARS, 7) | {"bool": True, "string": "tp"}
    node = messages["Node"](id=3, name="wait", type=RECV, ctrl_deps=[1], data_deps=[2, 300])
    node.duration_micros = 1 << 40
    for name, value in values.items():
        if name != "bytes":
            node.attr.add(name=name, **{f"{name}_val": value})
    node.attr.add(name="negative", sint64_val=-5)
    parts = [one.SerializeToString() for one in (messages["GlobalMetadata"](version="9"), node)]
    version, (found,) = read_nodes(
        b"".join(bytes([len(one) & 127 | 128, len(one) >> 7]) + one for one in parts)
    )
    del values["bytes"]
    assert (version, found.number, found.name, found.kind) == ("9", 3, "wait", RECV)
    assert (set(found.needs), found.duration_us) == ({1, 2, 300}, 1 << 40)
    assert found.attributes == values | {"negative": -5}

"""Chakra traces: protobuf's bytes by hand, orders of streams, and damaged files."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.trace.chakra.files import is_chakra, read_chakra, read_nodes, write_chakra
from weft.trace.chakra.node import COLLECTIVE, COMP, SEND, ChakraNode, decode_node, encode_node
from weft.trace.chakra.order import gpu_order
from weft.trace.chakra.wire import read_varint, varint


def _framed() -> bytes:
    """A file with the fields of astra-sim's generator (tests/rt_template/inputs/workload/
    gen_chakra_traces.py), encoded by hand from et_def.proto."""
    parts = [
        bytes.fromhex("0801120a416c6c2d5265647563651807"),
        *(
            bytes([0x52, len(one)]) + one
            for one in (
                b"\x0a\x09is_cpu_op\xd8\x01\x00",
                b"\x0a\x09comm_type\x48\x00",
                b"\x0a\x09comm_size\x48\x80\x80\x40",
            )
        ),
    ]
    node = b"".join(parts)
    return b"\x07\x0a\x050.0.4" + bytes([len(node)]) + node


def test_a_file_of_another_generator_is_read() -> None:
    version, (node,) = read_nodes(_framed())
    assert version == "0.0.4"
    assert (node.number, node.name, node.kind) == (1, "All-Reduce", COLLECTIVE)
    assert node.attributes == {"is_cpu_op": False, "comm_type": 0, "comm_size": 1 << 20}


def test_the_same_node_has_the_same_bytes() -> None:
    attributes = {"is_cpu_op": False, "comm_type": 0, "comm_size": 1 << 20}
    node = ChakraNode(1, "All-Reduce", COLLECTIVE, (), 0, attributes)
    assert _framed().endswith(encode_node(node))


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_varints(number: int) -> None:
    assert read_varint(varint(number), 0) == (number, len(varint(number)))


def test_needs_and_durations_come_back() -> None:
    node = ChakraNode(300, "x", COMP, (1, 299), 12345, {"pg_name": "7", "n": -5})
    assert decode_node(encode_node(node)) == node


def test_a_written_trace_comes_back(tmp_path: Path) -> None:
    nodes = [ChakraNode(1, "a", COMP, (), 5), ChakraNode(2, "b", COMP, (1,), 7)]
    write_chakra(tmp_path, "s", ([encode_node(n) for n in nodes] for _ in range(2)), {(0, 1): "1"})
    assert is_chakra(tmp_path)
    read = read_chakra(tmp_path)
    assert read.gpus == (tuple(nodes), tuple(nodes))
    assert (read.groups, read.version) == ({"1": (0, 1)}, "0.0.4")


def test_streams_wait_for_each_other_only_as_needed() -> None:
    sum_ = {"comm_type": 0, "comm_size": 8}
    nodes = (
        ChakraNode(1, "f", COMP, (), 5),
        ChakraNode(2, "sum", COLLECTIVE, (1,), 0, sum_),
        ChakraNode(3, "b", COMP, (1,), 5),
        ChakraNode(4, "sum", COLLECTIVE, (1, 2), 0, sum_),
        ChakraNode(5, "u", COMP, (4,), 5),
    )
    order = gpu_order(nodes, 0)
    compute, sums = order.streams["compute"], order.streams["collective"]
    assert [one.node.number for one in compute] == [1, 3, 5]
    assert [dict(one.after) for one in compute] == [{}, {}, {"collective": 1}]
    # The second sum's need of node 1 is met by the first one's.
    assert [dict(one.after) for one in sums] == [{"compute": 0}, {}]


def test_what_cannot_be_repeated_is_counted_and_order_stays() -> None:
    nodes = (
        ChakraNode(1, "f", COMP, (), 5),
        ChakraNode(2, "load", 2, (1,)),
        ChakraNode(3, "g", COMP, (2,), 0),
        ChakraNode(4, "to", SEND, (3,), 0, {"comm_size": 8}),
        ChakraNode(5, "sum", COLLECTIVE, (3,), 0, {"comm_type": 0, "comm_size": 8}),
    )
    order = gpu_order(nodes, 0)
    assert sorted(order.left_out) == [
        "communication without comm_dst",
        "computation without a duration of up to 12 days",
        "node of type 2 (memory, storage)",
    ]
    (only,) = order.streams["collective"]
    assert dict(only.after) == {"compute": 0}


def test_a_circle_is_refused() -> None:
    nodes = (ChakraNode(1, "a", COMP, (2,), 5), ChakraNode(2, "b", COMP, (1,), 5))
    with pytest.raises(InputError, match="node 1 of GPU 3 needs nodes that need it"):
        gpu_order(nodes, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_framed()[:-1], "the message at byte 8 has"),
        (b"\xff" * 12, "does not end"),
        (b"\x02\x0f\x00", "wire type 7"),
        (b"\x02\x12\x40", "goes beyond its message"),
        (b"\x02\x08\x05\x02\x08\x05", "two nodes 5"),
    ],
)
def test_damaged_files_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.0.et").write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_chakra(tmp_path)
    assert caught.value.where == str(tmp_path / "t.0.et")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("a.0.et", "b.0.et"), "2 traces: a, b"),
        (("a.0.et", "a.2.et"), "no file of GPU 1"),
    ],
)
def test_files_must_be_of_one_trace(files: tuple[str, ...], message: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).write_bytes(_framed())
    with pytest.raises(InputError, match=message):
        read_chakra(tmp_path)


@pytest.mark.parametrize("text", ["[1]", '{"1": [0, 0]}', '{"1": [0, 9]}', "{", '{"1": []}'])
def test_wrong_groups_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.0.et").write_bytes(_framed())
    (tmp_path / "groups.json").write_text(text)
    with pytest.raises(InputError, match="group"):
        read_chakra(tmp_path)

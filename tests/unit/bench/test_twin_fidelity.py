"""A twin at flow level, and one that chooses: what its samples say of it."""

from typing import Any

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import InputError

FAT_TREE = platform("fat-tree")


def measured(twin: TwinBackend, name: str, size: int, **options: Any) -> Sample:
    trial = Trial(
        id=f"t-{name}",
        benchmark=name,
        sizes_bytes=(size,),
        nodes=twin.nodes,
        tasks_per_node=1,
        options=options,
    )
    (sample,) = twin.measure(Launch(trial=trial, repeat=0, order=0))
    return sample


@pytest.mark.parametrize("name", ["allreduce", "allgather", "broadcast"])
def test_collectives_where_nothing_blocks_are_within_three_hundredths(name: str) -> None:
    packets, flows = (
        measured(TwinBackend(FAT_TREE, 8, fidelity=fidelity), name, 1 << 20)
        for fidelity in ("packet", "flow")
    )
    assert flows.times_ns is not None
    assert packets.times_ns is not None
    assert flows.times_ns[0] == pytest.approx(packets.times_ns[0], rel=0.03)
    assert packets.flags == ()
    assert "fidelity" not in packets.evidence
    assert flows.flags == ("flow_level",)
    assert flows.evidence["fidelity"] == "flow"
    assert any("nobody is held up" in note for note in flows.evidence["notes"])


def test_a_twin_that_may_choose_follows_few_packets_and_says_so() -> None:
    sample = measured(TwinBackend(FAT_TREE, 4, fidelity="auto"), "allreduce", 4096)
    assert sample.flags == ()
    assert sample.evidence["fidelity"] == "packet"
    (why,) = sample.evidence["notes"]
    assert why.startswith("auto: packets, about ")


def test_a_fidelity_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="fidelity: unknown variant `fluid`"):
        measured(TwinBackend(FAT_TREE, 4, fidelity="fluid"), "allreduce", 8)

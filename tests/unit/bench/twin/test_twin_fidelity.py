"""A twin at flow level, and one that chooses: what its samples say of it."""

from typing import Any

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fidelity import at_fidelity, fidelity_clauses
from weft.bench.twin.independent_rounds import ROW_COLUMNS, joined
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
    assert any(
        "no message waits for traffic to other hosts" in note for note in flows.evidence["notes"]
    )


def test_a_twin_that_may_choose_follows_few_packets_and_says_so() -> None:
    sample = measured(TwinBackend(FAT_TREE, 4, fidelity="auto"), "allreduce", 4096)
    assert sample.flags == ()
    assert sample.evidence["fidelity"] == "packet"
    (why,) = sample.evidence["notes"]
    assert why.startswith("fidelity auto: packets, about ")


def test_a_fidelity_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="fidelity: unknown variant `fluid`"):
        measured(TwinBackend(FAT_TREE, 4, fidelity="fluid"), "allreduce", 8)


def test_parts_of_which_one_is_of_flows_are_of_flows_together_and_say_all_that_each_says() -> None:
    column = {name: [0] for name in ROW_COLUMNS}
    outcomes = [
        {**column, "fidelity": "packet", "notes": ["few hops"]},
        {**column, "fidelity": "flow", "notes": ["many hops", "few hops"]},
    ]
    whole = joined([{"work": [{"rounds": [[]]}]}] * 2, outcomes)
    assert whole["fidelity"] == "flow"
    assert whole["notes"] == ["few hops", "many hops"]


def test_notes_that_say_the_same_of_all_flows_are_one_sentence_and_there_is_an_end_to_others() -> (
    None
):
    notes = ["flow level: no buffer fills", *(f"tried so: {n}" for n in range(9))]
    sample = measured(TwinBackend(FAT_TREE, 2), "latency", 8)
    outcome = {"fidelity": "flow", "notes": notes}
    samples = list(at_fidelity([sample, sample], outcome, once=True))
    assert "notes" not in samples[1].evidence
    first, *others = fidelity_clauses(samples)
    assert first.startswith("simulated as flows")
    assert others == [*notes[1:5], "5 more such notes are in the samples"]
    assert fidelity_clauses([sample]) == ()

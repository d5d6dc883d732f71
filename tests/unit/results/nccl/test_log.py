from weft.results.model import Table
from weft.results.nccl.log import conditions_of, facts_of, note_facts, with_log


def table(tool: str, **conditions: str) -> Table:
    return Table(tool, "t", "allreduce", (), 1, conditions=conditions)


def test_a_line_says_version_network_or_setting() -> None:
    assert facts_of("NCCL version 2.26.5+cuda12.6") == {"nccl_version": "2.26.5"}
    assert facts_of("h:1:2 [0] NCCL INFO Using network Socket") == {"network": "Socket"}
    assert facts_of("h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to TREE") == {
        "algorithm": "TREE"
    }
    assert facts_of("h:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via SHM/direct") == {
        "intra_node": "SHM"
    }
    assert facts_of("h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring,Tree") == {}
    assert facts_of("comm 0x1 rank 0 nranks 2") == {}


def test_channels_over_infiniband_without_a_word_of_gdrdma_go_through_host_memory() -> None:
    plain = facts_of("h:1:2 [2] NCCL INFO Channel 00/0 : 2 -> 6 [send] via NET/IB/0")
    direct = facts_of("h:1:2 [2] NCCL INFO Channel 00/0 : 2 -> 6 [send] via NET/IB/0/GDRDMA")
    assert conditions_of(plain)["gdr"] == "no"
    assert conditions_of(direct)["gdr"] == "yes"
    unlisted = facts_of("h:1:2 [2] NCCL INFO Using network IB")
    assert conditions_of(unlisted) == {"network": "IB"}
    assert "gdr" not in conditions_of({"network": "Socket"})


def test_the_adapters_that_nccl_uses_are_counted() -> None:
    line = "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0"
    assert conditions_of(facts_of(line))["hcas_used"] == "2"


def test_runs_over_two_networks_keep_both() -> None:
    facts: dict[str, str] = {}
    note_facts(b"NCCL INFO Using network IB\n", facts)
    note_facts(b"NCCL INFO Using network Socket\nNCCL INFO Using network IB\n", facts)
    assert facts["network"] == "IB, Socket"


def test_only_tables_of_nccl_get_the_facts_and_keep_their_own() -> None:
    facts = {"network": "Socket", "nccl_version": "2.20.1"}
    own, other = with_log([table("nccl-tests", nccl_version="2.26.5"), table("osu")], facts)
    assert own.conditions == {"network": "Socket", "nccl_version": "2.26.5"}
    assert other.conditions == {}
    assert with_log([own], {}) == [own]

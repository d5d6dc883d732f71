"""Was an arm's setting in force? What samples, and the logs of their launches, say of it."""

from typing import Any

import pytest

from weft.bench.model import Sample
from weft.study.comparison.treatment import settings_of, untreated_because
from weft.study.plan.document import parse_study
from weft.study.plan.model import Study

STUDY = """
schema = "weft.study/1"
name = "x"
title = "A study"
question = "Does it?"
seed = 1
repeats = 12
nodes = [2]
node_sets = 1

[[benchmarks]]
name = "latency"
sizes = "8"

[[factors]]
name = "transport"
settings = [{ name = "any" }, { name = "one", %s }]
"""
ONE = {"transport": "one"}


def study_of(setting: str) -> Study:
    return parse_study(STUDY % setting, "x.toml")


def because(setting: str, **evidence: Any) -> str | None:
    sample = Sample("t", 0, "latency", 8, {"latency_us": 1.0}, 1, 0.0, evidence=evidence)
    return untreated_because(sample, settings_of(study_of(setting), ONE))


PROOF = 'evidence = { log = { network = "NET/IB", settings = { NCCL_ALGO = "Ring" } } }'


def test_a_log_that_says_all_that_is_asked_proves_it() -> None:
    log = {"network": "NET/IB", "settings": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}}
    assert because(PROOF, log=log) is None


@pytest.mark.parametrize(
    "log",
    [
        None,
        {},
        {"network": "NET/IB"},
        {"network": "NET/Socket", "settings": {"NCCL_ALGO": "Ring"}},
        {"network": "NET/IB", "settings": {"NCCL_ALGO": "Tree"}},
        {"network": "NET/IB", "settings": {"NCCL_ALGO": ["Ring", "Tree"]}},
    ],
)
def test_a_log_that_does_not_say_it_leaves_the_sample_out(log: Any) -> None:
    assert str(because(PROOF, log=log)).startswith("untreated: transport=one needs log=")


@pytest.mark.parametrize(
    ("value", "read", "is_untreated"),
    [
        ("tcp", "tcp", False),
        ("rc", "tcp", True),
        ("0x20", "32", False),
        ("true", "0", True),
        ("rc", ["rc", "tcp"], True),
    ],
)
def test_ranks_that_read_another_value_are_untreated_without_being_asked(
    value: str, read: Any, *, is_untreated: bool
) -> None:
    said = because(f'env = {{ X_Y = "{value}" }}', log={"settings": {"X_Y": read}})
    assert (said is not None) == is_untreated
    if said is not None:
        assert said.startswith(f"untreated: transport=one sets X_Y={value}, and ranks read ")


def test_a_variable_that_the_library_does_not_know_is_no_treatment() -> None:
    said = because('env = { UCX_FOO = "1" }', log={"unknown": ["UCX_FOO"]})
    assert said == "untreated: transport=one sets UCX_FOO, which the library does not know"


@pytest.mark.parametrize(("read", "is_untreated"), [("SYS", False), ("PHB", True)])
def test_a_level_may_be_set_as_a_number(read: str, *, is_untreated: bool) -> None:
    said = because('env = { NCCL_P2P_LEVEL = "5" }', log={"settings": {"NCCL_P2P_LEVEL": read}})
    assert (said is not None) == is_untreated


@pytest.mark.parametrize(
    ("name", "version", "why"),
    [
        ("NCCL_IB_TIMEOUT", "2.18.3+cuda12.1", "it had no effect in this run"),
        ("NCCL_IB_TIMEOUTS", "2.18.3+cuda12.1", "it is no variable of NCCL"),
        # SOURCE: the catalogue's since, of NVIDIA's tags.
        ("NCCL_RAS_ENABLE", "2.18.3", "NCCL 2.18.3 does not know it, it came with 2.24.3"),
        ("NCCL_DEBUG_FILE", "2.18.3", None),
    ],
)
def test_what_nccl_would_have_echoed_and_did_not_was_not_in_force(
    name: str, version: str, why: str | None
) -> None:
    env = f'env = {{ {name} = "1" }}'
    log: dict[str, Any] = {
        "libraries": [f"NCCL {version}"],
        "settings": {"NCCL_SOCKET_IFNAME": "eth0"},
    }
    said = because(env, log=log)
    expected = f"untreated: transport=one sets {name}=1, and no rank read it: {why}"
    assert said == (None if why is None else expected)
    # Levels are echoed whatever NCCL_DEBUG_SUBSYS leaves out.
    assert because(env, log={**log, "settings": {"NCCL_P2P_LEVEL": "SYS"}}) is None


def test_a_log_that_does_not_mention_a_variable_says_nothing() -> None:
    assert because('env = { UCX_TLS = "rc" }', log={"settings": {"UCX_LOG_LEVEL": "info"}}) is None
    assert because('env = { UCX_TLS = "rc" }') is None


def test_sizes_that_mvapich2_echoes_in_bytes_are_not_compared() -> None:
    env = 'env = { MV2_IBA_EAGER_THRESHOLD = "16K" }'
    assert because(env, log={"settings": {"MV2_IBA_EAGER_THRESHOLD": "16384"}}) is None


def test_the_arm_without_the_setting_is_judged_by_its_own() -> None:
    sample = Sample("t", 0, "latency", 8, {"latency_us": 1.0}, 1, 0.0)
    assert untreated_because(sample, settings_of(study_of(PROOF), {"transport": "any"})) is None

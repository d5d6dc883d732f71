"""The library that a topology file was written for, and its words."""

import pytest
from tests.unit.doctor.topo.cases import RIGHT

from weft.catalog.libraries.setting_rules import topology_rules
from weft.doctor.topo.dialect import NCCL_DIALECT, RCCL_DIALECT, dialect_of, rule_for

TWO = RIGHT.replace('version="1"', 'version="2"')


@pytest.mark.parametrize(
    ("text", "library"),
    [
        (RIGHT, "NCCL"),
        (TWO, "NCCL"),
        (TWO.replace("<pci ", '<pci vendor="0x1002" ', 1), "RCCL"),
        (TWO + "<!-- <xgmi target -->", "RCCL"),
        (RIGHT.replace("<pci ", '<pci vendor="0x1002" ', 1), "NCCL"),
        ("", "NCCL"),
    ],
)
def test_version_2_and_a_sign_of_amd_are_rccls(text: str, library: str) -> None:
    assert dialect_of(text).library == library


def test_a_rule_speaks_of_the_library_that_reads_the_file() -> None:
    for rule in topology_rules().values():
        assert rule_for(rule, NCCL_DIALECT) == rule
        said = rule_for(rule, RCCL_DIALECT)
        assert "NCCL " not in said.title + said.happens
        assert said.source.startswith(rule.source)
    far = rule_for(topology_rules()["topo-gpu-far"], RCCL_DIALECT)
    assert "NCCL_NET_GDR_LEVEL" in far.happens

"""Dialects of topology files: NCCL's, and that of RCCL, its fork for GPUs of AMD."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from weft.catalog.libraries.setting_rules import SettingRule
from weft.doctor.topo.element import CHILDREN


@dataclass(frozen=True, slots=True)
class TopologyDialect:
    """A library's own form of the file. `version` is that of <system>; NCCL and RCCL have room for
    `most_elements`."""

    library: str
    version: int
    most_elements: int
    children: Mapping[str, frozenset[str]]


NCCL_DIALECT = TopologyDialect("NCCL", 1, 255, CHILDREN)
"""It has room for 256 elements, and looks whether there is more before it reads the next tag."""
RCCL_DIALECT = TopologyDialect("RCCL", 2, 8191, {**CHILDREN, "gpu": frozenset({"xgmi"})})
"""SOURCE: ROCm/rccl, src/graph/xml.h (NCCL_TOPO_XML_VERSION 2), topo.h (8192 elements; 1024 before
that), xml.cc (ncclTopoXmlLoadGpu)."""
DIALECTS = {"nccl": NCCL_DIALECT, "rccl": RCCL_DIALECT}

_VERSION_2 = re.compile(r"<system [^<>]*version=[\"']2[\"']")
_OF_AMD = re.compile(r"<xgmi\b| gcn=[\"']| vendor=[\"']0x1002[\"']")
_OF_RCCL = (
    (re.compile(r"\bNCCL\b"), "RCCL"),
    (re.compile(r"<nvlink>"), "<xgmi>"),
    (re.compile(r"\bNVLink\b"), "xGMI link"),
    (re.compile(r"\bNVLinks\b"), "xGMI links"),
)


def dialect_of(text: str) -> TopologyDialect:
    """The library that a file was written for: RCCL where it has version 2 and signs of AMD, NCCL
    for all others."""
    is_rccl = _VERSION_2.search(text) is not None and _OF_AMD.search(text) is not None
    return RCCL_DIALECT if is_rccl else NCCL_DIALECT


def rule_for(rule: SettingRule, dialect: TopologyDialect) -> SettingRule:
    """A rule of NCCL's reader in the words of the dialect's library."""
    if dialect is NCCL_DIALECT:
        return rule
    words = {key: _of_rccl(getattr(rule, key)) for key in ("title", "happens", "fix")}
    source = f"{rule.source}; ROCm/rccl, src/graph, is a fork of it"
    return rule.model_copy(update={**words, "source": source})


def _of_rccl(text: str) -> str:
    for pattern, word in _OF_RCCL:
        text = pattern.sub(word, text)
    return text

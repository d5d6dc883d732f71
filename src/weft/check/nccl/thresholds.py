"""The thresholds of a check by nccl-tests, read from thresholds.toml in this folder."""

import functools
from dataclasses import dataclass

from weft.catalog.toml_file import shipped_figures


@dataclass(frozen=True, slots=True)
class NcclThresholds:
    """When a node, adapter or group is at fault; thresholds.toml explains each figure."""

    common_share: float
    sure_partners: int
    least_wrong: int
    chance: float
    pair_repeats: int
    compared_nodes: int
    slow_nodes_share: float
    far_sigma: float
    compared_groups: int
    slow_group_share: float
    slow_adapter_share: float
    nodes_by_adapter: int
    survey_share: float
    fewest_rounds: int
    node_rounds: int
    retests: int
    partners_again: int
    hosts_again: int


@functools.cache
def nccl_thresholds() -> NcclThresholds:
    """The shipped figures."""
    return shipped_figures(NcclThresholds, "thresholds.toml", "weft.nccl_thresholds/1")

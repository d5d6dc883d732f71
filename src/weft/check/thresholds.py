"""The thresholds of a verdict, read from thresholds.toml in this folder."""

import functools
from dataclasses import dataclass

from weft.catalog.toml_file import shipped_figures
from weft.check.readings.readings import Metric


@dataclass(frozen=True, slots=True)
class CheckThresholds:
    """When a component is slow; thresholds.toml explains each figure."""

    bandwidth_least: float
    latency_least: float
    latency_least_without_fabric: float
    bandwidth_guard: float
    latency_guard: float
    scale_floor: float
    smallest_class: int
    largest_slow_share: float
    populations_sigma: float
    disturbed_share: float
    disturbed_slow_share: float
    disturbance: float
    surprise: float
    suspect_evidence: float
    confirmed_evidence: float
    named_evidence: float
    near_evidence: float
    evidence_a_metric: float
    slowest_fitted: float
    unsteady_again: int
    partners_again: int
    stalls_again: int
    stall_repeats: int
    contradicted_share: float
    contradicted_sigma: float
    longest_episode: float
    fewest_rounds: int
    most_episodes: int
    most_intermittent: int
    chance_of_a_pair: float
    useful_slowness: float
    few_nodes: int
    uneven_share: float
    peer_sigma: float
    crowded_margin: float
    crowded_peers: int
    crowded_readings: int
    alone_readings: int
    second_share: float
    detour_again: int
    cables_tested: int
    detour_normal: float
    resent_least: float
    asked_of_shared: float
    bursts_least: int
    bursts_most: int
    burst_flows: int
    meeting_sigma: float
    meeting_least: float
    meeting_guests: int
    meeting_moments: int
    rerouted_most: int
    most_out_of_use: int
    rerouted_readings: int
    left_open: float
    least_explained: float
    most_placed: int
    least_slowed: float
    crossed_share: float
    meetings_again: int
    switch_pair_hcas: int
    filled_share: float
    load_steps: int
    noise_sigma: float
    most_unexplained: int
    most_suspects: int
    least_controls: int
    tests_a_suspect: int
    least_partners: int
    times_again: int
    path_repeats: int
    control_pairs: int
    pairs_again: int
    flows_looked_at: int

    def least_effect(self, metric: Metric) -> float:
        """The least slowness (natural logarithm) that is worth a finding."""
        return self.latency_least if metric is Metric.LATENCY else self.bandwidth_least

    def guard(self, metric: Metric, *, with_fabric: bool) -> float:
        """How far two populations of a class lie apart that are two."""
        if metric is not Metric.LATENCY:
            return self.bandwidth_guard
        return self.latency_guard if with_fabric else self.latency_least_without_fabric


@functools.cache
def thresholds() -> CheckThresholds:
    """The shipped figures."""
    return shipped_figures(CheckThresholds, "thresholds.toml", "weft.thresholds/2")

"""Settings of congestion control by annex A10, as OpenSM sends them and as the twin has them.

ASSUMED: the values are those of the twin's own law (docs/reference/scenario.md) in steps twice as
wide, because OpenSM 3.3.23 keeps 128 entries; no vendor publishes some. Times are in the
specification's units; the timer is for the rate of hosts, as the law's own.
"""

from typing import Any

TIMER_UNIT_NS = 1024
TIMER_NS = 18_000
"""At FULL_GBPS; the law's own is 9 us, in steps half as wide."""
FULL_GBPS = 200.0
MOST_TIMER = 65_535
INCREASE = 4
THRESHOLD = 8
PACKET_CREDITS = 8
MARKING_RATE = 0
N_ENTRIES = 128
DOUBLING = 16
"""Entries in which packets come twice as far apart."""
MOST_MULTIPLIER = (1 << 14) - 1
MOST_SHIFT = 3


def table_entry(wait: float) -> str:
    """'shift:multiplier' of a wait in times of a packet: multiplier / 2^shift, as fine as 14 bits
    allow."""
    for shift in range(MOST_SHIFT, -1, -1):
        multiplier = round(wait * 2**shift)
        if multiplier <= MOST_MULTIPLIER:
            return f"{shift}:{multiplier}"
    return f"0:{MOST_MULTIPLIER}"


TABLE = tuple(table_entry(2 ** (at / DOUBLING) - 1) for at in range(N_ENTRIES))


def timer(gbps: float) -> int:
    """Of hosts of this rate, in units of 1.024 us: as many packets pass in it at any rate."""
    return min(max(round(TIMER_NS * FULL_GBPS / gbps / TIMER_UNIT_NS), 1), MOST_TIMER)


def settings(gbps: float) -> dict[str, Any]:
    """Keys of the scenario's law. Ports are marked as roots of congestion only: the mask of OpenSM
    is one for all switches, and cannot say which of their ports face hosts."""
    return {
        "threshold": THRESHOLD,
        "packet_size": PACKET_CREDITS,
        "marking_rate": MARKING_RATE,
        "victim_mask": "none",
        "increase": INCREASE,
        "timer_ns": timer(gbps) * TIMER_UNIT_NS,
        "ccti_limit": N_ENTRIES - 1,
        "table": list(TABLE),
    }


def opensm_lines(levels: set[int], gbps: float) -> list[str]:
    """The options of opensm.conf for these service levels and this rate of hosts.

    SOURCE: comments of the opensm.conf that OpenSM 3.3.23 writes.
    """
    of_levels = 0
    for level in levels:
        of_levels |= 1 << level
    lines = [
        "congestion_control TRUE",
        "# threshold and packet size (bit 2), marking rate (bit 4)",
        "cc_sw_cong_setting_control_map 0x14",
        f"cc_sw_cong_setting_threshold {THRESHOLD:#04x}",
        f"cc_sw_cong_setting_packet_size {PACKET_CREDITS}",
        f"cc_sw_cong_setting_marking_rate {MARKING_RATE}",
        "cc_ca_cong_setting_port_control 0x0000",
        f"cc_ca_cong_setting_control_map {of_levels:#06x}",
    ]
    for level in sorted(levels):
        lines += [
            f"cc_ca_cong_setting_ccti_timer {level} {timer(gbps)}",
            f"cc_ca_cong_setting_ccti_increase {level} {INCREASE}",
            f"cc_ca_cong_setting_trigger_threshold {level} 0",
            f"cc_ca_cong_setting_ccti_min {level} 0",
        ]
    return [*lines, f"cc_cct {','.join(TABLE)}"]

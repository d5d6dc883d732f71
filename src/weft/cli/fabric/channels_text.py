"""The channels of a job on a fabric in words, at 80 columns."""

from collections.abc import Sequence

from weft.audit.channels.channel_map import FULL, CableUse, ChannelMap
from weft.audit.channels.host_order import OrderSearch
from weft.audit.channels.report import ChannelReport
from weft.cli.output import table_text
from weft.core.finding import Severity, cannot_tell
from weft.core.nodeset import expand, fold
from weft.core.words import counted
from weft.topology.subnet.subnet import PortKey

MOST_SHOWN = 12
MOST_REASONS = 4


def report_text(report: ChannelReport) -> str:
    """The verdict, the channels, the full cables, and what removes the collisions."""
    now = report.now
    lines = [_verdict(report), *_reasons(report), "", _channels(now)]
    if now.collisions:
        lines += ["", _collisions(now), "", _routings(report), "", _advice(report)]
    return "\n".join([*lines, *_notes(report)])


def _verdict(report: ChannelReport) -> str:
    now = report.now
    busbw, free = now.busbw_gb_s, now.free_busbw_gb_s
    if report.severity is Severity.UNKNOWN:
        asked = "whether channels collide"
        would_tell = (
            "counters of the cables under load (weft fabric congestion)"
            if report.n_adaptive
            else "the log of every rank, from its start"
        )
        return f"UNKNOWN  {cannot_tell(asked, would_tell)}"
    if report.severity is Severity.GOOD:
        what = f"no {now.job.pattern}s of this communicator collide"
        return f"GOOD  {what}: busbw up to {busbw:.1f} GB/s"
    return f"BAD  collisions leave {busbw:.1f} of {free:.1f} GB/s busbw"


def _reasons(report: ChannelReport) -> list[str]:
    found = [f"  {reason}" for reason in report.unknown[:MOST_REASONS]]
    if report.severity is Severity.BAD:
        worst = report.now.collisions[0]
        times = worst.wanted_gbps / worst.gbps
        found.append(f"  {_cable(report.now, worst)} is wanted {times:.1f} times")
    if len(report.unknown) > MOST_REASONS:
        found.append(f"  ... and {len(report.unknown) - MOST_REASONS} more: --format json")
    if report.severity is Severity.UNKNOWN and not report.now.job.gaps:
        now = report.now
        found.append(
            f"  by static tables alone: {now.busbw_gb_s:.1f} of {now.free_busbw_gb_s:.1f} GB/s "
            "busbw at most"
        )
    return found


def _channels(now: ChannelMap) -> str:
    """Channels that go the same way are one row."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for channel in range(now.job.n_channels):
        at = [i for i, hop in enumerate(now.job.hops) if hop.channel == channel]
        if not at:
            alike.setdefault(("0", "-", "-"), []).append(channel)
            continue
        slowest = min(at, key=lambda i: now.rates_gbps[i])
        use = _bottleneck(now, slowest)
        cells = (
            str(len(at)),
            f"{now.rates_gbps[slowest] / 8:.2f}",
            _cable(now, use) if use is not None else "-",
        )
        alike.setdefault(cells, []).append(channel)
    rows = [[fold_numbers(channels), *cells] for cells, channels in alike.items()]
    shown = rows[:MOST_SHOWN]
    text = table_text(["channel", "hops", "GB/s", "slowest at"], shown, last=1)
    left = len(rows) - len(shown)
    return text + (f"\n... and {left} more: --format json" if left else "")


def _bottleneck(now: ChannelMap, at: int) -> CableUse | None:
    """The fullest cable of a hop."""
    return next((use for use in now.uses if at in use.hops), None)


def _collisions(now: ChannelMap) -> str:
    rows = [
        [
            _cable(now, use),
            fold_numbers([now.job.hops[at].channel for at in use.hops]),
            f"{use.wanted_gbps:.0f}",
            f"{use.gbps:.0f}",
        ]
        for use in now.collisions[:MOST_SHOWN]
    ]
    text = table_text(["collision", "channels", "want Gb/s", "of"], rows, left=2)
    left = len(now.collisions) - len(rows)
    return text + (f"\n... and {left} more: --format json" if left else "")


def _cable(now: ChannelMap, use: CableUse) -> str:
    """'leaf000[5] - spine00[1]', in the direction of the packets."""
    return f"{_port(now, use.egress)} - {_port(now, use.ingress)}"


def _port(now: ChannelMap, port: PortKey) -> str:
    label = now.labels.get(port[0])
    return f"{label.name}[{port[1]}]" if label is not None else now.subnet.name(*port)


def _routings(report: ChannelReport) -> str:
    rows = [
        [
            routed.engine,
            order.name,
            f"{order.outcome.busbw_gb_s:.1f}",
            str(len(order.outcome.collisions)),
        ]
        for routed in report.routings
        for order in routed.search.orders
    ]
    return table_text(["routing", "order of hosts", "busbw GB/s", "collisions"], rows, left=2)


def _advice(report: ChannelReport) -> str:
    now, search = report.now, report.routings[0].search
    best = search.best
    if best.outcome.busbw_gb_s > FULL * now.busbw_gb_s:
        lines = [
            f"Order of hosts with {_gain(best.outcome)} (-o FILE writes it):",
            f"  {in_order(best.hosts)}",
            *_bound(search, now, "No order has more"),
        ]
    elif search.refused:
        lines = [f"No other order was tried: {search.refused}."]
    else:
        lines = _bound(search, now, "No order of hosts helps") or [
            f"No order of hosts helps: none of {search.n_tried:,} tried has more than "
            f"{now.busbw_gb_s:.1f} GB/s."
        ]
    return "\n".join([*lines, *_other_routings(report)])


def _bound(search: OrderSearch, now: ChannelMap, sentence: str) -> list[str]:
    """The switch whose cables keep the best order from more."""
    bound, most = search.bound, search.bound_busbw_gb_s
    if bound is None or most is None or FULL * search.best.outcome.busbw_gb_s < most:
        return []
    if FULL * most >= now.free_busbw_gb_s:
        return []
    hops, cables = counted(bound.n_hops, "hop"), counted(bound.n_cables, "cable")
    return [f"{sentence}: {hops} must leave {now.labels[bound.switch].name} by {cables}."]


def _other_routings(report: ChannelReport) -> list[str]:
    """The best of other engines in the job's own order, and with the best order of each."""
    here, *others = report.routings
    if not others:
        return ["No other routing was tried: none can route this fabric."]
    given = max(others, key=lambda one: one.given.busbw_gb_s)
    best = max(others, key=lambda one: one.search.best.outcome.busbw_gb_s)
    lines = []
    if given.given.busbw_gb_s > FULL * report.now.busbw_gb_s:
        lines.append(f"Routing {given.engine} in the job's own order: {_gain(given.given)}.")
    else:
        names = ", ".join(one.engine for one in others)
        lines.append(f"No other routing helps in the job's own order ({names}).")
    if best.search.best.outcome.busbw_gb_s > FULL * here.search.best.outcome.busbw_gb_s:
        found = best.search.best
        lines.append(f"Routing {best.engine} and the order {in_order(found.hosts)}:")
        lines.append(f"  {_gain(found.outcome)}")
    return lines


def _gain(outcome: ChannelMap) -> str:
    left = len(outcome.collisions)
    return (
        f"{outcome.busbw_gb_s:.1f} GB/s, {counted(left, 'collision') if left else 'no collision'}"
    )


def _notes(report: ChannelReport) -> list[str]:
    notes = [f"read  {report.now.job.source}"]
    notes += [f"assumed  {one}" for one in report.assumed]
    notes += [f"note  {one}" for one in report.now.job.notes]
    notes += [f"note  {one}" for one in report.refused]
    return ["", *notes]


def channel_text(report: ChannelReport, channel: int) -> str:
    """The hops of one channel, a line a cable."""
    now = report.now
    hops = [at for at, hop in enumerate(now.job.hops) if hop.channel == channel]
    lines = [
        f"Channel {channel} ({now.job.pattern}): {counted(len(hops), 'hop')} between hosts, "
        f"{now.channel_gbps(channel) / 8:.2f} GB/s at the slowest."
    ]
    colliding = {use.egress for use in now.collisions}
    for at in hops:
        hop = now.job.hops[at]
        lines.append(
            f"{now.job.hosts[hop.src]} NET/{hop.src_net} to {now.job.hosts[hop.dst]} "
            f"NET/{hop.dst_net}: {now.rates_gbps[at] / 8:.2f} GB/s"
        )
        for egress, ingress in now.paths[at]:
            mark = "  collision" if egress in colliding else ""
            lines.append(f"  {_port(now, egress)} - {_port(now, ingress)}{mark}")
    return "\n".join([*lines, *_reasons(report)])


def fold_numbers(numbers: Sequence[int]) -> str:
    """'0-3,8' of numbers, each once."""
    once = sorted(set(numbers))
    parts: list[list[int]] = []
    for number in once:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in parts)


def in_order(hosts: Sequence[str]) -> str:
    """Hosts in their order, neighbours that count on folded: 'n[3-4],n1,n2'."""
    runs: list[list[str]] = []
    for host in hosts:
        if runs and _counts_on([*runs[-1], host]):
            runs[-1].append(host)
        else:
            runs.append([host])
    return ",".join(fold(run) for run in runs)


def _counts_on(hosts: Sequence[str]) -> bool:
    """Whether a node set of these is read back in this order."""
    return list(expand(fold(hosts))) == list(hosts)

"""Did the messages cross the fabric? Findings from the byte counters of the hosts' devices."""

from collections.abc import Sequence

from weft.bench.model import State
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.nodeset import fold
from weft.core.shell_line import shell_line
from weft.core.words import counted, first_few
from weft.validity.facts import (
    HostFacts,
    OffFabricFacts,
    OneMachineFacts,
    OtherNetworkFacts,
    UnprovedFacts,
)
from weft.validity.proof import FastDevice, Named, OffHost, Proof
from weft.validity.remedies import how_to_select, settings_that_hinder
from weft.validity.thresholds import ValidityThresholds

_UP = ("ACTIVE", "UP")


def not_on_fabric(proofs: Sequence[Proof], nodes: Sequence[str] = ()) -> Finding:
    """The bytes went elsewhere: which device carried them, which should have, how to mend it.

    `proofs` are those of the launches that missed the fabric; without any, nothing more is known.
    `nodes` are what to check again.
    """
    proof = max(proofs, key=_elsewhere, default=None)
    if proof is not None and proof.evidence.named is not None and not _missed_fast(proof):
        return _not_on_named(proof, proof.evidence.named, nodes)
    rails = [] if proof is None else [one.device for one in _up(proof)]
    evidence = ("a fast device exists and its counters did not move",)
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        "The messages did not cross the fast network, so weft does not judge it.",
        evidence=evidence if proof is None else _why_elsewhere(proof),
        next_command=_again(rails, nodes),
        facts=OffFabricFacts("not-on-fabric", tuple(rails), tuple(nodes)),
    )


def off_named_hosts(proofs: Sequence[Proof]) -> Finding | None:
    """Some hosts went past the devices that were named, and the others kept to them."""
    reports = [p.evidence.named for p in proofs if p.state is State.OK and p.evidence.named]
    named = max(reports, key=lambda one: one.n_missed, default=None)
    if named is None or named.n_missed == 0:
        return None
    wanted = ", ".join(named.devices)
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{counted(named.n_missed, 'host')} did not mostly use {wanted}, which was named:"
        f" {first_few(named.missed, named.n_missed)}.",
        evidence=(f"{named.other} carried more there, of this run or of external traffic",),
        facts=HostFacts("off-named-hosts", named.missed),
    )


def _missed_fast(proof: Proof) -> bool:
    """Whether the devices that the messages missed are those made for MPI."""
    named = proof.evidence.named
    fast = {one.device for one in proof.evidence.fast_devices}
    return bool(fast) and (named is None or set(named.devices) <= fast)


def _not_on_named(proof: Proof, named: Named, nodes: Sequence[str]) -> Finding:
    wanted = ", ".join(named.devices)
    lines = [
        f"{named.other} carried {size_text(named.other_bytes)}, {wanted} {size_text(named.bytes)}"
    ]
    if named.sent_bytes:
        lines[0] += f"; the ranks sent at least {size_text(named.sent_bytes)}"
    if named.missed:
        missed = first_few(named.missed, named.n_missed)
        lines.append(f"past it went the bytes of {missed}")
    lines += _library_lines(proof)
    lines.append(
        f"to mend: let the MPI keep to {wanted}, or name the device it uses ({named.other})"
    )
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"The messages did not cross {wanted}, which was named, so weft does not judge it.",
        evidence=tuple(lines),
        facts=OffFabricFacts("not-on-fabric", named.devices, tuple(nodes)),
    )


def off_fabric_hosts(proofs: Sequence[Proof]) -> Finding | None:
    """Some hosts went past the fabric that the others used."""
    found = [(one, p) for p in proofs if (one := p.evidence.off_fabric) and one.n_hosts]
    if not found:
        return None
    worst, proof = max(found, key=lambda one: one[0].n_hosts)
    devices = proof.evidence.fast_devices
    lines = [_host_line(host, devices) for host in worst.hosts]
    hosts = tuple(host.host for host in worst.hosts)
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{counted(worst.n_hosts, 'host')} of {proof.evidence.hosts} did not use the fast network:"
        f" {first_few(hosts, worst.n_hosts)}.",
        evidence=(*lines, _to_mend(proof)),
        facts=HostFacts("off-fabric-hosts", hosts),
    )


def unproved(proofs: Sequence[Proof], limits: ValidityThresholds) -> Finding | None:
    """Several machines took part, and no counter shows which network carried their messages."""
    between = filter(_between_machines, proofs)
    return next((_unproved(one) for one in between if not _is_counted(one, limits)), None)


def other_network(proofs: Sequence[Proof], limits: ValidityThresholds) -> Finding | None:
    """A network without fast devices: it was measured, and is named."""
    slow = (p for p in proofs if _between_machines(p) and not p.evidence.fast_devices)
    proof = next((p for p in slow if _is_counted(p, limits)), None)
    if proof is None:
        return None
    carried = _most(proof)
    return Finding(
        FindingKind.NOT_JUDGED,
        Severity.NOTE,
        f"{carried} was measured: no InfiniBand or Slingshot device counts bytes on these hosts",
        facts=OtherNetworkFacts("other-network", carried),
    )


def no_network(proofs: Sequence[Proof]) -> Finding | None:
    """One host, or hosts that are one machine: whatever was measured, it was no fabric."""
    for proof in proofs:
        hosts, machines = proof.evidence.hosts, proof.evidence.machines
        if hosts == 1:
            what = "all ranks ran on one host: they measured its memory, no network"
        elif hosts > 1 and machines == 1:
            what = f"the {hosts} hosts are one machine (containers): no cable was crossed"
        else:
            continue
        return Finding(
            FindingKind.NOT_JUDGED,
            Severity.NOTE,
            f"{what} (weft check --hosts NODESET measures the network between hosts)",
            next_command="weft check --hosts NODESET",
            facts=OneMachineFacts("no-network", hosts, machines),
        )
    return None


def _between_machines(proof: Proof) -> bool:
    return proof.evidence.hosts > 1 and proof.evidence.machines != 1


def _is_counted(proof: Proof, limits: ValidityThresholds) -> bool:
    """Whether the counters account for the bytes sent. Where adapters are held open and no port of
    an adapter counts, the bytes of an interface are external traffic."""
    carried = proof.evidence.carried_bytes
    if carried is None:
        return False
    ports = [name for name in proof.evidence.device_bytes if ":" in name]
    held = not proof.evidence.fast_devices and not ports and _adapters(proof)
    n_bytes = carried.fabric + (0 if held else carried.elsewhere)
    return n_bytes > 0 and n_bytes >= limits.counted_share * proof.n_sent_bytes


def _adapters(proof: Proof) -> list[str]:
    return [path for path in proof.evidence.open_devices if "/infiniband/" in path or "cxi" in path]


def _unproved(proof: Proof) -> Finding:
    carried = proof.evidence.carried_bytes
    n_bytes = 0 if carried is None else carried.fabric + carried.elsewhere
    evidence = [
        f"the devices of all hosts counted {size_text(n_bytes)};"
        f" the ranks sent at least {size_text(proof.n_sent_bytes)}"
    ]
    if proof.evidence.mpi_selected:
        evidence.append(f"the MPI library says: {', '.join(proof.evidence.mpi_selected)}")
    if adapters := _adapters(proof):
        evidence.append(f"it holds {', '.join(adapters)} open, but no counter of it can be read")
    evidence.append(
        "to mend: let weft read /sys/class/infiniband/*/ports/*/counters (or /sys/class/cxi) on"
        " the hosts; a container needs the host's /sys"
    )
    return Finding(
        FindingKind.NOT_JUDGED,
        Severity.WARNING,
        "No counter shows which network carried the messages.",
        evidence=tuple(evidence),
        facts=UnprovedFacts("unproved", n_bytes, proof.n_sent_bytes),
    )


def _why_elsewhere(proof: Proof) -> tuple[str, ...]:
    evidence = proof.evidence
    carried = evidence.device_bytes.get(_most(proof), 0)
    line = f"{_most(proof)} carried {size_text(carried)}, {_should(evidence.fast_devices)}"
    return (line, *_library_lines(proof), _to_mend(proof))


def _library_lines(proof: Proof) -> tuple[str, ...]:
    """The MPI library with its own selection, and settings that keep it off the fast devices."""
    library = " ".join(proof.evidence.mpi_library.split())
    chosen = ", ".join((library, *proof.evidence.mpi_selected)).strip(", ")
    lines = (f"the MPI library: {chosen}",) if chosen else ()
    return (*lines, *settings_that_hinder(proof.evidence.rail_settings))


def _should(devices: Sequence[FastDevice]) -> str:
    return ", ".join(
        f"{one.device} ({', '.join(filter(None, (one.link_layer, *one.states)))})"
        f" {size_text(one.bytes)}"
        for one in devices
    )


def _up(proof: Proof) -> list[FastDevice]:
    """Fast devices that are up, or whose state is unknown."""
    devices = proof.evidence.fast_devices
    return [one for one in devices if not one.states or set(_UP) & {s.upper() for s in one.states}]


def _again(rails: Sequence[str], nodes: Sequence[str]) -> str | None:
    """A check of these nodes over the fast devices; its own options are not known here."""
    return (
        shell_line(("weft", "check", "--hosts", fold(nodes), "--rails", ",".join(rails)))
        if nodes and rails
        else None
    )


def _to_mend(proof: Proof) -> str:
    devices, up = proof.evidence.fast_devices, _up(proof)
    if devices and not up:
        return (
            f"to mend: bring the link up, {devices[0].device} is {devices[0].states[0]}"
            " (`ibstat` on the host, then the cable and its switch port)"
        )
    names = [one.device for one in up]
    how = how_to_select(
        proof.evidence.mpi_library,
        proof.evidence.mpi_selected,
        (up[0].link_layer if up else None) or "InfiniBand",
        names,
    )
    return f"to mend: --rails {','.join(names)} (or {how}); else an MPI built for it (--mpi site)"


def _host_line(host: OffHost, devices: Sequence[FastDevice]) -> str:
    by = f"{host.carried_by} carried its bytes" if host.carried_by else "no counter shows its bytes"
    if not host.fast:
        return f"{host.host}: {by}; it shows no {devices[0].device if devices else 'fast device'}"
    states = ", ".join(f"{name} {state or 'counts bytes'}" for name, state in host.fast.items())
    return f"{host.host}: {by}; {states}"


def _most(proof: Proof) -> str:
    """The device that carried most, of those that are no fast one; loopback only for want of
    another."""
    fast = {one.device for one in proof.evidence.fast_devices}
    others = {n: b for n, b in proof.evidence.device_bytes.items() if n not in fast}
    named = {name: n for name, n in others.items() if name != "lo"} or others
    return max(named, key=lambda name: named[name], default="no device that is counted")


def _elsewhere(proof: Proof) -> int:
    return 0 if proof.evidence.carried_bytes is None else proof.evidence.carried_bytes.elsewhere


def size_text(n_bytes: int) -> str:
    """'1.2 GB', '340 kB': 10^3, as counters and link rates are reported."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes} B"

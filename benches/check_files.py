"""Files of a fabric with a fault that timing cannot show, and whether weft names it by them."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches.check_figures import figures
from benches.check_kinds import Planted, Thing

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.audit.facts import AuditPort, facts_of
from weft.bench.model import Sample
from weft.bench.twin.port_counters import COLUMNS, PortCounters
from weft.check.external_evidence.corroboration import FileStatements
from weft.check.external_evidence.fabric_marks import marked
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import things_of
from weft.core.finding import FAULTS
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet

Document = Mapping[str, Any]

PACKETS = 10**7
"""That a port carried since its counters were cleared: a GiB-sized job an hour for a day."""


def named_by_file(
    one: Planted, planned: Document, found: Document, samples: Sequence[Sample], *, adaptive: bool
) -> bool | None:
    """Whether weft names the fault once the file of its kind is given; None for a kind that no file
    names. `planned` is the fabric as it should be, `found` as its tools print it now."""
    file = figures()["kinds"][one.kind].get("file")
    if file is None:
        return None
    if file == "counters":
        return bool(one.things & _by_counters(one, planned, samples, adaptive=adaptive))
    ends = {end for part, ends in one.things if part == "cable" for end in ends}
    return bool(ends & _by_audit(planned, _with_entry(one, found)))


def _by_counters(
    one: Planted, planned: Document, samples: Sequence[Sample], *, adaptive: bool
) -> frozenset[Thing]:
    """The things of every warning and fault of `weft check --from RUN --counters FILE`."""
    with tempfile.TemporaryDirectory() as folder:
        fabric, counters = Path(folder, "fabric.json"), Path(folder, "counters.out")
        fabric.write_text(json.dumps(dict(planned)), encoding="utf-8")
        counters.write_text(_counters(one, planned), encoding="utf-8")
        subnet = Subnet.read([str(fabric), str(counters)])
    marks, _ = marked(subnet, planned)
    wiring = Fabric.from_document(dict(planned))
    verdict = judge_check(samples, wiring, adaptive=adaptive, marks=marks)
    things = set[Thing]()
    for finding in verdict.findings:
        if finding.severity in FAULTS:
            facts = finding.facts
            things |= set(facts.things if isinstance(facts, FileStatements) else things_of(finding))
    return frozenset(things)


def _counters(one: Planted, planned: Document) -> str:
    """Counters of every port, those of a lossy or flapping cable not zero."""
    ports = [link[end] for link in planned["links"] for end in ("a", "b")]
    counted = PortCounters(planned)
    faulty = {end for part, ends in one.things if part == "cable" for end in ends}
    (fault,) = one.faults
    n_errors = round(fault.values[0] * PACKETS) if fault.kind == "lost" else 0
    n_downs = 0 if fault.kind == "lost" else round(100 * one.share)
    columns: dict[str, Any] = {
        name: [amount * (port in faulty) for port in ports]
        for name, amount in (
            ("symbol_error_counter", n_errors),
            ("port_rcv_errors", n_errors),
            ("link_downed_counter", n_downs),
            ("link_error_recovery_counter", n_downs),
        )
    }
    columns |= {name: [PACKETS] * len(ports) for name in ("port_xmit_pkts", "port_rcv_pkts")}
    nothing = [0] * len(ports)
    counted.add({**dict.fromkeys(COLUMNS.values(), nothing), **columns, "port_name": ports})
    return counted.text


def _by_audit(planned: Document, found: Document) -> set[str]:
    """Ports that `weft fabric audit FILES --before FILE` finds fault with."""
    case = AuditCase(_subnet(found), before=_subnet(planned))
    ports = set()
    for finding in audit(case).findings:
        if finding.severity in FAULTS:
            for place in facts_of(finding).places():
                both = (place.port, place.peer)
                ports |= {f"{e.node}[{e.port}]" for e in both if isinstance(e, AuditPort)}
    return ports


def _subnet(document: Document) -> Subnet:
    """As the tools print it: with its tables, where it has any."""
    if "lfts" not in document:
        return Subnet.of_fabric(document)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fabric.json")
        path.write_text(json.dumps(dict(document)), encoding="utf-8")
        return Subnet.read([str(path)])


def _with_entry(one: Planted, found: Document) -> Document:
    if one.entry is None:
        return found
    switch, hca, port = one.entry
    to = [hca for node in found["nodes"] for hca in node["hcas"]].index(hca)
    entries = [port if i == to else old for i, old in enumerate(found["lfts"][switch])]
    return {**found, "lfts": {**found["lfts"], switch: entries}}

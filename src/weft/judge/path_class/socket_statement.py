"""What is said of a run over sockets: TCP or UDP where the file says it, and whether it was asked
for."""

from weft.catalog.paths.path_class import path_classes
from weft.core.finding import Severity
from weft.judge.path_class.evidence import PathEvidence
from weft.judge.path_class.fit import PathFit, proofs_that_hold, rounded_percent
from weft.judge.path_class.proof import FoundProof
from weft.judge.path_class.remarks import (
    NO_PROTOCOL,
    OFFERED,
    OTHER_TEST,
    PAST_THE_KERNEL,
    WAITING,
)
from weft.judge.path_class.times import latency_text, message_text
from weft.judge.path_class.titles import gbps


def sockets_request(evidence: PathEvidence) -> FoundProof | None:
    """The line of the file that asks for sockets, where no row is too fast for them."""
    asked = (found for found in proofs_that_hold(evidence) if found.proof.asks)
    return next((found for found in asked if "tcp" in found.proof.families), None)


def said_of_sockets(evidence: PathEvidence, fit: PathFit) -> tuple[Severity, str, tuple[str, ...]]:
    """(verdict word, sentence, notes) about a run over sockets."""
    asked = sockets_request(evidence)
    head = _head(evidence, fit)
    if asked is not None:
        sentence = f"{head}: kernel sockets ({asked.proof.says})"
        return Severity.BAD, sentence, ("RDMA, where the hosts have it, was not used",)
    protocol = f" ({evidence.protocol})" if evidence.protocol else ""
    if evidence.library != "sockets":
        note = "if these hosts have RDMA, this run did not use it"
        return Severity.NOTE, f"{head}: kernel sockets", (note, WAITING)
    if _is_past_the_kernel(evidence):
        return Severity.NOTE, f"{head}: sockets{protocol}; {PAST_THE_KERNEL}", (OTHER_TEST,)
    unknown = () if protocol else (NO_PROTOCOL,)
    return Severity.NOTE, f"{head}: kernel sockets{protocol}", (*unknown, OTHER_TEST, WAITING)


def said_without_rows(evidence: PathEvidence) -> str:
    """Of a tool of sockets none of whose rows says anything of the path."""
    return OFFERED if evidence.protocol == "UDP" else NO_PROTOCOL


def _head(evidence: PathEvidence, fit: PathFit) -> str:
    rate = ""
    if fit.links:
        best = fit.links[0]
        rate = f"{rounded_percent(best.share)} % of {best.path_class.title}"
    elif evidence.plateau is not None and not evidence.plateau.rises:
        rate = f"{gbps(evidence.plateau.gb_s)} Gb/s"
    time = latency_text(evidence) or message_text(evidence)
    head = ", ".join(text for text in (rate, time) if text)
    return head or "the rows show no latency and no plateau"


def _is_past_the_kernel(evidence: PathEvidence) -> bool:
    """Whether a small message is faster than the kernel's sockets between hosts."""
    (kernel,) = path_classes().of_transport("sockets")
    bounds, latency_us = kernel.latency_us, evidence.latency_us
    return bounds is not None and latency_us is not None and latency_us < bounds.low

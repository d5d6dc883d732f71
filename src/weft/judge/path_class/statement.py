"""The first line about a path: how much of which link was reached, how fast, over what."""

from dataclasses import dataclass
from typing import Any

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.judge.path_class.evidence import LARGE_BYTES, PathEvidence, Plateau
from weft.judge.path_class.fit import (
    FILLED,
    ClassFit,
    PathFit,
    adapters_apart,
    is_of_one_host,
    is_slower_than_all,
    next_faster,
    proofs_that_hold,
    rounded_percent,
)
from weft.judge.path_class.gpu_statement import said_of_gpus
from weft.judge.path_class.next_step import next_step
from weft.judge.path_class.remarks import (
    ALONE,
    LOOP,
    NOTHING,
    SEVERAL_PAIRS,
    SLOW_COPIES,
    SLOW_RANKS,
    UNKNOWN_PATH,
    WAITING,
    WORDS_IN_ONE_HOST,
    blind,
)
from weft.judge.path_class.socket_statement import (
    said_of_sockets,
    said_without_rows,
    sockets_request,
)
from weft.judge.path_class.times import latency_text, message_text, step_text
from weft.judge.path_class.titles import alternatives, either, gbps, titles

LEAST_ROWS = 2
"""Fewer rows are no curve: nothing is called good. perftest prints one row by default."""
HALF = 0.5
"""Of a stream's rate. SOURCE: arithmetic: a message of 1 MiB takes 84 us at 100 Gb/s, and 10 us of
start leave 0.89 of the rate."""
ROWS_OF_A_CURVE = 4
"""With fewer rows, a rate of small messages only is that of a file that was cut off."""
TOO_SHORT = "too short to tell"
ONE_ROW_TESTS = ("osu_barrier", "Barrier", "barrier")
"""A barrier has one row: it moves no bytes."""


@dataclass(frozen=True, slots=True)
class PathFacts(FindingFacts):
    """The values of a statement about a path."""

    latency_us: float | None
    plateau_gb_s: float | None
    transports: tuple[str, ...]
    fits: tuple[ClassFit, ...]

    def to_record(self) -> dict[str, Any]:
        """One entry a class that fits."""
        return {
            "latency_us": self.latency_us,
            "plateau_gb_s": self.plateau_gb_s,
            "transports": list(self.transports),
            "fits": [
                {
                    "class": fit.path_class.name,
                    "family": fit.family.name,
                    "count": fit.count,
                    "share": round(fit.share, 4),
                }
                for fit in self.fits
            ],
        }


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict word, its sentence, and notes below it."""

    severity: Severity
    sentence: str
    notes: tuple[str, ...] = ()


def statement_of(path: str, evidence: PathEvidence, fit: PathFit) -> Finding:
    """The path of a run as a finding: its verdict word, sentence, evidence and next command."""
    said = _bounded(_said(evidence, fit), evidence, fit)
    proofs = [f"{found.where}: {found.proof.says}" for found in evidence.proofs]
    facts = PathFacts(
        evidence.latency_us,
        evidence.plateau.gb_s if evidence.plateau else None,
        fit.transports,
        fit.links,
    )
    evidence_lines = (*said.notes, *_other_files(evidence), *proofs)
    next_command = next_step(path, evidence, fit)
    return Finding(
        FindingKind.PATH, said.severity, said.sentence, evidence_lines, next_command, facts
    )


def _bounded(said: Said, evidence: PathEvidence, fit: PathFit) -> Said:
    """What is said, less sure where the file is too short or holds several machines."""
    severity, sentence, notes = said.severity, said.sentence, said.notes
    is_good = severity is Severity.GOOD
    if _is_too_short(evidence, fit) and severity in (Severity.GOOD, Severity.NOTE):
        severity, sentence = Severity.NOTE, f"{TOO_SHORT}: {sentence}"
    mixture, apart = evidence.mixture, adapters_apart(evidence)
    if not mixture and apart is not None:
        mixture = f"several machines ({apart[0].where}, {apart[1].where})"
    if mixture:
        severity = Severity.NOTE if is_good else severity
        notes = (f"the file holds tables of {mixture}: judge each alone", *notes)
    return Said(severity, sentence, notes)


def _is_too_short(evidence: PathEvidence, fit: PathFit) -> bool:
    """Whether a file was most likely cut off before a row that shows the path."""
    if evidence.n_rows >= ROWS_OF_A_CURVE or evidence.step_test in ONE_ROW_TESTS:
        return False
    if evidence.prints_one_row or (not evidence.n_rows and evidence.library == "sockets"):
        return False
    plateau = evidence.plateau
    return len(fit.transports) > 1 if plateau is None else plateau.rises


def _other_files(evidence: PathEvidence) -> tuple[str, ...]:
    n = evidence.n_other_files
    return (f"judged with {counted(n, 'other file')} of the same run",) if n else ()


def _said(evidence: PathEvidence, fit: PathFit) -> Said:
    warned = _warned(evidence)
    if warned is not None:
        return warned
    if evidence.memory == "gpu":
        return Said(Severity.NOTE, *said_of_gpus(evidence, fit))
    if evidence.n_rows == 0:
        of_sockets = evidence.library == "sockets"
        return Said(Severity.NOTE, said_without_rows(evidence) if of_sockets else NOTHING)
    transports = set(fit.transports)
    if transports == {"memory"} or is_of_one_host(evidence):
        return _inside_one_host(evidence, fit)
    if transports == {"sockets"} or sockets_request(evidence) is not None:
        return Said(*said_of_sockets(evidence, fit))
    return _other_interface(evidence, fit) or _network(evidence, fit)


def _warned(evidence: PathEvidence) -> Said | None:
    """A contradiction, a stall or a time that says nothing of a link."""
    if evidence.unit_conflict:
        sentence = f"the units of the file contradict each other: {evidence.unit_conflict}"
        note = "one of the two columns is mislabelled: no class of a path is named from them"
        return Said(Severity.NOTE, sentence, (note,))
    if evidence.stall is not None:
        return _stalled(evidence.stall)
    if is_slower_than_all(evidence) and sockets_request(evidence) is None:
        return _slow(evidence)
    return None


def _slow(evidence: PathEvidence) -> Said:
    """A latency beyond every class: nothing is said of the link."""
    sentence = (
        f"{latency_text(evidence)}: slower than any healthy path, so no class of a link is named;"
        f" {SLOW_COPIES if evidence.memory == 'gpu' else SLOW_RANKS}"
    )
    note = "run it again on idle hosts with a core for each rank, then read the drop counters"
    return Said(Severity.WARNING, sentence, (note,))


def _inside_one_host(evidence: PathEvidence, fit: PathFit) -> Said:
    """All ranks on one host, by its name, by --nodes 1 or by the latency: no class is named."""
    asked = sockets_request(evidence)
    plateau, transports = evidence.plateau, set(fit.transports)
    by_name = is_of_one_host(evidence) or bool(proofs_that_hold(evidence))
    is_known = by_name and plateau is not None and not plateau.rises
    rate = f"{gbps(plateau.gb_s)} Gb/s" if plateau is not None and is_known else ""
    time = latency_text(evidence) or step_text(evidence)
    head = ", ".join(text for text in (rate, time) if text) or "no latency and no plateau"
    if asked is not None and "sockets" in transports:
        sentence = f"{head}: inside one host, over kernel sockets ({asked.proof.says})"
        return Said(Severity.BAD, sentence, ("shared memory was not used; no fabric was measured",))
    words = [WORDS_IN_ONE_HOST[transport] for transport in fit.transports]
    how = either([*words, LOOP] if transports >= {"memory", "sockets"} else words)
    sentence = f"{head}: inside one host ({how}); no fabric was measured"
    return Said(Severity.NOTE, sentence, (WAITING,) if "sockets" in transports else ())


def _stalled(stall: tuple[float, float, int]) -> Said:
    peak, mean, line = stall
    sentence = (
        f"peak {gbps(peak)} and average {gbps(mean)} Gb/s differ by"
        f" {format_significant(peak / mean, 2)}x: one queue pair that stalls"
        " (retransmission, pauses or throttling); not a link rate"
    )
    note = f"line {line}: read the retry, RNR and pause counters of the adapter before and after"
    return Said(Severity.WARNING, sentence, (note,))


def _network(evidence: PathEvidence, fit: PathFit) -> Said:
    over, plateau = _over(fit), evidence.plateau
    time = step_text(evidence) or latency_text(evidence)
    if plateau is None and not time and evidence.message_us is not None:
        message = message_text(evidence)
        more = "no row shows a small message's latency or a large one's rate"
        return Said(Severity.NOTE, f"{message}: {over}; {more}")
    if plateau is None and not time:
        return Said(Severity.NOTE, "no row shows a small message's latency or a large one's rate")
    if plateau is None:
        link = f" over {titles(fit.links)}" if fit.links and fit.is_one_rate else ""
        return Said(Severity.NOTE, f"{time}: {over}{link}{_missing(evidence)}")
    is_open = _is_open(evidence, evidence.link_shown or plateau, fit)
    rates = _rates(evidence, plateau, fit, is_open=is_open)
    lead = ", ".join(text for text in (rates, time) if text)
    if plateau.rises:
        several = _several(plateau, fit)
        return Said(Severity.NOTE, f"{lead}: {over}; {_rising(plateau)}", several)
    if not fit.links:
        return Said(Severity.NOTE, f"{lead}: {over}; {_unfitting(plateau, fit)}")
    return _link(lead, over, evidence, plateau, fit)


def _link(lead: str, over: str, evidence: PathEvidence, plateau: Plateau, fit: PathFit) -> Said:
    """A rate that fits a link: filled, not filled, or one of several."""
    shown = evidence.link_shown or plateau
    if not fit.is_one_rate or _is_open(evidence, shown, fit) or (shown.is_weak and fit.behind):
        sentence = f"{lead}: {over}; {alternatives(fit, weak=shown.is_weak)}"
        return Said(Severity.NOTE, sentence, _open_questions(evidence, fit))
    medium = f"{over} over" if "sockets" not in fit.transports else "a link like"
    sentence = f"{lead}: {medium} {titles(fit.links)}"
    questions = _open_questions(evidence, fit)
    if all(one.family.takes_several_pairs for one in fit.links) and plateau.n_pairs == 1:
        return Said(Severity.NOTE, sentence, (SEVERAL_PAIRS, *questions))
    if plateau.gb_s < FILLED * fit.links[0].gb_s and not plateau.is_weak:
        note = "a healthy link carries more: see the MPI's provider, protocol, CPU, link errors"
        return Said(Severity.NOTE, f"{sentence}, below the usual 90 %", (note, *questions))
    if questions:
        return Said(Severity.NOTE, sentence, questions)
    return Said(Severity.GOOD, sentence, (blind(fit),))


def _open_questions(evidence: PathEvidence, fit: PathFit) -> tuple[str, ...]:
    """What the rows do not tell, so that nothing is called good."""
    plateau, shown = evidence.plateau, evidence.link_shown
    of_perftest = evidence.tool == "perftest"
    found = []
    if evidence.latency_us is None and not of_perftest:
        found.append("no row shows the latency: judge the latency file of the same run with it")
    elif "sockets" in fit.transports:
        found.append("RDMA and kernel sockets look alike here")
    if all(one.path_class.uncommon for one in fit.links):
        found.append("such a width is uncommon: a cable that lost lanes looks like this")
    if all(one.family.transport == "sockets" for one in fit.links):
        found.append("kernel sockets over a faster link would look alike: one stream binds a CPU")
    if plateau is not None and plateau.is_weak and not of_perftest:
        found.append("single messages, or both directions at once, reach less than a stream")
    elif "memory" in fit.transports and (shown is None or not shown.is_flat):
        found.append("two ranks of one host would look alike: the file names no hosts")
    if shown is not None and shown.last_share < FILLED:
        left = rounded_percent(shown.last_share)
        found.append(f"a row of the last size has {left} % of that rate: no plateau of one link")
    if shown is not None and shown.single_share < HALF:
        found.append(f"{rounded_percent(shown.single_share)} % of it {ALONE}")
    if evidence.n_rows < LEAST_ROWS and not of_perftest:
        found.append("one row is no curve")
    return tuple(found)


def _other_interface(evidence: PathEvidence, fit: PathFit) -> Said | None:
    """Verbs over an adapter whose own interface is another: slow, and no fault of a cable."""
    plateau = evidence.plateau
    family = next((one for one in fit.families if one.own_interface), None)
    if evidence.library != "verbs" or family is None or plateau is None or len(fit.families) > 1:
        return None
    fastest = family.classes[0]
    share = plateau.gb_s / fastest.gb_s
    if share >= FILLED:
        return None
    size = format_size(plateau.size_bytes)
    sentence = (
        f"{rounded_percent(share)} % of {gbps(fastest.gb_s)} Gb/s at {size}:"
        f" {family.title} through verbs, which is not its own interface ({family.own_interface})"
    )
    note = f"measure with MPI over {family.own_interface} before you suspect the link"
    return Said(Severity.NOTE, sentence, (note,))


def _over(fit: PathFit) -> str:
    """The transports that are left, in words."""
    transports = set(fit.transports)
    if transports == {"rdma"}:
        return "RDMA"
    if transports == {"rdma", "memory"}:
        return "RDMA" if fit.links else "RDMA or inside one host, no kernel sockets"
    if transports == {"rdma", "sockets"}:
        rdma = [family for family in fit.families if family.transport == "rdma"]
        return f"{rdma[0].title if len(rdma) == 1 else 'RDMA'} or kernel sockets"
    return UNKNOWN_PATH


def _missing(evidence: PathEvidence) -> str:
    if evidence.step_us is not None and evidence.n_nodes is None:
        return "; the usual time depends on nodes and ranks (--nodes N --tasks-per-node T)"
    return "; no row shows the rate of large messages"


def _is_open(evidence: PathEvidence, shown: Plateau, fit: PathFit) -> bool:
    """Whether the rate may be of no link: one row, or a rate that falls, of several transports."""
    is_plateau = evidence.n_rows >= LEAST_ROWS and shown.last_share >= FILLED
    return not is_plateau and len(fit.transports) > 1 and evidence.latency_us is None


def _rates(evidence: PathEvidence, plateau: Plateau, fit: PathFit, *, is_open: bool) -> str:
    """'97 % of 100 Gb/s' where one rate fits, else the rate; of many pairs their messages too."""
    if fit.links and fit.is_one_rate and not is_open:
        link = fit.links[0].gb_s
        rate = f"{rounded_percent(plateau.gb_s / link)} % of {gbps(link)} Gb/s"
    else:
        rate = f"{gbps(plateau.gb_s)} Gb/s"
    if evidence.rate_mps is None:
        return rate
    messages = f"{format_significant(evidence.rate_mps, 3)} million/s"
    small = f"{messages} at {format_size(evidence.rate_bytes)}"
    large = f"{format_significant(plateau.gb_s, 3)} GB/s at {format_size(plateau.size_bytes)}"
    pairs = f"{plateau.n_pairs} pairs" if plateau.n_pairs > 1 else "1 pair"
    return f"{small} and {large} by {pairs}, {rate}"


def _rising(plateau: Plateau) -> str:
    size = format_size(plateau.size_bytes)
    if plateau.size_bytes < LARGE_BYTES:
        return f"the largest row is {size}: too small to show the rate of the link"
    return f"the rate still rises at {size}"


def _several(plateau: Plateau, fit: PathFit) -> tuple[str, ...]:
    """A note where no single link is as fast."""
    if next_faster(fit.families, plateau.gb_s * 1.25) is not None:
        return ()
    return ("faster than one adapter: several together, as EFA nodes have, or inside one host",)


def _unfitting(plateau: Plateau, fit: PathFit) -> str:
    if fit.behind or fit.halves:
        return alternatives(fit, weak=True)
    above = next_faster(fit.families, plateau.gb_s)
    if above is None:
        return "no single link is so fast: several adapters together, or inside one host"
    return f"{rounded_percent(above.share)} % of the next faster link, {titles([above])}"

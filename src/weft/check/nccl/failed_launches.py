"""Launches of nccl-tests that failed, hung or gave wrong results: the node that explains them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.bench.model import State
from weft.bench.nccl.backend import NODE_PASS, PAIR_PASS
from weft.check.facts import NodeFaultFacts, PairFacts
from weft.check.nccl.attribution import Attribution, Culprit, PairEvent, attribution_of
from weft.check.nccl.outcomes import GroupOutcome, of_pass
from weft.check.nccl.thresholds import nccl_thresholds
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell
from weft.core.words import counted, first_few

FAILS, WRONG = "launch_fails", "wrong_results"
MOST_NAMED = 6
NEXT_OF_STAGE = {
    "stopped while NCCL was starting": "nccl-tests of one pair with NCCL_DEBUG=INFO, and 'weft"
    " doctor log' of its output: NCCL_SOCKET_IFNAME or NCCL_IB_HCA may name an interface that does"
    " not join the hosts",
    "printed nothing": "one launch of recipes/ by hand: the launcher may wait for ssh, or for a GPU"
    " that another job holds",
}
NEXT = "the last lines of such a launch in raw/ of the run"


@dataclass(frozen=True, slots=True)
class AloneCount:
    """Of the launches of one node alone: so many, so many that went wrong, and the last reason."""

    n: int
    n_wrong: int
    last: GroupOutcome

    @property
    def always(self) -> bool:
        """Whether each of two or more went wrong."""
        return self.n == self.n_wrong >= 2


def is_wrong(one: GroupOutcome) -> bool:
    """Whether a launch gave figures and wrong results."""
    return bool(one.n_wrong)


def has_failed(one: GroupOutcome) -> bool:
    """Whether a launch failed or hung."""
    return one.state is not State.OK


def alone_counts(outcomes: Sequence[GroupOutcome], fault: str) -> dict[str, AloneCount]:
    """By node that went wrong alone: how often."""
    went_wrong = is_wrong if fault == WRONG else has_failed
    found: dict[str, AloneCount] = {}
    launches = [one for one in of_pass(outcomes, NODE_PASS) if fault == FAILS or one.is_ok]
    n_of = Counter(one.hosts[0] for one in launches)
    n_wrong: Counter[str] = Counter()
    for one in launches:
        if went_wrong(one):
            node = one.hosts[0]
            n_wrong[node] += 1
            found[node] = AloneCount(n_of[node], n_wrong[node], one)
    return found


def in_pairs(
    outcomes: Sequence[GroupOutcome], fault: str, apart: Sequence[str] = ()
) -> tuple[Attribution, list[GroupOutcome]]:
    """The nodes that explain wrong launches of pairs, without those of nodes set `apart`; and the
    launches themselves."""
    went_wrong = is_wrong if fault == WRONG else has_failed
    launches = [
        one
        for one in of_pass(outcomes, PAIR_PASS)
        if (fault == FAILS or one.is_ok) and not set(apart) & set(one.hosts)
    ]
    pairs = [one for one in launches if len(one.hosts) == 2]
    events = [PairEvent((one.hosts[0], one.hosts[1]), went_wrong(one), one.ends) for one in pairs]
    return attribution_of(events), [one for one in pairs if went_wrong(one)]


def findings(outcomes: Sequence[GroupOutcome], tool: str) -> Iterator[Finding]:
    """A finding for each node that fails, hangs or gives wrong results; for pairs where no node
    explains them; one without a verdict where most launches fail."""
    yield from _of_wrong(outcomes)
    alone = alone_counts(outcomes, FAILS)
    n_nodes = len({one.hosts[0] for one in of_pass(outcomes, NODE_PASS)})
    dead = {node: count for node, count in alone.items() if count.always}
    missing = {node: count for node, count in dead.items() if count.last.is_missing}
    if n_nodes and _are_common(len(dead), n_nodes):
        yield _common([one.last for one in dead.values()], f"{len(dead)} of {n_nodes} nodes", tool)
        return
    for node, count in dead.items():
        yield _missing(node, count.last, tool) if node in missing else _fails_alone(node, count)
    for node, count in alone.items():
        if not count.always:
            yield _once(node, count)
    found, failed = in_pairs(outcomes, FAILS, apart=[*dead])
    if found.is_common:
        yield _common(failed, f"{found.n_wrong} of {counted(found.n, 'launch', 'launches')}", tool)
        return
    for culprit in found.culprits:
        of = [one for one in failed if set(culprit.hosts) <= set(one.hosts)]
        if all(one.is_missing for one in of):
            yield _missing(of[0].blamed or culprit.hosts[0], of[0], tool)
        else:
            yield _pairs_fail(culprit, of)


def _are_common(n_wrong: int, n_nodes: int) -> bool:
    """Whether so many nodes went wrong alone that their cause is common."""
    return n_wrong > max(1.0, nccl_thresholds().common_share * n_nodes)


def _of_wrong(outcomes: Sequence[GroupOutcome]) -> Iterator[Finding]:
    alone = alone_counts(outcomes, WRONG)
    tested = {one.hosts[0] for one in of_pass(outcomes, NODE_PASS) if one.n_wrong is not None}
    if _are_common(len(alone), len(tested)):
        yield _all_wrong(f"{len(alone)} of {counted(len(tested), 'node')} alone")
        return
    for node, count in alone.items():
        yield Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"Node {node} computes wrong results: {_elements(count.last)} of its own GPUs, alone.",
            evidence=(f"in {count.n_wrong} of {_launches(count.n)} of this node alone",),
            facts=NodeFaultFacts(node, WRONG),
        )
    found, wrong = in_pairs(outcomes, WRONG, apart=[*alone])
    if found.is_common:
        yield _all_wrong(f"{found.n_wrong} of {_launches(found.n)} of pairs")
        return
    right_alone = {one.hosts[0] for one in of_pass(outcomes, NODE_PASS) if one.n_wrong == 0}
    for culprit in found.culprits:
        of = [one for one in wrong if set(culprit.hosts) <= set(one.hosts)]
        yield _pairs_wrong(culprit, of, alone_ok=culprit.hosts[0] in right_alone)


def _all_wrong(who: str) -> Finding:
    return Finding(
        FindingKind.FAILURE,
        Severity.BAD,
        f"Results are wrong on {who}: no node is accused, since the library, its build or a setting"
        " of all does that.",
        next_command="the same test with another version of the library, or without variables",
    )


def _pairs_wrong(culprit: Culprit, of: Sequence[GroupOutcome], *, alone_ok: bool) -> Finding:
    """A wrong result is bad, whoever gave it; a node is accused where that is sure."""
    elements = _elements(max(of, key=lambda one: one.n_wrong or 0))
    if len(culprit.hosts) == 1:
        node = culprit.hosts[0]
        inside = "; alone its results are right: look at its adapter first" if alone_ok else ""
        pairs = tuple((one.hosts[0], one.hosts[1]) for one in of)
        sure = culprit.sure
        return Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"Node {node} gives wrong results with others: up to {elements}."
            if sure
            else f"Launches of node {node} with others gave wrong results: up to {elements}.",
            evidence=(f"{_share(culprit)} with {_partners(culprit)}{inside}",),
            facts=NodeFaultFacts(node, WRONG) if sure else PairFacts(tuple(dict.fromkeys(pairs))),
        )
    a, b = culprit.hosts
    return Finding(
        FindingKind.FAILURE,
        Severity.BAD,
        f"Pair {a} - {b} gave wrong results: {elements}.",
        evidence=(f"{_share(culprit)}; no other launch tells which of the two is at fault",),
        facts=PairFacts(((a, b),)),
    )


def _fails_alone(node: str, count: AloneCount) -> Finding:
    return Finding(
        FindingKind.FAILURE,
        Severity.BAD,
        f"Node {node} fails alone: {count.last.reason}.",
        evidence=(
            f"{count.n_wrong} of {_launches(count.n)} of this node alone; others work",
            "its pairs were not measured",
        ),
        facts=NodeFaultFacts(node, FAILS),
    )


def _missing(node: str, of: GroupOutcome, tool: str) -> Finding:
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"node {node} was not measured: {of.reason}",
            of.remedy or f"{tool} and its libraries at the same path as on the other nodes",
        ),
        facts=PairFacts(()),
    )


def _once(node: str, count: AloneCount) -> Finding:
    return Finding(
        FindingKind.FAILURE,
        Severity.WARNING,
        f"Node {node} failed alone in {count.n_wrong} of {_launches(count.n)}:"
        f" {count.last.reason}.",
        evidence=("a start that fails once may be the launcher's fault: check this node again",),
    )


def _pairs_fail(culprit: Culprit, of: Sequence[GroupOutcome]) -> Finding:
    reason = _most_common(of)
    if len(culprit.hosts) == 1:
        node = culprit.hosts[0]
        verb = "fails" if culprit.sure else "may fail"
        fine = ", each of which works with others" if culprit.sure else ""
        blamed = sum(one.blamed == node for one in of)
        named = (f"{_launches(blamed)} of these name it as the first that failed",)
        return Finding(
            FindingKind.FAILURE,
            Severity.BAD if culprit.sure else Severity.WARNING,
            f"Node {node} {verb} with others: {reason}.",
            evidence=(
                f"{_share(culprit)} with {_partners(culprit)}{fine}",
                *(named if blamed else ()),
            ),
            facts=NodeFaultFacts(node, FAILS),
        )
    a, b = culprit.hosts
    if culprit.passed:
        return Finding(
            FindingKind.FAILURE,
            Severity.NOTE,
            f"Pair {a} - {b} failed and worked when measured again: {reason}.",
            evidence=(_share(culprit),),
        )
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if culprit.sure else Severity.WARNING,
        f"Pair {a} - {b} {'fails' if culprit.sure else 'failed'}: {reason}.",
        evidence=(f"{_share(culprit)}; no other launch tells which of the two is at fault",),
        facts=PairFacts(((a, b),)),
    )


def _common(of: Sequence[GroupOutcome], share: str, tool: str) -> Finding:
    reason, stage = _most_common(of), Counter(one.stage for one in of).most_common(1)[0][0]
    remedy = next((one.remedy for one in of if one.reason == reason), "")
    hosts = list(dict.fromkeys(host for one in of for host in one.hosts))
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"{tool} fails on {share}, so no node is accused: {reason}",
            remedy or NEXT_OF_STAGE.get(stage, NEXT),
        ),
        evidence=(f"such as {first_few(hosts[:MOST_NAMED], len(hosts))}",),
    )


def _most_common(of: Sequence[GroupOutcome]) -> str:
    return Counter(one.reason for one in of).most_common(1)[0][0]


def _share(culprit: Culprit) -> str:
    return f"{culprit.n_wrong} of {_launches(culprit.n)}"


def _partners(culprit: Culprit) -> str:
    names = culprit.partners
    return f"{counted(len(names), 'partner')} ({first_few(names[:MOST_NAMED], len(names))})"


def _launches(n: int) -> str:
    return counted(n, "launch", "launches")


def _elements(one: GroupOutcome) -> str:
    return counted(one.n_wrong or 0, "wrong element")

"""The outcomes of launches of nccl-tests, read back from the samples of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.bench.model import Sample, State
from weft.bench.nccl.outcome import NCCL


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """A launch on `hosts`: see weft.bench.nccl.outcome.NcclOutcome. `of` is the pass that it
    belongs to, `ends` are the endpoints of a pair, () of another group, `round` counts the rounds
    of pairs, `is_skipped`: it was not started, because a host had failed before."""

    of: str
    trial: str
    hosts: tuple[str, ...]
    state: State
    stage: str
    round: int = -1
    busbw_gb_s: Mapping[int, float] = field(default_factory=dict)
    n_wrong: int | None = None
    reason: str = ""
    blamed: str | None = None
    adapter: str | None = None
    version: str = ""
    tool_version: str = ""
    adapters: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    is_missing: bool = False
    is_skipped: bool = False
    remedy: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it gave figures."""
        return self.state is State.OK


def outcomes_of(samples: Iterable[Sample]) -> list[GroupOutcome]:
    """The outcomes in the order of their samples; those of other tools are left out."""
    found: dict[tuple[object, ...], list[Sample]] = {}
    for sample in samples:
        record = sample.evidence.get(NCCL)
        if isinstance(record, Mapping):
            key = (sample.trial, sample.repeat, sample.started_unix_s, *_place(sample, record))
            found.setdefault(key, []).append(sample)
    return [_outcome(of_launch) for of_launch in found.values()]


def of_pass(outcomes: Sequence[GroupOutcome], of: str) -> Iterator[GroupOutcome]:
    """The outcomes of a pass that were started."""
    return (one for one in outcomes if one.of == of and not one.is_skipped)


def _place(sample: Sample, record: Mapping[str, object]) -> tuple[object, ...]:
    hosts, pair = record.get("hosts"), sample.pair
    ends = () if pair is None else (pair.a, pair.b, pair.round)
    listed = tuple(map(str, hosts)) if isinstance(hosts, list) else ()
    return (listed, record.get("adapter"), *ends)


def _outcome(samples: Sequence[Sample]) -> GroupOutcome:
    first = samples[0]
    record = first.evidence[NCCL]
    n_wrong = record.get("n_wrong")
    return GroupOutcome(
        of=str(record.get("pass", "")),
        trial=first.trial,
        hosts=tuple(map(str, record.get("hosts", ()))),
        state=first.state,
        stage=str(record.get("stage", "")),
        round=-1 if first.pair is None else first.pair.round,
        busbw_gb_s={
            one.size_bytes: one.metrics["busbw_gb_s"]
            for one in samples
            if "busbw_gb_s" in one.metrics
        },
        n_wrong=None if n_wrong is None else int(n_wrong),
        reason=first.note or "",
        blamed=record.get("blamed"),
        adapter=record.get("adapter"),
        version=str(record.get("version", "")),
        tool_version=str(record.get("tool_version", "")),
        adapters=tuple(map(str, record.get("adapters", ()))),
        ends=() if first.pair is None else (first.pair.a, first.pair.b),
        is_missing=bool(record.get("missing")),
        is_skipped=bool(record.get("skipped")),
        remedy=str(record.get("remedy", "")),
    )

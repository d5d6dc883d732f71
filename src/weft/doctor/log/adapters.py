"""Adapters that carried channels, and those that did not."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.bench.logs.ranks import SOCKET, JobLog
from weft.core.finding import Finding
from weft.core.words import counted
from weft.doctor.log.network import not_judged, some


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """Adapters of a host as ranks name them, and those among them with a channel."""

    found: tuple[str, ...]
    used: tuple[str, ...]

    @property
    def idle(self) -> tuple[str, ...]:
        """Adapters without a channel."""
        return tuple(name for name in self.found if name not in self.used)

    @property
    def sentence(self) -> str:
        """'2 of 4 adapters carried channels: mlx5_0:1, mlx5_1:1; none over ...'."""
        text = f"{len(self.used)} of {counted(len(self.found), 'adapter')} carried channels"
        text += f": {some(list(self.used))}" if self.used else ""
        return text + (f"; none over {some(list(self.idle))}" if self.idle else "")


def adapter_use(log: JobLog) -> AdapterUse | None:
    """Of the adapters that NCCL or libfabric found; None where none or no channel is named."""
    indices = {
        int(fact.words[1])
        for fact in log.channels()
        if not fact.words[0].startswith(SOCKET) and fact.words[1].isdecimal()
    }
    if not indices:
        return None
    names: dict[int, str] = {}
    for fact in log.facts.of("nic"):
        if fact.words[0] != SOCKET:
            names.setdefault(int(fact.words[1]), fact.words[2])
    for fact in log.facts.of("provider"):
        for index in range(min(int(fact.words[1] or 0), 64)):
            names.setdefault(index, f"{fact.words[0]} {index}")
    if not names:
        return None
    used = tuple(names.get(index, f"network device {index}") for index in sorted(indices))
    found = tuple(dict.fromkeys([*(names[index] for index in sorted(names)), *used]))
    return AdapterUse(found, used)


def judge_adapters(log: JobLog) -> Iterator[Finding]:
    """Adapters without a channel; a note, for a job of few GPUs needs few adapters."""
    use = adapter_use(log)
    if use is not None and use.idle:
        yield not_judged(use.sentence)

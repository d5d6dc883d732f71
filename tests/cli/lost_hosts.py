"""A backend whose hosts die, for checks that go on without them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample, Trial
from weft.cli.backend.choice import BackendChoice
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import BenchmarkError

NODES = tuple(f"n{i:03d}" for i in range(1, 9))
CAUSE, REMEDY = "nothing listens on its ssh port", "start sshd there"
MEETING = "meeting"


class LostHostsBackend(MockBackend):
    """`dying` names the trial in which hosts go, by host; `slow_nodes` as in a mock."""

    def __init__(self, dying: dict[str, str], **script: object) -> None:
        super().__init__(**script)  # type: ignore[arg-type]
        self.dying = dying
        self.lost_hosts: dict[str, SshFailure] = {}

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        super().prepare(trials, run_dir)
        (run_dir / "raw" / "meeting.out").write_text("they met\n")
        self._die(MEETING, trials[0].nodes)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        self._die(launch.trial.id, launch.trial.nodes)
        yield from super().measure(launch)

    def _die(self, trial: str, nodes: Sequence[str]) -> None:
        gone = tuple(n for n, when in self.dying.items() if when == trial or n in self.lost_hosts)
        gone = tuple(host for host in gone if host in nodes)
        self.lost_hosts |= dict.fromkeys(gone, SshFailure(CAUSE, REMEDY))
        if gone:
            where, told = f"host {', '.join(gone)}", f"{gone[0]} does not answer: {CAUSE}"
            raise BenchmarkError(told, where=where, lost=gone)


def use(
    monkeypatch: pytest.MonkeyPatch,
    dying: dict[str, str],
    nodes: Sequence[str] = NODES,
    **script: object,
) -> list[LostHostsBackend]:
    """Let the verb open such a backend, a new one each time, of the hosts that are left."""
    opened: list[LostHostsBackend] = []

    def open_(choice: BackendChoice) -> tuple[LostHostsBackend, tuple[str, ...]]:
        opened.append(LostHostsBackend(dying, **script))
        return opened[-1], tuple(node for node in nodes if node not in choice.without)

    monkeypatch.setattr("weft.cli.backend.opening.open_backend", open_)
    return opened

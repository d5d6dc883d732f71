"""`weft cluster status`: a host with a fault that its answer does not show is never UP."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from tests.comfort.draws import NOT_BAD, each_draw

from weft.cli.cluster.status import verdict_of
from weft.cli.cluster.text import up_text
from weft.cli.fail_on import exit_code_of
from weft.cluster.bringup.model import Cluster, Stage
from weft.cluster.bringup.run import BringupResult, bring_up
from weft.cluster.bringup.stages.account import agree_on_account
from weft.cluster.bringup.stages.limits import check_limits
from weft.cluster.bringup.stages.reach import ask_facts
from weft.cluster.remote import Ssh, SshResult

FAULTS = {
    "memlock": "64",
    "shm_kib": "1024",
    "user": "eve",
    "uid": "4711",
    "home": "/other",
    "system": "FreeBSD",
    "machine": "aarch64",
    "end": "end",
}
"""By key of the host's answer: the value of a fault. The line is taken away."""
STAGES = (
    Stage("reach", ask_facts),
    Stage("account", agree_on_account),
    Stage("limits", check_limits),
)
"""Those that need only the hosts' answers."""


def answer(number: int) -> dict[str, str]:
    """What the probe of a healthy host prints, by its keys."""
    return {
        "system": "Linux",
        "machine": "x86_64",
        "user": "ann",
        "uid": "1000",
        "home": "/home/ann",
        "os": "Rocky Linux 9.4",
        "os_id": "rocky rhel",
        "libc": "glibc 2.34",
        "clock": f"{time.time():.3f}",
        "memlock": "unlimited",
        "shm_kib": str(64 << 20),
        "cpus": "64",
        "cores": "32",
        "ssh": f"10.0.0.99 4242 10.0.0.{number} 22",
        "boot": f"boot-{number}",
        "address:eth0": f"10.0.0.{number}/16",
        "link:eth0": "1 up",
        "port:mlx5_0:1": "InfiniBand 4: ACTIVE",
        "end": "end",
    }


@dataclass(frozen=True, slots=True)
class SavedAnswers(Ssh):
    """Hosts that answer what was saved."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def run(self, host: str, *_: Any, **__: Any) -> SshResult:
        """The saved text of a host."""
        return SshResult(0, self.texts[host], "")


def status(texts: Mapping[str, str]) -> tuple[Cluster, BringupResult]:
    cluster = Cluster("x", Path("/nowhere"), SavedAnswers(texts=texts), tuple(texts), mend=False)
    return cluster, bring_up(cluster, STAGES, lambda *_: None)


def code_of(went: BringupResult) -> int:
    with click.Context(click.Command("x")):
        return exit_code_of(verdict_of(went))


def text_of(lines: Mapping[str, str], draw: random.Random, notes: Sequence[str] = ()) -> str:
    """Lines in any order but for the end, with what login scripts print between them."""
    shown = [f"{key}\t{value}" for key, value in lines.items() if key != "end"]
    shown += [note for note in notes if draw.random() < 0.5]
    draw.shuffle(shown)
    return "\n".join([*shown, *(["end\tend"] if "end" in lines else [])])


@each_draw
def test_a_fault_without_its_line_is_never_up(seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        answers = {f"n{number}": answer(number) for number in range(draw.randint(2, 5))}
        ill = answers[draw.choice(list(answers))]
        fault = draw.choice(list(FAULTS))
        ill[fault] = FAULTS[fault]
        del ill[fault]
        cluster, went = status({host: text_of(of, draw) for host, of in answers.items()})
        assert code_of(went) in (1, 5), (seed, fault)
        assert not up_text(cluster, went).startswith("UP"), (seed, fault)


@each_draw
def test_healthy_hosts_are_never_bad(seeds: range) -> None:
    notes = ("Last login: Mon", "motd\twelcome", "module\tloaded", "\x1b[1mbold", "")
    for seed in seeds:
        draw = random.Random(seed)
        answers = {f"n{number}": answer(number) for number in range(draw.randint(1, 5))}
        for lines in answers.values():
            for key in draw.sample(("os", "os_id", "boot", "cores", "link:eth0"), 2):
                del lines[key]
        texts = {host: text_of(of, draw, notes) for host, of in answers.items()}
        cluster, went = status(texts)
        assert code_of(went) in NOT_BAD, seed
        assert up_text(cluster, went).startswith("UP"), seed

"""One harmless call of every verb, taken from the tree of commands so that a new one is missed."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
from tests.process_calls import call
from tests.unit.audit.channels.job_logs import DrawnJob
from tests.unit.cluster.cloud.conftest import ED25519
from tests.unit.trace.trace_files import ring, write

from weft.cli import weft

ROOT = Path(__file__).resolve().parents[2]
RESULT = str(ROOT / "tests/fixtures/field/c01-flux-hpcx-hdr.txt")
TRAINING_LOG = str(ROOT / "tests/fixtures/training/nemo1.log")
LOG = str(ROOT / "tests/fixtures/field_logs/11-awsofi-24-horovod.log")
TENANTS = str(ROOT / "docs/samples/tenants.toml")
FABRIC = str(ROOT / "docs/samples/unplugged-cable.out")
TWIN = ("--twin", "fat-tree", "--nodes", "4")

COUNTERS = {"EARLIER.out": 0, "LATER.out": 1_000_000_000}
"""Two readings of a port's counters: it sent and waited for a third of a second each."""
ENVIRONMENTS = {"GOOD.env": "UCX_TLS=sm\n", "BAD.env": "UCX_TLS=tcp\n"}

CALLS: dict[str, tuple[str, ...]] = {
    "check": (*TWIN, "--dry-run"),
    "bench": ("latency", *TWIN, "--dry-run"),
    "bench rdma-pairs": ("a.invalid", "b.invalid"),
    "study block": ("RUN",),
    "study list": (),
    "study factors": ("sharp",),
    # On hosts: how long a twin takes is another figure each time.
    "study plan": ("smoke", "--hosts", "n[1-2]"),
    "study run": ("smoke", *TWIN, "--dry-run"),
    "study show": ("smoke",),
    "study status": ("SUBMITTED",),
    "study submit": ("smoke", "--dir", "NEW", "--dry-run"),
    "bisect": ("GOOD.env", "BAD.env", "--dry-run", "--", "true"),
    "compare": ("RUN", "RUN"),
    "history": ("RUN",),
    "report": ("RUN", "-o", "NEW.html"),
    "export": ("RUN", "--to", "csv"),
    "judge": (RESULT,),
    "import": (RESULT, "-o", "NEW"),
    "record": ("--dir", "NEW", "--", "true"),
    "replay": ("TRACE", *TWIN, "--dry-run"),
    "train read": (TRAINING_LOG,),
    "train compare": (TRAINING_LOG, TRAINING_LOG),
    "expect": ("generic-hdr", "allreduce"),
    "train expect": ("azure-ndv5", "--model", "llama-3-8b", "--gpus", "8", "--tp", "2"),
    "train plan": ("azure-ndv5", "--model", "llama-3-8b", "--gpus", "8", "--global-batch", "16"),
    "fabric show": (FABRIC,),
    "fabric trace": ("c104-001", "c104-002", FABRIC, "--engine", "minhop"),
    "fabric audit": (FABRIC,),
    "fabric congestion": (FABRIC, "LATER.out", "--before", "EARLIER.out", "--seconds", "1"),
    "fabric channels": (FABRIC, "--engine", "minhop", "--log", "JOB.log"),
    "fabric what-if": (FABRIC, "--without", "spine01"),
    "fabric route": (FABRIC,),
    "fabric export": (FABRIC, "--to", "slurm"),
    "fabric generate": ("fat-tree", "--nodes", "4"),
    "cluster up": ("--local", "2", "--dry-run"),
    "cluster status": (),
    "cluster template": (
        "azure",
        "--sku",
        "HB176rs_v4",
        "--nodes",
        "2",
        "--dir",
        "NEW",
        "--ssh-key",
        "KEY.pub",
    ),
    "cluster down": ("no-such-cluster",),
    "recipe": ("azure-ndv5",),
    "recipe isolation": ("--tenants", TENANTS, "--fabric", FABRIC, "--twin", "frontera"),
    "doctor log": (LOG,),
    "doctor env": (RESULT,),
    "doctor topo": (RESULT,),
    "doctor container": ("IMAGE",),
    "doctor nccl-plan": (RESULT, "--platform", "azure-ndv5"),
    "platform detect": (),
    "platform fit": (RESULT, "-o", "NEW.toml"),
    "platform list": (),
    "platform show": ("generic-hdr",),
}
"""The words behind each verb. RUN is a finished run, SUBMITTED a study in Slurm's hands, KEY.pub a
key of ssh, IMAGE a small root file system, TRACE a recorded program, JOB.log a log of NCCL, NEW a
path where nothing is yet."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb of the command line with the words that call it."""
    yield from _below("", weft)


def _below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from _below(f"{path} {name}".strip(), inner)
        return
    yield path, command
    for name in getattr(command, "verbs", ()):
        yield f"{path} {name}", command.verb(name)  # type: ignore[attr-defined]


def argv_of(name: str, folder: Path) -> list[str]:
    """The call of a verb, its run and its new paths in a folder."""
    words = ("RUN", "SUBMITTED", "KEY.pub", "IMAGE", "TRACE", "NEW", "NEW.html", "NEW.toml")
    words += (*COUNTERS, *ENVIRONMENTS, "JOB.log")
    paths = {word: str(folder / word) for word in words}
    return [*name.split(), *(paths.get(word, word) for word in CALLS[name])]


def make_folder(folder: Path) -> None:
    """Put a finished run, a submitted study, an image and a key into a folder."""
    made = call(["bench", "latency", *TWIN, "--repeats", "2", "--dir", str(folder / "RUN")])
    assert made.code == 0, made.err
    sbatch = folder / "tools/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text("#!/bin/sh\necho 11\n")
    sbatch.chmod(0o755)
    path = f"{sbatch.parent}:{os.environ['PATH']}"
    made = call(
        ["study", "submit", "smoke", "--dir", str(folder / "SUBMITTED")],
        before=lambda: os.environ.update(PATH=path),
    )
    assert made.code == 0, made.err
    shell = folder / "IMAGE/bin/sh"
    shell.parent.mkdir(parents=True)
    shutil.copyfile("/bin/sh", shell)
    (folder / "KEY.pub").write_text(ED25519 + "\n")
    write(folder / "TRACE", [ring(rank, 2, 1000, 1) * 7 for rank in range(2)])
    job = DrawnJob(["c104-001", "c104-002", "c101-001"], 2, [(0, 0)] * 2, ["mlx5_0:1"])
    (folder / "JOB.log").write_text(job.text())
    for name, text in ENVIRONMENTS.items():
        (folder / name).write_text(text)
    for name, n in COUNTERS.items():
        lines = ("# Port counters: Lid 20 port 1", f"PortXmitData:{n}", f"PortXmitWait:{n}")
        (folder / name).write_text("\n".join(lines) + "\n")

"""The job arrays of a submitted study, and the options of their jobs and launches."""

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from weft.bench.model import Launch
from weft.cluster.slurm.leaf_spread import spread, usable_leaves
from weft.cluster.slurm.sbatch import Batch, submit
from weft.core.errors import InputError, MissingError
from weft.core.files import storage_error, write_new
from weft.study.submission.block_states import SLURM_FOLDER, SubmittedJob


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Options of jobs and launches; run.toml keeps them, so that --resume uses the same.

    `switches` and `leaves`: at most, or exactly, so many leaf switches a block. `sbatch` are words
    for sbatch as they stand.
    """

    partition: str | None = None
    account: str | None = None
    time: str | None = None
    switches: str | None = None
    leaves: int | None = None
    exclusive: bool = True
    at_once: int = 1
    sbatch: tuple[str, ...] = ()
    mpi: str | None = None
    rails: str | None = None
    launcher: str | None = None

    @property
    def sbatch_options(self) -> tuple[str, ...]:
        """Options for sbatch, in addition to those that every block needs."""
        named = {
            "partition": self.partition,
            "account": self.account,
            "time": self.time,
            "switches": self.switches,
        }
        words = (f"--{key}={value}" for key, value in named.items() if value is not None)
        return (*words, *self.sbatch)

    def to_meta(self) -> dict[str, Any]:
        """For run.toml. Jobs run elsewhere: a path is kept from the root on."""
        is_path = self.mpi is not None and os.sep in self.mpi
        return asdict(self) | {"mpi": str(Path(str(self.mpi)).absolute()) if is_path else self.mpi}

    @staticmethod
    def of_meta(meta: Mapping[str, Any]) -> "SubmitOptions":
        """The options that `to_meta` kept."""
        known = {name: meta[name] for name in SubmitOptions.__dataclass_fields__ if name in meta}
        return SubmitOptions(**(known | {"sbatch": tuple(meta.get("sbatch", ()))}))


@dataclass(frozen=True, slots=True)
class Submission:
    """Blocks of a run to submit: `launches` are those of the whole run; each block runs `command`;
    `seed` draws the nodes if a number of leaf switches is given."""

    name: str
    launches: tuple[Launch, ...]
    blocks: tuple[int, ...]
    options: SubmitOptions
    command: tuple[str, ...]
    seed: int

    def batches(self) -> tuple[Batch, ...]:
        """The arrays: one a node count, and one a node list where nodes are drawn. Raises
        InputError, MissingError."""
        n_nodes = {one.block: len(one.trial.nodes) for one in self.launches}
        drawn = self._drawn(n_nodes)
        groups: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        for block in self.blocks:
            groups.setdefault((n_nodes[block], drawn.get(block, ())), []).append(block)
        return tuple(
            Batch(
                name=f"weft-{self.name}",
                n_nodes=n,
                tasks_per_node=max(
                    one.trial.tasks_per_node for one in self.launches if one.block in blocks
                ),
                tasks=tuple(blocks),
                command=self.command,
                at_once=self.options.at_once,
                exclusive=self.options.exclusive,
                nodes=nodes,
                options=self.options.sbatch_options,
            )
            for (n, nodes), blocks in groups.items()
        )

    def _drawn(self, n_nodes: Mapping[int, int]) -> dict[int, tuple[str, ...]]:
        """The nodes of each block that must span a given number of leaves."""
        if self.options.leaves is None or not self.blocks:
            return {}
        leaves = usable_leaves(self.options.partition)
        drawn: dict[int, tuple[str, ...]] = {}
        for count in sorted({n_nodes[block] for block in self.blocks}):
            chosen = [block for block in self.blocks if n_nodes[block] == count]
            sets = spread(leaves, count, self.options.leaves, len(chosen), seed=self.seed)
            drawn |= dict(zip(chosen, sets, strict=True))
        return drawn


def submit_all(
    run_dir: Path, batches: Sequence[Batch], earlier_jobs: tuple[str, ...] = ()
) -> tuple[list[SubmittedJob], InputError | MissingError | None]:
    """Submit the arrays so that at most `at_once` blocks run together: an array waits for the
    arrays, and for the `earlier_jobs`, whose places it takes.

    Returns the submitted jobs, and the error if sbatch refused a later array or did not answer.
    Raises InputError if it refused the first, MissingError if there is no sbatch.
    """
    jobs: list[SubmittedJob] = []
    at_once = batches[0].at_once if batches else 1
    places: deque[tuple[str, ...]] = deque([earlier_jobs] * at_once)
    for batch in batches:
        taken = [places.popleft() for _ in range(min(at_once, len(batch.tasks)))]
        after = tuple(dict.fromkeys(job for taken_jobs in taken for job in taken_jobs))
        whole = replace(batch, after=after)
        try:
            script = _new_script(run_dir.absolute() / SLURM_FOLDER, whole.script)
            job = submit(script, run_dir, whole.directives)
        except (InputError, MissingError) as refused:
            # One that did not answer may have taken it.
            if isinstance(refused, InputError):
                script.unlink()
            if not jobs:
                raise
            return jobs, refused
        places.extend([(job,)] * len(taken))
        submitted = SubmittedJob(job, batch.tasks, batch.nodes, script.name, round(time.time(), 3))
        jobs.append(submitted)
        try:
            submitted.write(run_dir)
        except MissingError as unkept:
            return jobs, MissingError(
                f"job {job} is submitted, but {unkept.what}",
                where=unkept.where,
                expected=unkept.expected,
                hint=f"'scancel {job}' before --resume, which does not know of it",
            )
    return jobs, None


def _new_script(folder: Path, text: str) -> Path:
    number = 0
    while True:
        path = folder / f"{number:03d}.sh"
        try:
            write_new(path, text)
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise storage_error("the script of a job", path, error) from error
        return path

"""Is `weft check` right? Faults planted in twins at random, measured with noise, and named or not.

    check.py [--cases N] [--healthy N] [--seed S] [--twin T]... [--only KIND,KIND] [--keep FILE]

Prints tables as Markdown, what was missed beneath them; progress goes to stderr. With `--keep` each
result is a line of FILE, and the same command goes on where it was interrupted, unless the program
has changed. Exit 1 where a gate does not hold.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import active_children, get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.check_answer import Result, run_case
from benches.check_case import draw_case, healthy_case
from benches.check_figures import figures
from benches.check_ground import ROUTINGS, Ground
from benches.check_kinds import KINDS
from benches.check_record import Record, kept, record_of
from benches.check_table import gates, tables

from weft.core.errors import WeftError

PROCESSES = 2


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """One case to run."""

    twin: str
    routing: str
    healthy: bool
    number: int
    seed: int
    only: str | None = None
    schedule: str | None = None


def jobs(
    turns: Sequence[tuple[str, str]],
    *,
    cases: int,
    healthy: int,
    seed: int,
    only: str | None = None,
    schedule: str | None = None,
) -> list[Job]:
    """Cases in turn in the settings (twin and routing), one setting after the other."""
    found = [
        Job(
            *turns[number % len(turns)],
            healthy=is_healthy,
            number=number,
            seed=seed,
            only=None if is_healthy else only,
            schedule=schedule,
        )
        for is_healthy, n in ((False, cases), (True, healthy))
        for number in range(n)
    ]
    return sorted(found, key=lambda job: turns.index((job.twin, job.routing)))


@lru_cache(maxsize=1)
def _ground(twin: str, routing: str, schedule: str | None) -> Ground:
    return Ground(twin, routing, schedule)


def run_job(job: Job) -> Record:
    """The result of one job; a case that cannot be measured or judged is one, too."""
    ground = _ground(job.twin, job.routing, job.schedule)
    where = {"number": job.number, "twin": job.twin, "routing": job.routing, "seed": job.seed}
    if job.healthy:
        case = healthy_case(**where)
    else:
        case = draw_case(ground.document, **where, only=job.only)
    try:
        result: Result | str = run_case(ground, case)
    except WeftError as error:
        result = error.describe()
    return record_of(case, result, seed=job.seed, only=job.only, schedule=job.schedule)


def run_jobs(todo: Sequence[Job], processes: int) -> Iterator[Record]:
    """Records as they are done, so many at a time; what is left is dropped on an interrupt."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting: list[Future[Record]] = [pool.submit(run_job, job) for job in todo]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            raise


def _job_of(record: Record) -> Job:
    where = (record.twin, record.routing, record.healthy, record.number, record.seed)
    return Job(*where, record.only, record.schedule)


def settings(twins: Sequence[str], routings: Sequence[str]) -> list[tuple[str, str]]:
    """Twins with their routings in turn; a large one once where others are several times."""
    board, known = figures()["board"], figures()["twins"]
    every = [
        (twin, routing)
        for twin in twins
        for routing in known[twin].get("routing", ROUTINGS)
        if routing in routings
    ]
    small = [setting for setting in every if setting[0] not in board["large"]]
    large = [setting for setting in every if setting[0] in board["large"]]
    if not small:
        return large
    turns = board["every"]
    return [one for turn in range(turns) for one in (*small, *large[turn::turns])]


def _kinds(text: str) -> str:
    for kind in text.split(","):
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"no kind '{kind}'; the kinds: {', '.join(KINDS)}")
    return text


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    twins = list(figures()["twins"])
    parser.add_argument("--cases", type=int, default=1500, metavar="N")
    parser.add_argument("--healthy", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--twin", action="append", choices=twins)
    parser.add_argument("--routing", action="append", choices=ROUTINGS)
    parser.add_argument("--only", metavar="KINDS", type=_kinds, help="plant these only: a,b")
    parser.add_argument("--schedule", help="as of weft check; auto: what a minute bears")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep results; go on with them")
    parser.add_argument("--processes", type=int, default=min(PROCESSES, os.cpu_count() or 1))
    return parser.parse_args()


def main() -> int:
    """Run what is not kept, print the tables; 1 where a gate does not hold, 130 if interrupted."""
    chosen = _arguments()
    wanted = jobs(
        settings(chosen.twin or list(figures()["twins"]), chosen.routing or ROUTINGS),
        cases=chosen.cases,
        healthy=chosen.healthy,
        seed=chosen.seed,
        only=chosen.only,
        schedule=chosen.schedule,
    )
    known = {_job_of(record): record for record in kept(chosen.keep)}
    records = [known[job] for job in wanted if job in known]
    todo = [job for job in wanted if job not in known]
    interrupted = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for record in run_jobs(todo, chosen.processes):
            records.append(record)
            record.keep(chosen.keep)
            print(f"{len(records)}/{len(wanted)}  {record.words}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        interrupted = True
    print(tables(records, of=len(wanted)))
    if interrupted:
        return 130
    return 0 if all(gate.held for gate in gates(records)) else 1


if __name__ == "__main__":
    sys.exit(main())

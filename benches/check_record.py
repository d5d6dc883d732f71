"""The result of a case as a line of JSON, for tables and for going on later."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benches.check_answer import Result
from benches.check_case import Case
from benches.check_score import FaultRecord


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of one case. `failure`: the reason why it has no result."""

    twin: str
    routing: str
    healthy: bool
    number: int
    seed: int
    only: str | None
    schedule: str | None
    sigma: float
    faults: tuple[FaultRecord, ...]
    wrong: tuple[str, ...]
    notes: tuple[str, ...]
    analysis_s: float
    fabric_s: float
    seconds: float
    failure: str | None = None
    exit_code: int | None = None
    doubted: tuple[str, ...] = ()

    @property
    def setting(self) -> tuple[str, str]:
        """Twin and routing."""
        return (self.twin, self.routing)

    @property
    def missed(self) -> tuple[FaultRecord, ...]:
        """Faults that show and were not named."""
        return tuple(one for one in self.faults if one.identifiable and not one.named)

    @property
    def words(self) -> str:
        """One line of progress."""
        said = [self.twin, self.routing, "healthy" if self.healthy else "case", str(self.number)]
        if self.failure is not None:
            return " ".join([*said, "FAILED:", self.failure.splitlines()[0]])
        said += [f"{len(self.faults)} planted"] if self.faults else []
        said += [f"MISSED {one.text} ({one.errors:.1f} s.e.)" for one in self.missed]
        said += [f"WRONG {accused}" for accused in self.wrong]
        return " ".join([*said, f"{self.seconds:.1f} s"])

    def keep(self, path: Path | None) -> None:
        """Add the record to a file."""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(self), "code": code()}) + "\n")


def record_of(
    case: Case,
    result: Result | str,
    *,
    seed: int,
    only: str | None = None,
    schedule: str | None = None,
) -> Record:
    """The record of a result, or of the reason why there is none."""
    where = (case.twin, case.routing, not case.planted, case.number, seed, only, schedule)
    where = (*where, case.noise.sigma)
    if isinstance(result, str):
        return Record(*where, (), (), (), 0.0, 0.0, 0.0, failure=result)
    score, answer = result.score, result.answer
    took = (
        answer.analysis_s,
        answer.fabric_s,
        result.seconds,
        None,
        answer.exit_code,
        score.doubted,
    )
    return Record(*where, score.outcomes, score.wrong, answer.notes, *took)


ROOT = Path(__file__).resolve().parent.parent


@cache
def code() -> str:
    """A digest of the program and of the scoreboard: results of other code are not kept."""
    digest = hashlib.sha256()
    sources = [*(ROOT / "src" / "weft").rglob("*"), *Path(__file__).parent.glob("check*")]
    for path in sorted(path for path in sources if path.suffix in (".py", ".toml", ".so")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kept(path: Path | None) -> Iterable[Record]:
    """The records of a file that this code made; none of a line cut short."""
    if path is None or not path.exists():
        return
    for line in path.read_text("utf-8").splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if values.pop("code", None) != code():
            continue
        faults = tuple(FaultRecord(**one) for one in values.pop("faults"))
        lists = {name: tuple(values.pop(name)) for name in ("wrong", "notes", "doubted")}
        yield Record(**values, faults=faults, **lists)

"""What MPI libraries and what is under them say, one aspect a line."""

from collections.abc import Iterator

from weft.bench.logs.ranks import JobLog
from weft.core.words import counted
from weft.doctor.log.aspect import Aspect, counts_of, rows_of
from weft.doctor.log.mpi import sharp_groups, sharp_trees
from weft.doctor.log.network import share, some


def aspects_of_mpi(log: JobLog) -> Iterator[Aspect]:
    """Components, lanes, fabrics, adapters and SHARP."""
    yield from _components(log)
    yield from _lanes(log)
    yield from counts_of("fabric", log, log.values("fabric"))
    adapters = list(log.values("adapter"))
    if adapters:
        yield Aspect("adapters", some(adapters), adapters)
    yield from _sharp(log)


def _components(log: JobLog) -> Iterator[Aspect]:
    facts = log.facts.of("component")
    if facts:
        rows = rows_of(log, facts, "framework", "component", "state")
        yield Aspect("components", some([" ".join(fact.words) for fact in facts]), rows)


def _lanes(log: JobLog) -> Iterator[Aspect]:
    facts = log.facts.of("lanes")
    if facts:
        parts = [
            f"{fact.words[0]} {fact.words[1]}".strip() + f" ({share(log, log.by(fact))})"
            for fact in facts
        ]
        yield Aspect("UCX lanes", some(parts), rows_of(log, facts, "between", "lanes"))


def _sharp(log: JobLog) -> Iterator[Aspect]:
    """Triggered is a communicator of several members in a tree; a tree by itself is an offer."""
    groups = sharp_groups(log)
    trees = [fact.words[0] for fact in log.facts.of("sharp_tree")]
    errors = [fact.words[1] for fact in log.facts.of("sharp_error")]
    if not (groups or trees or errors):
        return
    made = sharp_trees(log)
    text = f"triggered: {some(made)}" if made else "not triggered"
    text += f"; trees {some(trees)}" if trees else ""
    text += f"; {counted(len(errors), 'error')}" if errors else ""
    yield Aspect(
        "SHARP",
        f"{text} (unverified)",
        {
            "is_triggered": bool(made),
            "groups": [{"tree": f.words[0], "n_members": int(f.words[1])} for f in groups],
            "trees": trees,
            "errors": errors,
        },
    )

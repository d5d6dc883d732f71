"""A launch as one line of plan.jsonl, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from weft.bench.model import Launch, Trial
from weft.core.errors import InputError


def launch_to_record(launch: Launch) -> dict[str, Any]:
    """The launch, with its whole trial, as plain JSON values."""
    place = {"order": launch.order, "block": launch.block, "repeat": launch.repeat}
    trial = asdict(launch.trial)
    lists = {name: list(trial[name]) for name in ("sizes_bytes", "nodes")}
    if not trial["condition"]:
        del trial["condition"]
    return {"record": "launch", **place, "trial": trial.pop("id"), **trial, **lists}


KnownTrials = dict[str, tuple[Mapping[str, Any], Trial]]
"""By id, a trial and the part of its record that all of its launches share."""

_OF_LAUNCH = frozenset(("order", "block", "repeat"))


def launch_from_record(record: Mapping[str, Any], where: str, known: KnownTrials) -> Launch:
    """The launch of a record. Unknown keys are ignored (a newer writer). Launches share their
    trial, which `known` remembers. Raises InputError."""
    try:
        shared = {key: value for key, value in record.items() if key not in _OF_LAUNCH}
        raw, trial = known.get(str(record["trial"]), ({}, None))
        if trial is None or raw != shared:
            trial = _trial(record)
            known[trial.id] = (shared, trial)
        return Launch(
            trial=trial,
            repeat=int(record["repeat"]),
            order=int(record["order"]),
            block=int(record["block"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"not a launch record ({type(error).__name__}: {error})",
            where=where,
            expected="a plan written by weft",
        ) from error


def _trial(record: Mapping[str, Any]) -> Trial:
    return Trial(
        id=str(record["trial"]),
        benchmark=str(record["benchmark"]),
        sizes_bytes=tuple(int(size) for size in record["sizes_bytes"]),
        nodes=tuple(str(node) for node in record["nodes"]),
        tasks_per_node=int(record["tasks_per_node"]),
        arm=dict(record["arm"]),
        env=dict(record["env"]),
        options=dict(record["options"]),
        node_set=int(record["node_set"]),
        timeout_s=float(record["timeout_s"]),
        condition=dict(record.get("condition", {})),
    )

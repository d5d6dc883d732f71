"""The record of a bisect in run.toml: its question, so that --resume goes on with the same one, and
a study of two arms, which `weft compare` and `weft report` read."""

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any

import tomli_w

from weft.bench.result_scale import COMMAND_BACKEND
from weft.core.errors import InputError
from weft.core.shell_line import shell_line
from weft.launch.secret_text import mask_words
from weft.study.bisect.launches import BENCHMARK, END_NAMES, CommandUnderTest
from weft.study.bisect.variables import Differences
from weft.study.run.metadata import run_meta

BISECT = "bisect"
"""The key of the question in run.toml."""


class _Command:
    """The command as the backend of its run."""

    def __init__(self, argv: list[str]) -> None:
        self.name = COMMAND_BACKEND
        self._argv = argv

    def facts(self) -> Mapping[str, Any]:
        return {"argv": self._argv}


def bisect_meta(test: CommandUnderTest, between: Differences, seed: int) -> dict[str, Any]:
    """The content of run.toml; secrets are masked."""
    argv = mask_words(test.argv)
    meta = run_meta(
        study_text=tomli_w.dumps(_study(argv)),
        seed=seed,
        backend=_Command(argv),
        nodes=(test.host,),
        argv=sys.argv[1:],
    )
    return {**meta, BISECT: _question(test, between)}


def refuse_other_question(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    """Raise InputError where a run would go on with other variables, figures or words."""
    was, is_ = before.get(BISECT), now[BISECT]
    if not isinstance(was, Mapping):
        raise InputError("not a run of weft bisect", where=where, expected="a run that it began")
    for key, value in is_.items():
        if was.get(key) != value:
            raise InputError(
                f"this bisect was started differently: {key}",
                where=where,
                expected="the environments, the command and the options that it was started with",
                hint="resume with the same ones, or start a new run with another --dir",
            )


def _question(test: CommandUnderTest, between: Differences) -> dict[str, Any]:
    choice = test.choice
    return {
        "command": mask_words(test.argv),
        "figure": {
            "metric": choice.metric,
            "printed": choice.printed,
            "take": choice.take,
            "higher_is_better": choice.higher,
            **({} if choice.size_bytes is None else {"size_bytes": choice.size_bytes}),
        },
        "not_compared": dict(between.left_out),
        "variables_alike_sha256": _sha256(between.alike),
        "variables": [
            {key: value for key, value in one.to_record().items() if value is not None}
            for one in between.variables
        ],
    }


def _sha256(values: Mapping[str, str]) -> str:
    """A launch has these, too: a run that goes on must find them as they were."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _study(argv: list[str]) -> dict[str, Any]:
    return {
        "schema": "weft.study/1",
        "name": "bisect",
        "title": f"bisect of {shell_line(argv)}",
        "question": "Which variable of two environments makes the command slow?",
        "nodes": [1],
        "benchmarks": [{"name": BENCHMARK}],
        "factors": [{"name": "environment", "settings": [{"name": one} for one in END_NAMES]}],
    }

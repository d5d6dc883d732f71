"""The record of a bisect in run.toml: its question, so that --resume goes on with the same one."""

import sys
from typing import Any

import tomli_w

from weft.launch.secret_text import mask_words
from weft.study.bisect.launches import CommandUnderTest
from weft.study.bisect.variables import Differences
from weft.study.run.metadata import run_meta

SCHEMA = "weft.bisect/1"


def bisect_meta(test: CommandUnderTest, between: Differences, seed: int) -> dict[str, Any]:
    """The content of run.toml; secrets are masked. Its `study` is the question as TOML."""
    choice = test.choice
    question = {
        "schema": SCHEMA,
        "name": "bisect",
        "argv": mask_words(test.argv),
        "figure": {
            "metric": choice.metric,
            "size_bytes": -1 if choice.size_bytes is None else choice.size_bytes,
            "printed": choice.printed,
            "take": choice.take,
            "higher_is_better": choice.higher,
        },
        "not_compared": dict(between.left_out),
        "variables": [
            {key: value for key, value in one.to_record().items() if value is not None}
            for one in between.variables
        ],
    }
    return run_meta(
        study_text=tomli_w.dumps(question),
        seed=seed,
        backend=test,
        nodes=(test.host,),
        argv=sys.argv[1:],
    )

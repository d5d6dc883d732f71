"""`weft.check_run`: a finished check judged from its run directory."""

import os
from pathlib import Path

from weft.check.external_evidence import platform_choice
from weft.check.pipeline import judge_run, read_check
from weft.check.verdict.verdict import Verdict


def check_run(run: str | os.PathLike[str], *, platform: str | None = None) -> Verdict:
    """Is this fabric healthy, and if not, which node, link or switch? Measures nothing.

    `run` is a directory in which `weft check` measured; `platform` replaces the machine that the
    check is compared with: a name of the catalogue, a .toml file, or 'here'. The first finding is
    the worst. Raises InputError where the run measured no pair, or is damaged.
    """
    machine = None if platform is None else platform_choice.named(platform)
    return judge_run(read_check(Path(run)), machine=machine)

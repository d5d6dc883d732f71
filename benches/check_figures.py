"""The figures of check.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def figures() -> dict[str, Any]:
    """Twins, noise, kinds."""
    return tomllib.loads((Path(__file__).parent / "check.toml").read_text("utf-8"))

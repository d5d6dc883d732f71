"""A study document: TOML text to a Study; errors name the place of each mistake."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.catalog.document import parse_document
from weft.catalog.load import study_text
from weft.study.plan.model import Study
from weft.study.run.store import read_meta


def load_study(name_or_path: str, changes: Mapping[str, Any] | None = None) -> tuple[Study, str]:
    """The study of the catalogue, a file or a run directory, and its text. `changes` replace values
    of the study, except those that are None. Raises InputError."""
    run_dir = Path(name_or_path)
    if (run_dir / "run.toml").is_file():
        where, text = str(run_dir / "run.toml"), str(read_meta(run_dir).get("study", ""))
    else:
        where, text = study_text(name_or_path)
    known = {key: value for key, value in (changes or {}).items() if value is not None}
    return parse_study(text, where).model_copy(update=known), text


def parse_study(text: str, where: str) -> Study:
    """The study of a TOML text; `where` names the file in errors. Raises InputError."""
    return parse_document(Study, text, where, "study")

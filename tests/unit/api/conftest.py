"""Studies run on the mock, as those of tests/unit/study."""

from tests.unit.study.conftest import run_study  # noqa: F401

"""Markdown: each fenced block is a job of its own; what is not read leaves no verdict."""

import pytest

from weft.cli.doctor.env_linter import Linter
from weft.cli.doctor.env_report import EnvReport
from weft.core.finding import Severity
from weft.doctor.edits import fixed
from weft.doctor.job import JobKind
from weft.doctor.readers.file import read_job

LINTER = Linter(None, None, None, None, None, check_files=False)


def report(text: str) -> EnvReport:
    return EnvReport.of(LINTER.case_of(read_job("README.md", text)))


def fenced(language: str, text: str, fence: str = "```") -> str:
    return f"# Run\n\n{fence}{language}\n{text}\n{fence}\nThe end.\n"


@pytest.mark.parametrize(
    ("language", "block"),
    [
        ("bash", "export NCCL_IB_TIMEOUT=300"),
        ("sh", "export NCCL_IB_TIMEOUT=300"),
        ("shell", "$ export NCCL_IB_TIMEOUT=300\nNCCL version 2.20.5"),
        ("console", "$ mpirun -np 2 \\\n    -x NCCL_IB_TIMEOUT=300 ./a\nNCCL INFO x"),
        ("dockerfile", "FROM x\nENV NCCL_IB_TIMEOUT=300"),
        ("yaml", "env:\n- {name: NCCL_IB_TIMEOUT, value: '300'}"),
        ("{.bash}", "export NCCL_IB_TIMEOUT=300"),
    ],
)
@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_mistake_in_a_block_is_found_at_its_line(language: str, block: str, fence: str) -> None:
    text = fenced(language, block, fence)
    one = report(text)
    assert one.job.kind is JobKind.MARKDOWN
    (bad,) = [each for each in one.complaints if each.is_bad]
    assert bad.rule.id == "out-of-range"
    assert "NCCL_IB_TIMEOUT" in text.splitlines()[bad.found.at.line - 1]


def test_the_place_of_a_block_can_be_corrected() -> None:
    one = report(fenced("bash", "export NCCL_DEBUG=WARN\nexport NCCL_IB_TIMOUT=22"))
    better, number = fixed(one.job.text, one.complaints)
    assert number == 1
    assert better == fenced("bash", "export NCCL_DEBUG=WARN\nexport NCCL_IB_TIMEOUT=22")


@pytest.mark.parametrize(
    "text",
    [
        fenced("python", 'os.environ["NCCL_IB_DISABLE"] = "1"'),
        fenced("", "NCCL_IB_DISABLE=1 mpirun ./a"),
        fenced("console", "NCCL_IB_DISABLE=1 mpirun ./a"),
        "```bash\nexport NCCL_IB_DISABLE=1\n",
        "Set `NCCL_IB_DISABLE=1` first.\n" + fenced("bash", "export NCCL_DEBUG=INFO"),
        fenced("yaml", "env: [\n  NCCL_IB_DISABLE=1"),
        fenced("bash", "make"),
    ],
)
def test_without_a_block_that_is_read_there_is_no_verdict(text: str) -> None:
    one = report(text)
    assert one.verdict is Severity.UNKNOWN
    assert not any(each.is_bad for each in one.complaints)


def test_an_example_of_tcp_is_a_warning_and_blocks_are_alternatives() -> None:
    one = report(fenced("bash", "NCCL_IB_DISABLE=1 srun -N 4 ./a"))
    assert [each.severity for each in one.complaints] == [Severity.WARNING]
    two = fenced("bash", "export NCCL_IB_TC=106") + fenced("bash", "export NCCL_IB_TC=0")
    assert report(two).verdict is not Severity.BAD


def test_a_readme_without_mistakes_is_good() -> None:
    one = report(fenced("bash", "export NCCL_DEBUG=WARN NCCL_SOCKET_IFNAME=eth0\nsrun -N 2 ./a"))
    assert one.verdict is Severity.GOOD
    assert one.coverage.n_variables == 2

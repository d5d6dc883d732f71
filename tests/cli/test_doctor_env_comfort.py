"""`weft doctor env` neither reassures nor accuses falsely: mistakes planted into healthy files are
found without a platform, harmless oddities are not blamed, what was not read is never GOOD."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.doctor.launch_scripts import (
    DOCUMENTS,
    HEALTHY,
    SHELL,
    free_lines,
    insert,
    odd_file,
)
from tests.unit.doctor.script import FORMS, clean_script

from weft.catalog.load import launch_recipe_names
from weft.cli import run
from weft.cli.doctor.env_linter import Linter
from weft.cli.doctor.env_report import EnvReport
from weft.core.finding import Severity
from weft.doctor.readers.file import read_job
from weft.doctor.rules.transports import SWITCHES

N_ODD = 1000
N_PLACES = 20
LINTER = Linter(None, None, None, None, None, check_files=False)
Capture = pytest.CaptureFixture[str]


def report(name: str, text: str) -> EnvReport:
    return EnvReport.of(LINTER.case_of(read_job(name, text)))


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_a_healthy_file_is_not_bad_and_says_what_would_show(name: str) -> None:
    one = report(name, HEALTHY[name])
    assert one.verdict in (Severity.GOOD, Severity.WARNING), one.lines(notes=True)
    assert one.coverage.would_show
    assert one.coverage.n_variables >= 2


def test_harmless_oddities_are_not_blamed() -> None:
    tally: Counter[str] = Counter()
    for seed in range(N_ODD):
        name, text = odd_file(seed)
        one = report(name, text)
        tally[one.verdict] += 1
        assert one.verdict is not Severity.BAD, (seed, name, text, one.lines(notes=False))
    # A reader that refuses everything would pass, too.
    assert tally[Severity.UNKNOWN] < N_ODD / 10, tally


PLANTS = {
    "export NCCL_MIN_CHANNELS=32": "unknown-name",
    "export NCCL_BUFFSIZE=8M": "suffix-on-number",
    "export NCCL_IB_TIMEOUT=300": "out-of-range",
    "export NCCL_NET_GDR_LEVEL=phb": "level-word",
    "export NCCL_OOB_NET_IFNAME=eth0,^docker": "sign-inside-list",
    "export NCCL_GRAPH_FILE=": "empty-value",
    "export NCCL_NET=AWS Libfabric": "words-split",
    "export NCCL_OOB_NET_IFNAME=\u201ceth0\u201d": "typographic-quotes",
    "NCCL_CROSS_NIC = 1": "spaces-around-equals",
    "export NCCL_SHM_DISABLE=1": "debug-switch-left-on",
    "export NCCL_DEBUG_FILE='\"/tmp/x\"'": "quotes-in-value",
    "export NCCL_CROSS_NIC=true": "word-refused",
}
TCP = {
    "export NCCL_IB_DISABLE=1": "infiniband-off",
    "export NCCL_SOCKET_IFNAME=lo": "no-way-out",
    "export NCCL_NET=Socket": "sockets-demanded",
}


@pytest.mark.parametrize("line", sorted(PLANTS))
def test_a_planted_mistake_is_found_without_a_platform(line: str) -> None:
    rng = random.Random(line)
    for _ in range(N_PLACES):
        name = rng.choice(sorted(SHELL))
        text = SHELL[name]
        at = rng.choice(free_lines(text))
        one = report(name, insert(text, at, line))
        found = [(each.rule.id, each.found.at.line) for each in one.complaints]
        assert (PLANTS[line], at + 1) in found, (name, at, found)
        assert one.verdict is not Severity.GOOD


@pytest.mark.parametrize(
    ("head", "severity"),
    [
        ("#SBATCH --nodes=2\n", Severity.BAD),
        ("", Severity.WARNING),
        ("#PBS -l select=4:ncpus=8\n", Severity.BAD),
    ],
)
@pytest.mark.parametrize(("line", "rule"), TCP.items())
def test_tcp_counts_by_the_number_of_nodes(
    head: str, severity: Severity, line: str, rule: str
) -> None:
    one = report("job.sh", f"#!/bin/bash\n{head}{line}\npython train.py\n")
    assert {each.rule.id: each.severity for each in one.complaints}[rule] is severity
    assert one.verdict is severity


@pytest.mark.parametrize(("line", "rule"), TCP.items())
def test_tcp_harms_no_job_of_one_node(line: str, rule: str) -> None:
    one = report("job.sh", f"#SBATCH --nodes=1\n{line}\npython train.py\n")
    assert {each.severity for each in one.complaints if each.rule.id == rule} <= {Severity.NOTE}
    assert one.verdict is Severity.GOOD


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("given", ["export {}=$(cat site)", "export {}=$SITE", "mpirun -x {} ./a"])
def test_a_switch_whose_value_only_the_job_knows_is_never_good(name: str, given: str) -> None:
    head = "#SBATCH --nodes=2\nexport NCCL_DEBUG=WARN\n"
    one = report("job.sh", f"{head}{given.format(name)}\nsrun ./a\n")
    assert one.verdict is Severity.UNKNOWN, one.lines(notes=False)
    assert name in one.coverage.gaps[0].unknown
    assert report("job.sh", f"{head}srun ./a\n").verdict is Severity.GOOD


@pytest.mark.parametrize(("line", "rule"), TCP.items())
def test_a_branch_that_chooses_tcp_is_a_warning(line: str, rule: str) -> None:
    text = f"#SBATCH -N 4\nif ! ls /dev/infiniband; then\n{line}\nfi\nsrun ./a\n"
    one = report("job.sh", text)
    assert {each.rule.id: each.severity for each in one.complaints}[rule] is Severity.WARNING


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", launch_recipe_names())
def test_a_published_recipe_is_not_bad_without_its_platform(name: str, form: str) -> None:
    for nodes in (1, 4):
        script = clean_script(name, form, "2.26.5", nodes)
        if script is not None:
            one = report("job.sh", script.text)
            assert one.verdict is not Severity.BAD, (script.text, one.lines(notes=False))


def test_a_variable_has_the_value_of_its_own_branch() -> None:
    text = (
        "#SBATCH -N 2\nif a; then\nI=eth0\nexport NCCL_MIN_NCHANNELS=32\nelse\nI=ib0\n"
        "export NCCL_MAX_NCHANNELS=16\nfi\nexport NCCL_SOCKET_IFNAME=$I\nsrun ./a\n"
    )
    one = report("job.sh", text)
    assert one.verdict is Severity.GOOD, one.lines(notes=False)
    values = {each.value for each in one.job.all_settings if each.name == "NCCL_SOCKET_IFNAME"}
    assert values == {"eth0", "ib0"}
    both = text.replace("else\nI=ib0\n", "")
    assert "channels-crossed" in [each.rule.id for each in report("job.sh", both).complaints]


@pytest.mark.parametrize(
    "text",
    [
        "torchrun --nnodes=2 train.py",
        "torchrun --nnodes 2:4 train.py",
        "mpirun -np 16 -H a:8,b:8 -x NCCL_IB_DISABLE=1 ./a",
        "deepspeed --hostfile h --num_nodes 4 train.py",
        "srun -N 2 ./a",
    ],
)
def test_several_nodes_are_told_by_the_command(text: str) -> None:
    one = report("job.sh", f"export NCCL_IB_DISABLE=1\n{text}\n")
    assert one.verdict is Severity.BAD


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:25.01-py3\nRUN apt-get update\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  a.txt: no settings\n"),
        ("job.sh", "#!/bin/bash\nsrun python train.py\n"),
        ("job.sh", "NCCL_LIST=$(ls)\necho $NCCL_LIST\nsrun ./a\n"),
        ("train.py", "import os\nos.environ['NCCL_IB_DISABLE'] = '1'\n"),
        ("main.tf", 'variables = { NCCL_IB_DISABLE = "1" }\n'),
        ("job.sh", "export NCCL_IB_HCA=$HCAS NCCL_SOCKET_IFNAME=$(route)\nsrun ./a\n"),
        ("job.sh", "python - <<'X'\nimport os\nos.environ['NCCL_IB_DISABLE'] = '1'\nX\n"),
        ("job.sh", "eval \"$(printf 'export NCCL_IB_DISABLE=%s' 1)\"\nsrun -N 2 ./a\n"),
        ("job.sh", "export NCCL_DEBUG=INFO\nsrun -N 2 --container-image=r/train:1 ./train\n"),
        ("empty.sh", ""),
        ("nccl.conf", "# nothing yet\n"),
    ],
)
def test_without_evidence_there_is_no_good(
    name: str, text: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert run(["doctor", "env", str(path)]) == 5
    first = capsys.readouterr().out.split("\n")[0]
    assert re.match(r"UNKNOWN  cannot tell: .+; what would tell: .+", first)
    assert run(["doctor", "env", str(path), "--format", "json"]) == 5
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "unknown"
    assert record["files"][0]["unknown"][0]["would_tell"]


def test_good_says_what_would_have_shown(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "job.sh"
    path.write_text(SHELL["sbatch.sh"] + ". ./more.sh\n")
    assert run(["doctor", "env", str(path)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].startswith("GOOD")
    assert lines[1].startswith("would show: ")
    assert "in 4 variables" in lines[1]
    modules = "variables of 2 modules (cuda/12.4, openmpi)"
    assert lines[2] == f"not seen: files that it sources (./more.sh); {modules}"
    assert run(["doctor", "env", str(path), "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["would_show"] == record["files"][0]["would_show"]
    assert all(isinstance(one, str) for one in record["would_show"])


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_document_is_known_by_its_content(name: str) -> None:
    named = report(name, DOCUMENTS[name])
    if name == "nccl.conf":
        assert report("x.conf", DOCUMENTS[name]).job.kind is named.job.kind
    else:
        assert report("standard input", DOCUMENTS[name]).job.kind is named.job.kind


def test_each_branch_has_its_turn_also_within_another() -> None:
    text = (
        "if a; then\n case $1 in\n  x) export NCCL_BUFFSIZE=8M;;\n  y) export NCCL_NTHREADS=1k;;\n"
        "  *) export NCCL_MIN_CHANNELS=2;;\n esac\nelse\n if b; then export NCCL_IB_TC=1M; fi\nfi\n"
    )
    found = [(one.rule.id, one.found.at.line) for one in report("job.sh", text).complaints]
    wrong = "suffix-on-number"
    assert [(wrong, 3), (wrong, 4), ("unknown-name", 5), (wrong, 8)] == found


@pytest.mark.parametrize(
    "words",
    [
        "--container-mounts=/scratch/profiles:/profiles",
        "--container-workdir=/home/sofia",
        "--job-name=nccl-ofi",
    ],
)
def test_a_word_with_ofi_in_it_brings_no_plugin(words: str, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH -N 4\nexport FI_CXI_RX_MATCH_MODE=hybrid\n"
        f"srun --container-image=nvcr.io#nvidia/pytorch:24.01-py3 {words} ./a\n"
    )
    assert run(["doctor", "env", str(script)]) == 1


@pytest.mark.parametrize("before", ["n = 8 // 2; ", "print(' # '); ", ""])
def test_a_sign_of_a_comment_in_a_text_hides_no_setting(before: str, tmp_path: Path) -> None:
    """A value that a program sets is not read, so that nothing is called good."""
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\nexport NCCL_DEBUG=WARN\n"
        f"""python -c "{before}import os; os.environ['NCCL_IB_DISABLE']='1'"\n"""
    )
    assert run(["doctor", "env", str(script)]) == 5


def test_a_text_too_long_to_search_is_not_called_good(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n" + "# a comment\n" * 100_000 + "export NCCL_DEBUG=WARN\n")
    assert run(["doctor", "env", str(script)]) == 5

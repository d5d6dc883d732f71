"""`weft recipe`: lists, commands, reasons, and comparison with a script."""

import json
from pathlib import Path

import pytest

from weft.catalog.load import recipe_machines
from weft.cli import run


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in recipe_machines())
    assert run(["recipe", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["recipes"]
    assert [row["name"] for row in rows] == recipe_machines()


def test_a_command_with_its_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", "azure-ndv5", "--nodes", "4", "--explain"]) == 0
    said = capsys.readouterr().out
    assert said.startswith('mpirun -np 32 -hostfile "$HOSTFILE" --bind-to numa')
    assert "NCCL_PXN_DISABLE=1\n  each GPU sends by its own adapter" in said
    assert "errata of the sources:" in said


def test_json_has_the_same_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", "alps-gh200", "--nccl", "2.26.5", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "weft.recipe-answer/1"
    for row in record["settings"]:
        assert row["source"]
        assert row["reason"]
    assert [one["name"] for one in record["left_out"]] == ["NCCL_PROTO"]


@pytest.mark.parametrize("form", ["mpirun", "srun", "sbatch", "modulefile"])
def test_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", "perlmutter", "--nodes", "2", "--for", form]) == 0
    said = capsys.readouterr().out
    head = {"mpirun": "mpirun", "srun": "export", "sbatch": "#!/bin/bash", "modulefile": "#%Module"}
    assert said.startswith(head[form])
    assert "NCCL_CROSS_NIC" in said


def test_a_machine_is_launched_on_as_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name, begins in (
        ("alps-gh200", "export NCCL_NET="),
        ("frontera", 'mpiexec -f "$HOSTFILE" -ppn 2 -n 8 '),
        ("azure-hbv3", 'mpirun -np 8 -hostfile "$HOSTFILE" --bind-to numa --map-by ppr:2:node'),
    ):
        assert run(["recipe", name, "--nodes", "4", "--tasks-per-node", "2"]) == 0
        assert capsys.readouterr().out.startswith(begins)


def test_a_script_next_to_the_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", "oci-h100", "--nodes", "2", "--for", "sbatch"]) == 0
    script = tmp_path / "job.sh"
    script.write_text(capsys.readouterr().out)
    assert run(["recipe", "oci-h100", "--nodes", "2", "--diff", str(script)]) == 0
    assert capsys.readouterr().out.startswith("SAME")
    script.write_text(script.read_text().replace("NCCL_IB_TC=41", "NCCL_IB_TC=106"))
    assert run(["recipe", "oci-h100", "--nodes", "2", "--diff", str(script)]) == 1
    said = capsys.readouterr().out
    assert "NCCL_IB_TC  script: 106  recipe: 41" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["azure"], "no recipe 'azure'"),
        (["azure-ndv5", "--training"], "--training needs the program"),
        (["azure-ndv5", "--mount", "/a:/b"], "--mount goes with --image"),
        (["azure-ndv5", "--image", "i", "--for", "mpirun"], "cannot launch into a container"),
        (["alps-gh200", "--sharp"], "has no SHARP"),
        (["azure-hbv3", "--sharp"], "has no SHARP"),
        (["azure-ndv5", "--benchmark", "all_reduce"], "did you mean 'allreduce'"),
        (["azure-ndv5", "--benchmark", "grok1; reboot"], "no benchmark 'grok1; reboot'"),
        (["azure-hbv3", "--benchmark", "hypercube"], "among those of OSU"),
    ],
)
def test_what_cannot_be(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", *words]) == 2
    assert said in capsys.readouterr().err

"""Corrections and recipes carry values whole, and nothing in a value runs: bash itself says so."""

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.unit.doctor.breach import Breach
from tests.unit.doctor.test_rules import complaints

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.core.errors import InputError
from weft.doctor.edits import mended
from weft.launch.prescribed_text import as_exports, as_mpirun, as_sbatch, as_srun
from weft.launch.prescription import Run, prescribe

HOSTILE = (
    "a'b",
    'a"b',
    "$(touch ran)",
    "`touch ran`",
    "a; touch ran",
    "a && touch ran #",
    "a\ntouch ran\n",
    "${IFS}a",
    "$HOME",
    "back\\slash\\",
    "a b\tc",
    "x'; touch ran; 'y",
    'x"; touch ran; "y',
    "*",
    "~",
    "!!",
    "",
)


def run_bash(folder: Path, script: str) -> str:
    """What a script says in an empty folder, in which it must leave nothing."""
    argv = ["bash", "-c", script]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    done = subprocess.run(
        argv, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, (script, done.stderr)
    assert list(folder.iterdir()) == [], script
    return done.stdout


def recipe_of(value: str) -> LaunchRecipe:
    setting = {"name": "NCCL_NET", "value": value, "reason": "r", "source": "s"}
    return LaunchRecipe.model_validate(
        {"schema": "weft.launch-recipe/1", "name": "hostile", "title": "$(touch ran)", "date": "d",
         "source": "s", "fabric": "infiniband", "gpus_per_node": 2, "setting": [setting]}
    )  # fmt: skip


PRINT = "printf '%s|' \"$NCCL_NET\""
STAND_IN = "mpirun() { printf '%s|' \"$@\"; }\nsrun() { " + PRINT + "; printf '%s|' \"$@\"; }\n"


@pytest.mark.parametrize("value", HOSTILE)
def test_a_recipe_hands_its_value_on_whole(value: str, tmp_path: Path) -> None:
    recipe = recipe_of(value)
    prescription = prescribe(recipe, Run(nodes=1, tasks=2))
    assert run_bash(tmp_path, f"{as_exports(prescription)}\n{PRINT}") == f"{value}|"
    said = run_bash(tmp_path, STAND_IN + as_mpirun(prescription, ["./a"]))
    assert f"|-x|NCCL_NET={value}|./a|" in said
    for text in (as_srun(prescription, ["./a"]), as_sbatch(prescription, ["./a"])):
        assert run_bash(tmp_path, STAND_IN + text).startswith(f"{value}|")


# Names of variables are left to the shell.
@pytest.mark.parametrize("value", [one for one in HOSTILE if one not in ("$HOME", "${IFS}a", "")])
def test_images_and_mounts_arrive_whole(value: str, tmp_path: Path) -> None:
    run = Run(nodes=1, tasks=2, image=value, mounts=(value,))
    text = as_srun(prescribe(recipe_of("IB"), run), ["./a"])
    said = run_bash(tmp_path, STAND_IN + text)
    assert f"|--container-image={value}|--container-mounts={value}|" in said


@pytest.mark.parametrize(
    "change",
    [
        {"modules": ["x; touch ran"]},
        {"network": "a\ntouch ran"},
        {"cpu_masks": ["f; touch ran"]},
        {"setting": [{"name": "A=$(touch ran)", "value": "1", "reason": "r", "source": "s"}]},
    ],
)
def test_what_cannot_be_quoted_is_refused(change: dict[str, object]) -> None:
    document = recipe_of("IB").model_dump(by_alias=True) | change
    with pytest.raises(ValueError, match="pattern"):
        LaunchRecipe.model_validate(document)


def quoted_in_bash(value: str, how: str) -> str:
    """`export` of a value in quotes of one kind, as a careful person writes it."""
    if how == "'":
        return "export NCCL_NET='" + value.replace("'", "'\\''") + "'"
    escaped = value.translate({ord(one): "\\" + one for one in '\\"$`'})
    return f'export NCCL_NET="{escaped}"' if how == '"' else f'export "NCCL_NET={escaped}"'


@pytest.mark.parametrize("how", ["'", '"', "word"])
@pytest.mark.parametrize("value", [one for one in HOSTILE if one and one.strip() == one])
def test_a_correction_of_a_script_writes_the_value_whole(
    value: str, how: str, tmp_path: Path
) -> None:
    """White space at the end is part of the value; the correction leaves it out, and only it."""
    text = quoted_in_bash(value + " ", how)
    better, number, _ = mended(text, lambda one: complaints(Breach("", one), one))
    assert number == 1, better
    assert run_bash(tmp_path, f"{better}\n{PRINT}") == f"{value}|"


def test_quotes_around_commands_are_left_alone() -> None:
    text = "srun bash -c 'export NCCL_SOCKET_IFNAME=\"eth0 \" NCCL_NET=phb; ./a'\n"
    assert mended(text, lambda one: complaints(Breach("", one), one))[0] == text


def better_of(name: str, text: str) -> str:
    return mended(text, lambda one: complaints(Breach("", one, name=name), one))[0]


@pytest.mark.parametrize("value", ["a'b", 'a"b', "$(touch ran)", "a\nb", "back\\slash", "\x7f"])
def test_a_correction_of_a_document_keeps_it_one(value: str) -> None:
    inner = "".join(
        f"\\{one}" if one in '"\\' else one if one.isprintable() else f"\\u{ord(one):04x}"
        for one in value + " "
    )
    edf = better_of("env.toml", f'image = "i"\n[env]\nNCCL_NET = "{inner}"\n')
    assert tomllib.loads(edf)["env"] == {"NCCL_NET": value}
    if "$(" in value:  # Kubernetes' own variables: only the running job knows
        return
    manifest = f'apiVersion: v1\nenv:\n- name: NCCL_NET\n  value: "{inner}"\n'
    assert yaml.safe_load(better_of("job.yaml", manifest))["env"] == [
        {"name": "NCCL_NET", "value": value}
    ]


def test_benchmarks_of_a_recipe_are_names() -> None:
    from weft.launch.prescribed_text import program

    with pytest.raises(InputError):
        program(prescribe(recipe_of("IB"), Run(nodes=1, tasks=2)), "a;touch ran")


def test_a_recipe_of_shell_words_needs_a_container_for_an_image() -> None:
    with pytest.raises(InputError):
        prescribe(recipe_of("IB"), Run(nodes=1, sharp=True))

"""Texts to paste: a shell and a reader of TOML take each value as it is."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.hostile.names import CANARY, NAMES

from weft.core.shell_line import UNSHOWN
from weft.doctor.container.remedy.additions import AddedMount, AddedVariable, Additions
from weft.doctor.container.remedy.texts import TEXTS, ContainerStart

SHOWN = [one for one in NAMES if UNSHOWN.search(one) is None]
PREFIX = {"pyxis": "", "apptainer": "APPTAINERENV_"}
"""Of the formats that export variables, in front of the name."""


def added(value: str) -> Additions:
    mount = AddedMount("/a/b.so", "/opt/b.so", "it is needed\nrm -rf nothing")
    return Additions((mount,), variables=(AddedVariable("NAME", value, f"because\n{value}"),))


def pasted(text: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The words and the environment that the launcher gets."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("srun", "apptainer", "podman", "docker"):
        path = programs / name
        path.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > words\nenv -0 > variables\n')
        path.chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", text], cwd=folder, env=env, check=True, timeout=20)
    assert not list(folder.rglob(CANARY)), text
    words = (folder / "words").read_bytes().decode("utf-8", "surrogateescape").split("\0")
    pairs = (folder / "variables").read_bytes().decode("utf-8", "surrogateescape").split("\0")
    return words, dict(one.split("=", 1) for one in pairs if one)


@pytest.mark.parametrize("form", ["pyxis", "apptainer", "podman", "docker"])
@pytest.mark.parametrize("value", SHOWN)
def test_a_shell_takes_each_value_as_it_is(form: str, value: str, tmp_path: Path) -> None:
    words, env = pasted(TEXTS[form](added(value), ContainerStart(value)), tmp_path)
    if form in PREFIX:
        assert env[f"{PREFIX[form]}NAME"] == value
    else:
        assert f"NAME={value}" in words
    assert f"--container-image={value}" in words if form == "pyxis" else value in words
    assert any("/a/b.so:/opt/b.so:ro" in one for one in words)


@pytest.mark.parametrize("value", NAMES)
def test_toml_takes_each_value_as_it_is(value: str) -> None:
    if "\udcff" in value:
        return
    table = tomllib.loads(TEXTS["edf"](added(value), ContainerStart(value)))
    assert (table["image"], table["env"]["NAME"]) == (value, value)

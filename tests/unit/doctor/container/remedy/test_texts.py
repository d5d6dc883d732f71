"""Texts to paste: a shell and a reader of TOML take each value as it is."""

import csv
import os
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from tests.hostile.names import CANARY, NAMES

from weft.core.shell_line import UNSHOWN
from weft.doctor.container.remedy.additions import AddedMount, AddedVariable, Additions
from weft.doctor.container.remedy.texts import TEXTS, ContainerStart

SHOWN = [one for one in NAMES if UNSHOWN.search(one) is None]
OF_APPTAINER = [*SHOWN, "", "=mlx5_0,mlx5_1", "a=b", "a,B=c", '"a"', 'a="b', "x,y"]


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


@pytest.mark.parametrize("form", ["pyxis", "podman", "docker"])
@pytest.mark.parametrize("value", SHOWN)
def test_a_shell_takes_each_value_as_it_is(form: str, value: str, tmp_path: Path) -> None:
    words, env = pasted(TEXTS[form](added(value), ContainerStart(value)), tmp_path)
    if form == "pyxis":
        assert env["NAME"] == value
    else:
        assert f"NAME={value}" in words
    assert f"--container-image={value}" in words if form == "pyxis" else value in words
    assert any("/a/b.so:/opt/b.so:ro" in one for one in words)


def in_apptainer(words: list[str], env: dict[str, str]) -> dict[str, str]:
    """The variables of the container: --env wins, read as Apptainer reads it.

    SOURCE: spf13/pflag 1bbbeded, string_to_string.go: one `=` is one pair without quotes around
    it; with more, the word is a line of CSV.
    """
    prefix = "APPTAINERENV_"
    found = {k.removeprefix(prefix): v for k, v in env.items() if k.startswith(prefix)}
    for before, word in pairwise(words):
        if before == "--env":
            pairs = [word.strip('"')] if word.count("=") == 1 else next(csv.reader([word]))
            found |= dict(one.split("=", 1) for one in pairs)
    return found


@pytest.mark.parametrize("value", OF_APPTAINER)
def test_apptainer_takes_each_value_as_it_is(value: str, tmp_path: Path) -> None:
    words, env = pasted(TEXTS["apptainer"](added(value), ContainerStart("i")), tmp_path)
    assert in_apptainer(words, env) == {"NAME": value}


def test_apptainer_gets_a_plain_value_by_the_option_that_wins() -> None:
    text = TEXTS["apptainer"](added("mlx5_0,mlx5_1"), ContainerStart())
    assert "--env NAME=mlx5_0,mlx5_1" in text
    assert "export" not in text


@pytest.mark.parametrize("value", NAMES)
def test_toml_takes_each_value_as_it_is(value: str) -> None:
    if "\udcff" in value:
        return
    table = tomllib.loads(TEXTS["edf"](added(value), ContainerStart(value)))
    assert (table["image"], table["env"]["NAME"]) == (value, value)

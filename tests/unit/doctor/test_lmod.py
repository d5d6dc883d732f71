"""Lmod's modulefiles are read by Lua's rules for texts; only what is plain is known."""

import pytest

from weft.doctor.job import HOLE, JobKind
from weft.doctor.readers.file import read_job

HEAD = 'help([[NCCL]])\nwhatis("NCCL")\n'


def values(text: str) -> dict[str, str | None]:
    job = read_job("nccl/2.20.lua", HEAD + text)
    assert job.kind is JobKind.MODULEFILE
    return {one.name: one.value for one in job.settings}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('setenv("NCCL_DEBUG", "WARN")', "WARN"),
        ("pushenv('NCCL_DEBUG','WARN')", "WARN"),
        ('setenv("NCCL_DEBUG", [[WARN]])', "WARN"),
        ('setenv("NCCL_DEBUG", "a\\"b")', 'a"b'),
        ('setenv("NCCL_DEBUG", "a--b") -- why', "a--b"),
        ('setenv("NCCL_DEBUG", 22)', "22"),
        ('setenv ( "NCCL_DEBUG" ,\n  "WARN" )', "WARN"),
        ('setenv("NCCL_DEBUG", "WARN", {modeA={"load"}})', "WARN"),
        ('setenv("NCCL_DEBUG", root)', HOLE),
        ('setenv("NCCL_DEBUG", "/opt/" .. name)', HOLE),
        ('setenv("NCCL_DEBUG", pathJoin(root, "x"))', HOLE),
        ('if (mode() == "load") then setenv("NCCL_DEBUG", "WARN") end', "WARN"),
    ],
)
def test_values(text: str, value: str) -> None:
    assert values(text) == {"NCCL_DEBUG": value}


@pytest.mark.parametrize(
    "text",
    [
        '-- setenv("NCCL_DEBUG", "WARN")',
        '--[[\nsetenv("NCCL_DEBUG", "WARN")\n]]',
        '--[==[ ]] setenv("NCCL_DEBUG", "WARN") ]==]',
        '--[[ setenv("NCCL_DEBUG", "WARN")',
        'my.setenv("NCCL_DEBUG", "WARN")',
        'unsetenv("NCCL_DEBUG", "WARN")',
    ],
)
def test_comments_and_other_functions_set_nothing(text: str) -> None:
    assert values(text) == {}


def test_another_program_in_lua_is_no_modulefile() -> None:
    assert read_job("init.lua", "local x = 1\nprint(x)\n").kind is JobKind.OTHER


@pytest.mark.parametrize("text", ["--[[" * 100_000, "[[" * 100_000, 'setenv("' * 50_000])
@pytest.mark.timeout(20)
def test_a_hostile_text_is_read_in_time(text: str) -> None:
    values(text)

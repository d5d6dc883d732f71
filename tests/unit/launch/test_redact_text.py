"""Secrets out of a file, everything else untouched, line by line."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.launch.redact import MASK
from weft.launch.redact_text import redact_content

RECORDED = """{
 "version": 3,
 "env": ["HOME=/home/ada", "NCCL_DEBUG=INFO", "GITHUB_TOKEN=ghp_0123456789abcdefghij",
  "PS1=\\"x\\" ]", "LD_LIBRARY_PATH=/usr/lib"],
 "results": [{"size": 8, "busbw": 1.5}]
}
"""


def test_a_recorded_environment_keeps_settings_only() -> None:
    masked, n = redact_content(RECORDED.encode())
    found = json.loads(masked)
    assert found["env"] == [
        f"HOME={MASK}",
        "NCCL_DEBUG=INFO",
        f"GITHUB_TOKEN={MASK}",
        f"PS1={MASK}",
        "LD_LIBRARY_PATH=/usr/lib",
    ]
    assert n == 3
    assert found["results"] == [{"size": 8, "busbw": 1.5}]
    assert masked.count(b"\n") == RECORDED.count("\n")


def test_an_environment_as_an_object_is_masked_alike() -> None:
    masked, n = redact_content(b'{"environment": {"USER": "ada", "UCX_TLS": "rc"}, "x": "ada"}')
    assert json.loads(masked) == {"environment": {"USER": MASK, "UCX_TLS": "rc"}, "x": "ada"}
    assert n == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("export AWS_SECRET_ACCESS_KEY=abc", f"export AWS_SECRET_ACCESS_KEY={MASK}"),
        (
            "-x UCX_TLS=rc -x DB_PASSWORD=pw ./osu_bw",
            f"-x UCX_TLS=rc -x DB_PASSWORD={MASK} ./osu_bw",
        ),
        ("WEFT_URL=http://a:b@host/", f"WEFT_URL=http://a:{MASK}@host/"),
    ],
)
def test_an_assigned_secret_is_masked_wherever_it_stands(line: str, expected: str) -> None:
    assert redact_content(line.encode()) == (expected.encode(), 1)


@pytest.mark.parametrize(
    "line",
    [
        'export HF_TOKEN="@ x"',
        "-x DB_PASSWORD='@ x' ./osu_bw",
        'AUTH="@"',
        "srun --export=ALL,DB_PASSWORD=@ osu_bw",
        "mysql --password @ -u me",
        '"args": ["--api-token", "@", "-b", "8"]',
        '{"API_TOKEN": "@"}',
        "password = @",
        "db_secret: @",
        "setenv WANDB_API_KEY @",
        "Authorization: Bearer @",
        "git clone https://me:@@host/repo",
        "https://blob/x?sv=1&sig=@&se=2",
        "AccountKey=@;EndpointSuffix=x",
        "ghp_@abcdefghijkl",
        '{"environment": {"X": {"Y": "@", "L": ["@"]}}}',
    ],
)
def test_a_secret_is_masked_however_it_is_set_off(line: str) -> None:
    masked, n = redact_content(line.replace("@", "hunter2horse", 1).encode())
    assert b"hunter2" not in masked
    assert n >= 1
    assert masked.count(MASK.encode()) >= 1


def test_counts_next_to_a_word_for_secrets_are_no_secrets() -> None:
    content = b"tokens: 5120\ntokens per second 8.5e3\nKey rates: 12.5\n-- token passing --\n"
    assert redact_content(content) == (content, 0)


def test_a_result_without_secrets_is_untouched_to_the_byte() -> None:
    content = b"# OSU MPI Latency Test v5.9\r\n8   1.62\n\xff\x00 nThread 1 minBytes=8\n"
    assert redact_content(content) == (content, 0)


def test_a_string_that_is_cut_off_is_masked_to_the_end_of_its_line() -> None:
    masked, n = redact_content(b'{"env": ["API_KEY=abc\n8 1.62\n')
    assert masked == b'{"env": ["' + MASK.encode() + b"\n8 1.62\n"
    assert n == 1


@pytest.mark.parametrize(
    "bad", [b'"A=b\\', b'"env": [', b'"A=b"', b"A=b ", b'\\"', b"token", b"-eyJ", b"["]
)
def test_no_content_makes_it_slow(bad: bytes) -> None:
    began = time.process_time()
    redact_content(b'"env": [' + bad * (250_000 // len(bad)))
    assert time.process_time() - began < 2.5


@given(st.binary(max_size=400))
def test_any_bytes_pass_and_lines_stay(content: bytes) -> None:
    masked, _ = redact_content(b'{"env": [' + content)
    assert masked.count(b"\n") <= content.count(b"\n")
    assert redact_content(masked)[0] == masked or MASK.encode() in masked

"""OCI hooks: the mounts that they tell, and hooks whose work no file tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.core.errors import InputError
from weft.doctor.container.launch.oci_hook import read_hook

PUBLISHED: dict[str, Any] = {
    "version": "1.0.0",
    "hook": {
        "path": "/opt/sarus/default/bin/mount_hook",
        "args": [
            "mount_hook",
            "--mount=type=bind,src=/usr/lib64/libcxi.so.1,dst=/usr/lib/libcxi.so.1",
            "--mount=type=bind,src=/opt/libcxi-fi.so,dst=<FI_PROVIDER_PATH>/libcxi-fi.so",
            "--device=/dev/cxi0",
            "--device=/dev/xpmem:/dev/xpmem:rw",
        ],
        "env": ["LDCONFIG_PATH=/sbin/ldconfig"],
    },
    "when": {"always": True},
    "stages": ["createContainer"],
}


def test_mounts_and_devices(tmp_path: Path) -> None:
    """As the published example of an injected provider is written."""
    path = tmp_path / "hook.json"
    path.write_text(json.dumps(PUBLISHED))
    found = read_hook(path)
    known, unknown = found.mounts
    assert (known.source, known.target) == ("/usr/lib64/libcxi.so.1", "/usr/lib/libcxi.so.1")
    assert known.is_known
    assert not unknown.is_known
    assert found.devices == ("/dev/cxi0", "/dev/xpmem")
    assert not found.hooks


def test_options_in_two_words(tmp_path: Path) -> None:
    """As the program itself reads them: both forms say the same."""
    words = [part for one in PUBLISHED["hook"]["args"] for part in one.split("=", 1)]
    path = tmp_path / "hook.json"
    path.write_text(json.dumps(PUBLISHED))
    whole = read_hook(path)
    path.write_text(json.dumps({**PUBLISHED, "hook": {**PUBLISHED["hook"], "args": words}}))
    assert read_hook(path) == whole
    assert len(whole.mounts) == 2


def test_another_program_is_a_hook(tmp_path: Path) -> None:
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"hook": {"path": "/opt/site/hook", "args": ["--device=/dev/a"]}}))
    found = read_hook(path)
    assert (found.hooks, found.devices) == (("/opt/site/hook",), ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "no table"),
        ("{}", "no hook with a path"),
        ('{"hook": {"path": 1}}', "no hook with a path"),
        ('{"hook": ', "no JSON or YAML"),
    ],
)
def test_other_documents_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "hook.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_hook(path)

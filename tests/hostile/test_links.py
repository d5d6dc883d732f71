"""weft writes a new file and renames it: a link at its name is replaced, not followed."""

import os
from pathlib import Path

import pytest
from tests.process_calls import call

from weft.core.files import output_file, write_part, write_whole

TWIN = ("--twin", "fat-tree", "--nodes", "4")
BENCH = ("bench", "latency", *TWIN, "--repeats", "2", "--dir")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A file outside of every run."""
    path = tmp_path / "target"
    path.write_text("mine")
    return path


def test_a_file_of_weft_replaces_a_link(tmp_path: Path, target: Path) -> None:
    for name in ("link", "loop", "lost"):
        path = tmp_path / name
        path.symlink_to({"link": target, "loop": path, "lost": tmp_path / "nowhere"}[name])
        write_part(path, "new", what="file")
        assert not path.is_symlink()
        assert path.read_text() == "new"
    assert target.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_link_at_the_name_of_the_partial_file_is_not_followed(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.node", lambda: "n1")
    (tmp_path / f".out.n1-{os.getpid()}").symlink_to(target)
    write_whole(tmp_path / "out", "new", what="file")
    assert (target.read_text(), (tmp_path / "out").read_text()) == ("mine", "new")


def test_the_output_of_a_process_replaces_a_link(tmp_path: Path, target: Path) -> None:
    (tmp_path / "raw.out").symlink_to(target)
    with output_file(tmp_path / "raw.out") as file:
        file.write(b"new")
    assert (target.read_text(), (tmp_path / "raw.out").read_bytes()) == ("mine", b"new")


def test_a_file_that_the_user_names_may_be_a_link_of_his(tmp_path: Path, target: Path) -> None:
    (tmp_path / "link").symlink_to(target)
    write_whole(tmp_path / "link", "new", what="file")
    assert (tmp_path / "link").is_symlink()
    assert target.read_text() == "new"


def test_report_does_not_follow_a_link_in_a_run(tmp_path: Path, target: Path) -> None:
    run_dir = tmp_path / "run"
    assert call([*BENCH, str(run_dir)], limit_s=60).code == 0
    page = run_dir / "report.html"
    page.symlink_to(target)
    assert call(["report", str(run_dir)], limit_s=60).code == 0
    assert target.read_text() == "mine"
    assert not page.is_symlink()
    assert page.read_text().startswith("<!")
    named = tmp_path / "named.html"
    named.symlink_to(target)
    assert call(["report", str(run_dir), "-o", str(named)], limit_s=60).code == 0
    assert named.is_symlink()
    assert target.read_text().startswith("<!")


@pytest.mark.parametrize("folder", ["samples", "raw", "recipes"])
def test_a_folder_of_a_run_that_is_a_link_is_refused(folder: str, tmp_path: Path) -> None:
    run_dir, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    assert call([*BENCH, str(run_dir)], limit_s=60).code == 0
    (run_dir / folder).rename(elsewhere)
    (run_dir / folder).symlink_to(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    end = call([*BENCH, str(run_dir), "--resume"], limit_s=60)
    assert end.code == 2, end
    assert f"{run_dir / folder}: is a link" in end.err
    assert sorted(path.name for path in elsewhere.iterdir()) == before


def test_a_check_replaces_links_at_its_names(tmp_path: Path, target: Path) -> None:
    run_dir = tmp_path / "run"
    argv = ["check", *TWIN, "--dir", str(run_dir)]
    assert call(argv, limit_s=60).code in (0, 1, 5)
    for name in ("report.html", "platform.toml"):
        (run_dir / name).unlink(missing_ok=True)
        (run_dir / name).symlink_to(target)
    end = call([*argv, "--resume"], limit_s=60)
    assert end.code in (0, 1, 5), end
    assert target.read_text() == "mine"

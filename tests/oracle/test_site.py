"""The site of `make docs`: built without a warning, complete, and needing no other host."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
SPHINX = Path(os.environ.get("WEFT_SPHINX", Path(sys.prefix) / "opt/docs"))
"""The folder of the packages of requirements/docs.lock; another one by its path."""
FETCHED = re.compile(
    r"""<(?:script|img|iframe|link(?![^>]*rel="canonical"))[^>]*(?:src|href)=["'](?:https?:)?//"""
    r"""|@import|url\(["']?(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (SPHINX / "sphinx").is_dir():
        pytest.skip(f"no Sphinx in {SPHINX} (make docs)")
    out = tmp_path_factory.mktemp("site")
    env = {**os.environ, "PYTHONPATH": str(SPHINX)}
    argv = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs"]
    done = subprocess.run(
        [*argv, str(out)], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_in_it(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")}
    missing = [str(page) for page in pages if not (site / page.with_suffix(".html")).exists()]
    assert not missing


def test_no_page_fetches_anything_from_another_host(site: Path) -> None:
    for page in [*site.glob("**/*.html"), *site.glob("**/*.css")]:
        found = FETCHED.search(page.read_text())
        assert found is None, f"{page.relative_to(site)}: {found and found[0]}"


def test_the_search_works_from_a_folder(site: Path, tmp_path: Path) -> None:
    need("chromium")
    argv = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    argv += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000"]
    url = f"{(site / 'search.html').as_uri()}?q=congestion"
    done = subprocess.run([*argv, url], capture_output=True, text=True, timeout=120, check=False)
    assert "reference/fabric_congestion.html" in done.stdout

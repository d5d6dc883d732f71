"""The site that `make docs` builds of the pages in this folder: Sphinx with MyST and Furo.

Nothing in it comes from another host: pages, styles and the search index are files beside one
another, so the site works from a folder, a copy by ssh, or any web server.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

project = "weft"
author = "the weft developers"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser"]
exclude_patterns = ["notebooks", "samples/*.txt"]
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
html_theme = "furo"
html_title = f"weft {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False

MENU = (
    ("Begin", ("start", "gallery", "glossary")),
    ("Guides", ("guides/*",)),
    ("Reference", ("concepts/*", "reference/*", "samples/README")),
    ("For developers", ("internals/*",)),
)
"""The menu of the site. The pages themselves stay plain Markdown."""

OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(?:#[^)\s]*)?\)")


def _menu_and_outside_links(_: Any, page: str, source: list[str]) -> None:
    """Add the menu to the first page; of links to files outside of this folder keep the words."""
    folder = ROOT / "docs" / os.path.dirname(page)

    def words(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        return link[0] if target.is_relative_to(ROOT / "docs") else link[1]

    source[0] = OUTSIDE.sub(words, source[0])
    if page == "index":
        for caption, pages in MENU:
            entries = "\n".join(pages)
            source[0] += (
                f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n:glob:\n\n{entries}\n```\n"
            )


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("source-read", _menu_and_outside_links)

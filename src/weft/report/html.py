"""From page values to one HTML file that fetches nothing: text escaped, scripts inlined and pinned.

The page may be mailed and opened by anyone, and holds names that came from machines. It carries a
content policy that allows exactly its own two scripts and no address at all.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from weft import __version__
from weft.report.model import RunPage, Section, Spec

if TYPE_CHECKING:
    from weft.report.fabric.page import FabricPage

MAX_FINDINGS = 12

_OWN_FILES = resources.files("weft.report")


def render(title: str, runs: Sequence[RunPage], side_by_side: Section | None = None) -> str:
    """The whole page as text; `side_by_side` stands before the runs, about all of them."""
    sections = [section for run in runs for section in run.sections]
    has_charts = any(section.figures for section in (*sections, side_by_side) if section)
    library, draw = chart_library() if has_charts else "", _own_text("draw.js")
    return _template("template.html.j2").render(
        title=title,
        runs=runs,
        side_by_side=side_by_side,
        version=__version__,
        max_findings=MAX_FINDINGS,
        policy=content_policy([library, draw] if library else [draw]),
        style=Markup(_own_text("style.css")),  # noqa: S704 - our own file
        library=Markup(library),  # noqa: S704 - pinned by its hash in the content policy
        draw=Markup(draw),  # noqa: S704 - our own file
    )


def render_fabric(page: "FabricPage") -> str:
    """The page of a fabric: drawings that need no script, and one script that moves them."""
    script = _own_text("fabric/fabric.js")
    return _template("fabric/fabric.html.j2").render(
        page=page,
        version=__version__,
        policy=content_policy([script]),
        style=Markup(_own_text("style.css") + _own_text("fabric/fabric.css")),  # noqa: S704
        script=Markup(script),  # noqa: S704 - our own file
    )


def script_json(spec: Spec) -> Markup:
    """JSON that cannot end its script element, with any names in it."""
    text = json.dumps(spec, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character that HTML reads is left


def content_policy(scripts: Sequence[str]) -> str:
    """Refuses every load from outside; only these scripts may run."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, from the installed vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in bundle.lower():
        raise AssertionError("the chart library would end its own script element")
    return bundle


def _template(name: str) -> Template:
    environment = Environment(
        loader=FunctionLoader(_own_text),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["script_json"] = script_json
    return environment.get_template(name)


def _own_text(name: str) -> str:
    return _OWN_FILES.joinpath(name).read_text("utf-8")

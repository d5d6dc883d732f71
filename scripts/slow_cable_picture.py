"""Draw docs/pictures/slow_cable.svg: the pairs of a check whose cable between switches is slow.

    slow_cable_picture.py [OUT]

The drawing is that of the run's own report, with the style that the report's page would give it.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "slow_cable.svg"
CHECK = ("check", "--twin", "fat-tree", "--nodes", "16", "--plant", "random:1")
DRAWING = re.compile(r'<svg[^>]*id="run1-pairs-bandwidth".*?</svg>', re.DOTALL)
STYLE = (
    "<style>text{font:12px sans-serif;fill:#222}</style>"
    '<rect width="100%" height="100%" fill="#fff"/>'
)


def picture() -> str:
    """The drawing as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "weft.cli", *CHECK, "--dir", f"{folder}/run"]
        # Exit 1 is the right answer: the planted cable is named.
        subprocess.run(argv, capture_output=True, check=False)
        found = DRAWING.search(Path(folder, "run", "report.html").read_text())
    if found is None:
        sys.exit("the report has no drawing of the pairs' bandwidth")
    return found[0].replace("</title>", f"</title>{STYLE}", 1) + "\n"


def main() -> None:
    """Write it."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    out.parent.mkdir(exist_ok=True)
    out.write_text(picture())


if __name__ == "__main__":
    main()

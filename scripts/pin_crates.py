"""Pin the Rust crates: Cargo.lock is made from requirements/crates.lock, which names no host.

A Cargo.lock repeats the registry's address on every entry. The committed file is a Cargo.lock
without those lines; cargo itself tells the address, and this script puts it back.

    pin_crates.py            write Cargo.lock from requirements/crates.lock, if it differs
    pin_crates.py --update   write requirements/crates.lock from the Cargo.lock cargo has resolved
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ROOT / "requirements" / "crates.lock"
LOCK = ROOT / "Cargo.lock"
SOURCE_LINE = re.compile(r'^source = ".*"\n', re.MULTILINE)
CHECKSUM_LINE = re.compile(r"^(checksum = )", re.MULTILINE)


def registry_source() -> str:
    """The registry's name for itself, as cargo writes it into lock files."""
    argv = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    printed = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    sources = {
        dependency["source"]
        for package in json.loads(printed)["packages"]
        for dependency in package["dependencies"]
        if dependency["source"]
    }
    if len(sources) != 1:
        sys.exit(f"pin_crates: expected one registry, cargo names {sorted(sources)}")
    return str(sources.pop())


def main() -> None:
    """Do what the arguments say."""
    if sys.argv[1:] == ["--update"]:
        PINNED.write_text(SOURCE_LINE.sub("", LOCK.read_text()))
        return
    pinned = PINNED.read_text()
    if LOCK.exists() and SOURCE_LINE.sub("", LOCK.read_text()) == pinned:
        return
    source = f'source = "{registry_source()}"\n'
    LOCK.write_text(CHECKSUM_LINE.sub(lambda match: source + match.group(1), pinned))


if __name__ == "__main__":
    main()

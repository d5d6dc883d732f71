"""Make what a machine without internet installs: a portable wheel and a wheelhouse archive.

    make_dist.py OUT            OUT/weft-*.whl and OUT/weft-*-wheelhouse-cp3XX-linux_*.tar.gz
    make_dist.py OUT aarch64    OUT/weft-*_aarch64.whl alone: zig links for other machines, too

The archive holds weft, every package it needs for the running Python, man pages, the demo and
`install.sh`.
The wheel is linked by zig against glibc 2.28 (RHEL 8 and newer, as numpy's wheels ask), whatever
this machine has.
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLIBC = "manylinux_2_28"
INSTALL = """\
#!/bin/sh
# Install weft into a new virtual environment, without network. Usage: install.sh DIR [PYTHON]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${1:?usage: install.sh DIR [PYTHON]}
python=${2:-python3}
"$python" -m venv "$target"
"$target/bin/python" -m pip install --quiet --no-index --find-links "$here/wheels" weft

# Man pages, and completions where bash, zsh and fish look beside a bin on PATH.
mkdir -p "$target/share/man/man1" "$target/share/bash-completion/completions" \\
    "$target/share/zsh/site-functions" "$target/share/fish/vendor_completions.d"
cp "$here"/man/*.1 "$target/share/man/man1"
completion() {
    _WEFT_COMPLETE=$1_source "$target/bin/weft" >"$target/share/$2" 2>/dev/null ||
        rm -f "$target/share/$2"
}
completion bash bash-completion/completions/weft
completion zsh zsh/site-functions/_weft
completion fish fish/vendor_completions.d/weft.fish
echo "installed: $target/bin/weft; man pages and completions: $target/share"
"""


def call(*argv: str) -> None:
    """Run one command; its failure ends this script with its output."""
    subprocess.run(argv, cwd=ROOT, check=True)


def build_wheel(out: Path, machine: str) -> Path:
    """The abi3 wheel of this checkout for a machine, built without CPU-specific flags."""
    for old in out.glob(f"weft-*_{machine}.whl"):
        old.unlink()
    maturin = Path(sys.executable).parent / "maturin"
    # A target folder of its own: another linker would rebuild everything in the shared one.
    env = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "dist")}
    env["PATH"] = f"{maturin.parent}{os.pathsep}{env['PATH']}"
    argv = [str(maturin), "build", "--quiet", "--release", "--locked", "--out", str(out)]
    argv += ["--zig", "--compatibility", GLIBC, "--interpreter", sys.executable]
    if machine != platform.machine():
        argv += ["--target", f"{machine}-unknown-linux-gnu"]
    subprocess.run(argv, cwd=ROOT, check=True, env=env)
    (wheel,) = out.glob(f"weft-*_{machine}.whl")
    return wheel


def collect_wheels(wheel: Path, wheels: Path) -> None:
    """Every pinned package as a wheel (one built here where only a source archive exists)."""
    lock = ROOT / "requirements" / "run.lock"
    call(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--require-hashes", "--wheel-dir", str(wheels), "-r", str(lock)),
    )
    shutil.copy(wheel, wheels)


def archive_name(wheel: Path) -> str:
    """weft-0.1.0-wheelhouse-cp311-linux_x86_64: what it is, for which Python and machine."""
    version = wheel.name.split("-")[1]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"weft-{version}-wheelhouse-{python}-linux_{platform.machine()}"


def build_archive(out: Path, wheel: Path) -> None:
    """The archive of a wheel, with what it needs for the running Python."""
    name = archive_name(wheel)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        (folder / "wheels").mkdir(parents=True)
        collect_wheels(wheel, folder / "wheels")
        (folder / "install.sh").write_text(INSTALL)
        (folder / "install.sh").chmod(0o755)
        call(sys.executable, str(ROOT / "scripts" / "man_pages.py"), str(folder / "man"))
        shutil.copy(ROOT / "scripts" / "demo.sh", folder)
        shutil.copy(ROOT / "LICENSE", folder)
        with tarfile.open(out / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(folder, arcname=name)


def main() -> None:
    """Build into the folder named by the first argument."""
    match sys.argv[1:]:
        case [folder]:
            machine = platform.machine()
        case [folder, machine]:
            pass
        case _:
            sys.exit("usage: make_dist.py OUT [MACHINE]")
    out = Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel(out, machine)
    if machine == platform.machine():
        build_archive(out, wheel)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")


if __name__ == "__main__":
    main()

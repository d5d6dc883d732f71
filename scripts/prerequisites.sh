#!/bin/sh
# One clear line for the first thing that is missing. Usage: prerequisites.sh PYTHON [WHEEL]
# With a wheel of weft no Rust is needed.
python=$1
wheel=${2:-}
missing() {
    echo "weft: $1" >&2
    exit 3
}
command -v "$python" >/dev/null || missing "'$python' not found: install Python 3.11 or newer (or: make PYTHON=/path/to/python3)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    missing "'$python' is $("$python" -V 2>&1), but Python 3.11 or newer is needed (or: make PYTHON=/path/to/python3.11)"
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing "'$python' has no venv module: install it (Debian: apt install python3-venv)"
if [ -z "$wheel" ]; then
    command -v cargo >/dev/null || missing "'cargo' not found: install Rust 1.95 or newer with cargo"
    rust=$(cargo --version 2>/dev/null | sed -E 's/^cargo 1\.([0-9]+).*/\1/')
    case $rust in
        '' | *[!0-9]*) missing "'cargo' does not run here: install Rust 1.95 or newer, with rustfmt and clippy" ;;
    esac
    [ "$rust" -ge 95 ] || missing "'cargo' is of Rust 1.$rust, but 1.95 or newer is needed"
fi
command -v cc >/dev/null || missing "'cc' not found: install a C compiler (Debian: apt install gcc libc6-dev)"

"""One MPI at one path on every host: the site's, or the one that weft brings."""

import importlib.metadata
import io
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, State
from weft.cluster.bringup.stages.account import most_common
from weft.cluster.remote import Said, each
from weft.launch.mpi import LAUNCHER_KINDS, classify, version_in_words

LOOK_S = 60.0
COPY_S = 300.0
DISTRIBUTION = "mpich"

LOOK = r"""
mpicc=$1
case "$mpicc" in */*) ;; *) mpicc=$(command -v "$mpicc") || exit 3 ;; esac
[ -x "$mpicc" ] || exit 3
folder=$(dirname "$mpicc")
ending=${mpicc##*/mpicc}
for name in mpiexec mpirun; do
    [ -x "$folder/$name$ending" ] && launcher="$folder/$name$ending" && break
done
[ -n "${launcher-}" ] || exit 4
printf 'mpicc\t%s\nlauncher\t%s\n' "$mpicc" "$launcher"
"$launcher" --version 2>&1 | head -n 20 | sed 's/^/version\t/'
"$mpicc" -show 2>&1 | head -n 5 | sed 's/^/library\t/'
"""

UNPACK = r"""
set -u
folder=$1
new="$folder.$(uname -n).$$"
mkdir -p "$new" && tar -xf - -C "$new" || exit 1
mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new"
[ -x "$folder/bin/mpiexec" ]
"""


class Mpi:
    """See the module. `asked` is a wrapper's name or path on the hosts, 'site' for the mpicc of
    their PATH, None for the MPI that weft brings."""

    name = "mpi"
    says = "the same MPI at the same path"

    def __init__(self, asked: str | None = None) -> None:
        self._asked = asked

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Looks for it, brings it where it is weft's own and missing, and compares versions."""
        if self._asked is not None:
            wrapper = "mpicc" if self._asked == "site" else self._asked
            said = _look(cluster, hosts, wrapper)
            return _compared(cluster, said, mended=frozenset())
        here = str(Path(sys.prefix) / "bin/mpicc")
        said = _look(cluster, hosts, here)
        if all(one.ok for one in said.values()):
            return _compared(cluster, said, mended=frozenset())
        number = importlib.metadata.version(DISTRIBUTION)
        folder = f"{cluster.agreed['home']}/.local/share/weft/mpi/{DISTRIBUTION}-{number}"
        said = _look(cluster, hosts, f"{folder}/bin/mpicc")
        missing = [host for host in hosts if said[host].code in (3, 4)]
        if not cluster.mend:
            would = Outcome(State.WOULD, f"copy {DISTRIBUTION} {number} to {folder}")
            return {host: would if host in missing else RIGHT for host in hosts}
        packed = _packed() if missing else b""
        each(
            missing,
            lambda host: cluster.ssh.run(
                host, ["sh", "-c", UNPACK, "sh", folder], given=packed, timeout_s=COPY_S
            ),
        )
        said = {**said, **_look(cluster, missing, f"{folder}/bin/mpicc")}
        return _compared(cluster, said, mended=frozenset(missing))


def _look(cluster: Cluster, hosts: Sequence[str], wrapper: str) -> dict[str, Said]:
    return dict(
        each(
            hosts,
            lambda host: cluster.ssh.run(
                host, ["sh", "-s", wrapper], given=LOOK.encode(), timeout_s=LOOK_S
            ),
        )
    )


def _compared(
    cluster: Cluster, said: Mapping[str, Said], mended: frozenset[str]
) -> dict[str, Outcome]:
    """Of the hosts that have one: what most of them have is agreed on."""
    found = {host: _read(one) for host, one in said.items() if one.ok}
    if found:
        agreed = most_common("\n".join(of) for of in found.values())
        names = ("mpicc", "launcher", "version", "library", "mpi", "launcher_kind")
        cluster.agreed |= dict(zip(names, agreed.split("\n"), strict=True))
    outcomes = {}
    for host, one in said.items():
        if host not in found:
            outcomes[host] = _missing(one)
        elif "\n".join(found[host]) != agreed:
            mine = found[host]
            outcomes[host] = Outcome(
                State.FAILED,
                f"its MPI is {mine[2]} at {mine[0]}, elsewhere"
                f" {cluster.agreed['version']} at {cluster.agreed['mpicc']}",
                "name one that all hosts have (--mpi), or leave --mpi out",
            )
        elif host in mended:
            outcomes[host] = Outcome(State.MENDED, f"{found[host][2]} brought to {found[host][0]}")
        else:
            outcomes[host] = Outcome(State.RIGHT, found[host][2])
    return outcomes


def _read(said: Said) -> tuple[str, ...]:
    """mpicc, launcher, version in words, compile line, implementation, syntax of the launcher."""
    lines = [line.partition("\t") for line in said.out.splitlines()]
    of = {key: [v for k, _, v in lines if k == key] for key in ("mpicc", "launcher")}
    version = "\n".join(value for key, _, value in lines if key == "version")
    library = " ".join(value for key, _, value in lines if key == "library").strip()
    launcher = Path(of["launcher"][0])
    kind = classify(version, library, launcher.name)
    words = version_in_words(kind, launcher, version)
    return (of["mpicc"][0], str(launcher), words, library, kind, LAUNCHER_KINDS[kind])


def _missing(said: Said) -> Outcome:
    if said.code == 4:
        return Outcome(
            State.FAILED, "its MPI has no launcher beside mpicc", "install the whole of it"
        )
    if said.code == 3:
        hint = "load the site's module in its login scripts, or leave --mpi out"
        return Outcome(State.FAILED, "that MPI is not there", hint)
    return Outcome(State.FAILED, said.last_line or "it did not answer", "")


def _packed() -> bytes:
    """The files of the MPI that weft was installed with, as a tar archive."""
    prefix = Path(sys.prefix)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for file in importlib.metadata.files(DISTRIBUTION) or []:
            path = Path(str(file.locate())).resolve()
            if path.is_file() and path.is_relative_to(prefix) and "site-packages" not in path.parts:
                archive.add(path, str(path.relative_to(prefix)), recursive=False)
    return out.getvalue()

"""One launch of weft's kernel over all hosts, with a rank on each; and the files for others."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, failed, would
from weft.cluster.head import Head
from weft.cluster.record import agreed_mpi, settings, tcp_rails, with_settings
from weft.cluster.remote import SshResult, each
from weft.launch.recipe import Recipe, make_recipe
from weft.launch.spec import LaunchSpec

HELLO_S = 60.0
ENDING_S = 8.0
LOOK_S = 30.0
PAIRS_AT_ONCE = 8
BARRIER = ("--benchmark", "barrier", "--iterations", "1", "--warmup", "0")


def launch_on_all(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Launch over all; if that fails over the first and each other one, to find the bad host."""
    if not cluster.mend and not _is_prepared(cluster, hosts):
        return dict.fromkeys(hosts, would("launch once over all hosts"))
    result = _launch(cluster, hosts)
    if _n_ranks(result) == len(hosts):
        return dict.fromkeys(hosts, RIGHT)
    if not cluster.mend:
        return dict.fromkeys(hosts, _silent(cluster, result))
    return _by_pairs(cluster, hosts, result)


def _by_pairs(cluster: Cluster, hosts: Sequence[str], result: SshResult) -> Mapping[str, Outcome]:
    head, *others = hosts
    pairs = each(others, lambda host: _launch(cluster, (head, host)), at_once=PAIRS_AT_ONCE)
    bad = {host: one for host, one in pairs.items() if _n_ranks(one) < 2}
    if not bad or len(bad) == len(others):
        return dict.fromkeys(hosts, _silent(cluster, result))
    return {host: _silent(cluster, bad[host]) if host in bad else RIGHT for host in hosts}


def _silent(cluster: Cluster, result: SshResult) -> Outcome:
    interface = cluster.agreed["interface"]
    return failed(
        result.last_line or "no rank answered",
        f"let its firewall pass TCP from the other hosts on {interface}, all ports; or name another"
        " network (--interface) or MPI (--mpi)",
    )


def _is_prepared(cluster: Cluster, hosts: Sequence[str]) -> bool:
    """Whether a launch writes nothing that is not there."""
    if "kernel" not in cluster.agreed or "mpicc" not in cluster.agreed:
        return False
    recipe = _recipe(cluster, hosts)
    there = ("sh", "-c", 'test -x "$1" && cmp -s - "$2"', "sh", cluster.agreed["kernel"])
    return all(
        cluster.ssh.run(hosts[0], (*there, str(path)), stdin=content.encode(), timeout_s=LOOK_S).ok
        for path, content in recipe.files.items()
    )


def _recipe(cluster: Cluster, hosts: Sequence[str]) -> Recipe:
    agreed = cluster.agreed
    folder = Path(agreed["home"]) / ".local/share/weft/clusters" / cluster.name
    # Launches of pairs run side by side.
    name = f"hello.{hosts[-1]}.hosts" if len(hosts) == 2 else "hello.hosts"
    rails = tcp_rails(agreed)
    spec = LaunchSpec(
        launcher=Path(agreed["launcher"]),
        program=(agreed["kernel"], *BARRIER, *(("--rails", *rails) if rails else ())),
        hosts=tuple(hosts),
        tasks_per_node=1,
        hostfile=folder / name,
        as_root=agreed["user"] == "root",
        remote_shell=agreed["remote_shell"],
        interface=agreed["interface"] or None,
        env=settings(agreed),
    )
    # A folder that every host has: Hydra's ranks start in that of their launcher.
    return make_recipe(agreed_mpi(agreed), spec, Path(agreed["home"]))


def _launch(cluster: Cluster, hosts: Sequence[str]) -> SshResult:
    recipe = _recipe(cluster, hosts)
    head = Head(cluster.ssh, hosts[0], cluster.agreed["home"])
    for path, content in recipe.files.items():
        if cluster.mend:
            done = head.put(str(path), content.encode())
            if not done.ok:
                return done
    # Ended there, too: the host does not notice that its ssh client has ended.
    limited = ("timeout", "-k", "5", f"{HELLO_S - ENDING_S:g}")
    env = with_settings(cluster.agreed, recipe.env)
    within = ("sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(recipe.cwd))
    words = (*within, *env, *limited, *recipe.argv)
    return cluster.ssh.run(hosts[0], words, timeout_s=HELLO_S)


def _n_ranks(result: SshResult) -> int:
    """How many ranks reported their host, in a launch that ended well."""
    ranks = set()
    if not result.ok:
        return 0
    for line in result.out.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("record") == "rank":
            ranks.add(record.get("rank"))
    return len(ranks)

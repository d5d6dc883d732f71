"""One table: launcher and situation -> command line."""

from pathlib import Path

import pytest

from weft.launch.launchers import LAUNCHERS
from weft.launch.spec import LaunchSpec

TWO_HOSTS = {"hosts": ("node1", "node2"), "tasks_per_node": 2}
OVER_SSH = {**TWO_HOSTS, "remote_shell": "/own/ssh", "interface": "ib0"}
HERE = {"hosts": ("login",), "tasks_per_node": 4, "on_this_machine": True}


def spec(**changes) -> LaunchSpec:
    fields = {
        "launcher": Path("/mpi/bin/run"),
        "program": ("/k", "--benchmark", "latency"),
        "hostfile": Path("/run/h"),
        "bound": True,
    }
    return LaunchSpec(**(fields | changes))


TABLE = [
    (
        "openmpi",
        spec(**TWO_HOSTS, env={"UCX_TLS": "rc,self"}),
        "/mpi/bin/run --hostfile /run/h -n 4 --map-by slot --bind-to core "
        "-x UCX_TLS=rc,self /k --benchmark latency",
    ),
    (
        "openmpi",
        spec(**HERE, bound=False, oversubscribed=True, as_root=True),
        "/mpi/bin/run --allow-run-as-root --host localhost:4 --mca plm ^slurm "
        "--mca ras ^slurm --mca plm_rsh_agent "
        "/bin/false -n 4 --map-by slot:OVERSUBSCRIBE --bind-to none "
        "-x OMPI_MCA_mpi_yield_when_idle=1 /k --benchmark latency",
    ),
    (
        "hydra",
        spec(**TWO_HOSTS, env={"UCX_TLS": "rc,self"}),
        "/mpi/bin/run -print-all-exitcodes -f /run/h -ppn 2 -n 4 -bind-to core "
        "-genv UCX_TLS rc,self /k --benchmark latency",
    ),
    (
        "hydra",
        spec(**HERE, bound=False, oversubscribed=True),
        "/mpi/bin/run -print-all-exitcodes -launcher fork -hosts login -ppn 4 -n 4 "
        "-bind-to none -genv MPIR_CVAR_DEVICE_COLLECTIVES none /k --benchmark latency",
    ),
    (
        "intel",
        spec(**TWO_HOSTS),
        "/mpi/bin/run -f /run/h -ppn 2 -n 4 -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN core "
        "/k --benchmark latency",
    ),
    (
        "intel",
        spec(**HERE, bound=False, oversubscribed=True),
        "/mpi/bin/run -bootstrap fork -hosts login -ppn 4 -n 4 -genv I_MPI_PIN 0 "
        "-genv I_MPI_WAIT_MODE 1 /k --benchmark latency",
    ),
    (
        "mvapich",
        spec(**TWO_HOSTS),
        "/mpi/bin/run -f /run/h -ppn 2 -n 4 -genv MV2_ENABLE_AFFINITY 1 "
        "-genv MV2_CPU_BINDING_POLICY bunch /k --benchmark latency",
    ),
    (
        "mvapich",
        spec(**HERE, bound=False, oversubscribed=True),
        "/mpi/bin/run -launcher fork -hosts login -ppn 4 -n 4 -genv MV2_ENABLE_AFFINITY 0 "
        "-genv MV2_USE_BLOCKING 1 /k --benchmark latency",
    ),
    (
        "srun",
        spec(**TWO_HOSTS),
        "/mpi/bin/run --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=node1,node2 "
        "--distribution=block --cpu-bind=cores --kill-on-bad-exit=1 --export=ALL "
        "/k --benchmark latency",
    ),
    (
        "srun",
        spec(**TWO_HOSTS, pmi="pmix"),
        "/mpi/bin/run --mpi=pmix --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=node1,node2 "
        "--distribution=block --cpu-bind=cores --kill-on-bad-exit=1 --export=ALL "
        "/k --benchmark latency",
    ),
    (
        "srun",
        spec(**TWO_HOSTS, bound=False, oversubscribed=True),
        "/mpi/bin/run --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=node1,node2 "
        "--distribution=block --cpu-bind=none --overcommit --kill-on-bad-exit=1 --export=ALL "
        "/k --benchmark latency",
    ),
    (
        "openmpi",
        spec(**OVER_SSH, bound=False, as_root=True),
        "/mpi/bin/run --allow-run-as-root --hostfile /run/h --mca plm ^slurm --mca ras ^slurm "
        "--mca plm_rsh_agent /own/ssh "
        "--mca oob_tcp_if_include ib0 --mca btl_tcp_if_include ib0 -n 4 --map-by slot "
        "--bind-to none /k --benchmark latency",
    ),
    (
        "openmpi",
        spec(**OVER_SSH, bound=False, oversubscribed=True),
        "/mpi/bin/run --hostfile /run/h --mca plm ^slurm --mca ras ^slurm "
        "--mca plm_rsh_agent /own/ssh "
        "--mca oob_tcp_if_include ib0 --mca btl_tcp_if_include ib0 -n 4 "
        "--map-by slot:OVERSUBSCRIBE --bind-to none -x OMPI_MCA_mpi_yield_when_idle=1 "
        "/k --benchmark latency",
    ),
    (
        "openmpi",
        spec(**TWO_HOSTS, interface="10.1.0.0/16", env={"OMPI_MCA_btl_tcp_if_include": "eth1"}),
        "/mpi/bin/run --hostfile /run/h --mca oob_tcp_if_include 10.1.0.0/16 -n 4 "
        "--map-by slot --bind-to core -x OMPI_MCA_btl_tcp_if_include=eth1 /k --benchmark latency",
    ),
    (
        "hydra",
        spec(**OVER_SSH, bound=False, as_root=True),
        "/mpi/bin/run -print-all-exitcodes -launcher ssh -launcher-exec /own/ssh -iface ib0 "
        "-f /run/h -ppn 2 -n 4 -bind-to none -genv FI_TCP_IFACE ib0 /k --benchmark latency",
    ),
    (
        "hydra",
        spec(**TWO_HOSTS, remote_shell="/own/ssh"),
        "/mpi/bin/run -print-all-exitcodes -launcher ssh -launcher-exec /own/ssh "
        "-f /run/h -ppn 2 -n 4 -bind-to core /k --benchmark latency",
    ),
    (
        "hydra",
        spec(**OVER_SSH, bound=False, oversubscribed=True, env={"FI_TCP_IFACE": "eth1"}),
        "/mpi/bin/run -print-all-exitcodes -launcher ssh -launcher-exec /own/ssh -iface ib0 "
        "-f /run/h -ppn 2 -n 4 -bind-to none -genv FI_TCP_IFACE eth1 "
        "-genv MPIR_CVAR_DEVICE_COLLECTIVES none /k --benchmark latency",
    ),
    (
        "intel",
        spec(**OVER_SSH, bound=False),
        "/mpi/bin/run -bootstrap ssh -bootstrap-exec /own/ssh -iface ib0 -f /run/h -ppn 2 -n 4 "
        "-genv I_MPI_PIN 0 -genv FI_TCP_IFACE ib0 /k --benchmark latency",
    ),
    (
        "intel",
        spec(**OVER_SSH, oversubscribed=True, as_root=True),
        "/mpi/bin/run -bootstrap ssh -bootstrap-exec /own/ssh -iface ib0 -f /run/h -ppn 2 -n 4 "
        "-genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN core -genv FI_TCP_IFACE ib0 "
        "/k --benchmark latency",
    ),
    (
        "mvapich",
        spec(**OVER_SSH, bound=False),
        "/mpi/bin/run -launcher ssh -launcher-exec /own/ssh -iface ib0 -f /run/h -ppn 2 -n 4 "
        "-genv MV2_ENABLE_AFFINITY 0 -genv FI_TCP_IFACE ib0 /k --benchmark latency",
    ),
    (
        "srun",
        spec(**OVER_SSH, bound=False, as_root=True),
        "/mpi/bin/run --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=node1,node2 "
        "--distribution=block --cpu-bind=none --kill-on-bad-exit=1 --export=ALL "
        "/k --benchmark latency",
    ),
]


@pytest.mark.parametrize(("launcher", "given", "expected"), TABLE)
def test_command_line(launcher: str, given: LaunchSpec, expected: str):
    assert " ".join(LAUNCHERS[launcher].command(given).argv) == expected


# What reaches a launcher or its ranks beside argv.
ENVIRONMENTS = [
    ("openmpi", spec(**OVER_SSH), {}),
    (
        "openmpi",
        spec(**OVER_SSH, oversubscribed=True, as_root=True),
        {
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
    ),
    *((launcher, spec(**OVER_SSH, as_root=True), {}) for launcher in ("hydra", "intel", "mvapich")),
    ("srun", spec(**TWO_HOSTS), {}),
    ("srun", spec(**TWO_HOSTS, pmi="pmi2"), {}),
    # The plugin looks for the nodes of a step in the list of the job's.
    ("srun", spec(**TWO_HOSTS, pmi="pmix_v4"), {"SLURM_JOB_NODELIST": "node1,node2"}),
    ("srun", spec(**OVER_SSH), {"FI_TCP_IFACE": "ib0", "OMPI_MCA_btl_tcp_if_include": "ib0"}),
    (
        "srun",
        spec(**OVER_SSH, env={"FI_TCP_IFACE": "eth1"}),
        {"FI_TCP_IFACE": "eth1", "OMPI_MCA_btl_tcp_if_include": "ib0"},
    ),
]


@pytest.mark.parametrize(("launcher", "given", "expected"), ENVIRONMENTS)
def test_environment_of_the_launcher(launcher: str, given: LaunchSpec, expected: dict[str, str]):
    assert LAUNCHERS[launcher].command(given).env == expected


def test_every_launcher_is_in_the_table():
    assert {row[0] for row in TABLE} == set(LAUNCHERS)


@pytest.mark.parametrize("launcher", [name for name in LAUNCHERS if name != "srun"])
def test_several_hosts_are_written_to_a_file_and_one_machine_needs_none(launcher: str):
    text = LAUNCHERS[launcher].command(spec(**TWO_HOSTS)).hostfile_text
    assert text is not None
    assert [line.split()[0] for line in text.splitlines()] == ["node1", "node2"]
    assert LAUNCHERS[launcher].command(spec(**HERE)).hostfile_text is None


def test_open_mpi_counts_slots_in_its_host_file():
    text = LAUNCHERS["openmpi"].command(spec(**TWO_HOSTS)).hostfile_text
    assert text == "node1 slots=2\nnode2 slots=2\n"


@pytest.mark.parametrize("launcher", list(LAUNCHERS))
def test_a_variable_reaches_the_ranks_whole(launcher: str):
    command = LAUNCHERS[launcher].command(spec(**TWO_HOSTS, env={"UCX_NET_DEVICES": "a:1,b:1"}))
    on_the_line = " ".join(command.argv).replace("=", " ")
    assert "UCX_NET_DEVICES a:1,b:1" in on_the_line or command.env["UCX_NET_DEVICES"] == "a:1,b:1"


@pytest.mark.parametrize("launcher", list(LAUNCHERS))
def test_a_setting_of_the_user_wins_over_ours(launcher: str):
    ours = {
        "openmpi": "OMPI_MCA_mpi_yield_when_idle",
        "hydra": "MPIR_CVAR_DEVICE_COLLECTIVES",
        "srun": "MPIR_CVAR_DEVICE_COLLECTIVES",
        "intel": "I_MPI_PIN",
        "mvapich": "MV2_ENABLE_AFFINITY",
    }[launcher]
    given = spec(**TWO_HOSTS, bound=False, oversubscribed=True, env={ours: "mine"})
    command = LAUNCHERS[launcher].command(given)
    said = " ".join(command.argv).replace("=", " ") + f" {ours} {command.env.get(ours, '')}"
    assert f"{ours} mine" in said
    assert " ".join(command.argv).count(ours) <= 1


@pytest.mark.parametrize("launcher", [name for name in LAUNCHERS if name != "srun"])
def test_on_this_machine_no_other_host_is_named(launcher: str):
    words = LAUNCHERS[launcher].command(spec(**HERE, bound=False)).argv
    assert "/run/h" not in words
    assert {"login", "localhost:4"} & set(words)

"""`--quiet`: counters that move while no rank sends, in a made-up /sys that a thread writes."""

import os
import subprocess
import sys

import pytest
from tests.counter_files import growing, put
from tests.kernel.conftest import records_of
from tests.needs import need

BARRIER = ("--benchmark", "barrier", "--iterations", "2", "--warmup", "0")
SECONDS = 0.2


def port_of(sysfs, device="mlx5_0"):
    port = sysfs / "class" / "infiniband" / device / "ports" / "1"
    (port / "counters").mkdir(parents=True)
    (port / "link_layer").write_text("InfiniBand\n")
    (port / "state").write_text("4: ACTIVE\n")
    (port / "rate").write_text("200 Gb/sec (4X HDR)\n")
    return port


@pytest.fixture
def sysfs(tmp_path):
    busy = port_of(tmp_path)
    for name in ("port_xmit_data", "port_rcv_data"):
        put(busy / "counters" / name, 5)
    return tmp_path


def busy_counter(sysfs):
    return sysfs / "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"


def test_a_counter_that_somebody_moves_is_reported_with_its_place(any_kernel, sysfs):
    with growing(busy_counter(sysfs), 1000, start=10**9):
        outcome = any_kernel.run(
            2, *BARRIER, "--quiet", str(SECONDS), WEFT_SYSFS=str(sysfs), UCX_LOG_LEVEL="error"
        )
    record = outcome.only("quiet")
    assert record["delta"] % 1000 == 0
    assert record["delta"] > 0
    assert record["elapsed_ns"] >= SECONDS * 1e9
    place = [record[key] for key in ("host", "device", "port", "link_layer", "counter")]
    assert place == [os.uname().nodename, "mlx5_0", 1, "InfiniBand", "port_rcv_data"]
    assert (record["state"], record["link_rate_gbps"]) == ("ACTIVE", 200.0)
    assert outcome.only("header")["quiet_ns"] == int(SECONDS * 1e9)


def test_counters_that_rest_leave_no_record_but_the_header_says_that_they_were_watched(
    kernel, sysfs
):
    outcome = kernel.run(2, *BARRIER, "--quiet", str(SECONDS), WEFT_SYSFS=str(sysfs))
    assert outcome.of("quiet") == []
    assert outcome.only("header")["quiet_ns"] == int(SECONDS * 1e9)
    assert outcome.only("end")["elapsed_ns"] >= SECONDS * 1e9


def test_a_counter_that_goes_backwards_was_reset_and_is_no_traffic(kernel, sysfs):
    with growing(busy_counter(sysfs), -1000, start=10**9):
        outcome = kernel.run(2, *BARRIER, "--quiet", str(SECONDS), WEFT_SYSFS=str(sysfs))
    assert outcome.of("quiet") == []


def test_without_the_option_no_one_watches(kernel, sysfs):
    with growing(busy_counter(sysfs), 1000, start=10**9):
        outcome = kernel.run(2, *BARRIER, WEFT_SYSFS=str(sysfs))
    assert outcome.of("quiet") == []
    assert outcome.only("header")["quiet_ns"] == 0


def test_every_host_watches_its_own_devices(kernel, sysfs):
    elsewhere = ("unshare", "--uts", "sh", "-c")
    need("unshare", package="util-linux")
    probe = [*elsewhere, "hostname elsewhere"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("a host name of one's own needs root")
    here = ["-n", "1", str(kernel.binary), *BARRIER, "--quiet", str(SECONDS)]
    there = ["-n", "1", *elsewhere, 'hostname elsewhere; exec "$0" "$@"', *here[2:]]
    with growing(busy_counter(sysfs), 1000, start=10**9):
        done = subprocess.run(
            [*kernel.launcher, *here, ":", *there],
            env={**os.environ, "WEFT_SYSFS": str(sysfs)},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
    records = list(records_of(done.stdout))
    hosts = [record["host"] for record in records if record["record"] == "quiet"]
    assert hosts == [os.uname().nodename, "elsewhere"]
    assert records[0]["n_machines"] == 1


@pytest.mark.parametrize("text", ["0", "-1", "soon", "1x", ""])
def test_a_time_that_is_none_is_refused(kernel, text):
    outcome = kernel.run(2, *BARRIER, "--quiet", text)
    assert outcome.exit_code == 2
    assert "--quiet" in outcome.stderr + outcome.stdout


def test_rates_and_states_of_interfaces_are_reported(kernel, tmp_path):
    interface = tmp_path / "class" / "net" / "eth0"
    (interface / "statistics").mkdir(parents=True)
    (interface / "device").mkdir()
    for name, text in {
        "type": "1", "operstate": "up", "speed": "25000",
        "statistics/tx_bytes": "5", "device/numa_node": "1",
    }.items():  # fmt: skip
        (interface / name).write_text(text + "\n")
    device = kernel.run(1, *BARRIER, WEFT_SYSFS=str(tmp_path)).only("device")
    told = [device[key] for key in ("device", "state", "link_rate_gbps", "numa_node")]
    assert told == ["eth0", "up", 25.0, 1]


def test_a_slingshot_device_has_the_state_and_rate_of_its_interface(kernel, tmp_path):
    device = tmp_path / "class" / "cxi" / "cxi0" / "device"
    (device / "telemetry").mkdir(parents=True)
    (device / "net" / "hsn0").mkdir(parents=True)
    (device / "telemetry" / "hni_sts_tx_ok_octets").write_text("77@1700000000.5\n")
    (device / "net" / "hsn0" / "operstate").write_text("up\n")
    (device / "net" / "hsn0" / "speed").write_text("200000\n")
    (device / "numa_node").write_text("3\n")
    record = kernel.run(1, *BARRIER, WEFT_SYSFS=str(tmp_path)).only("device")
    told = [record[key] for key in ("device", "state", "link_rate_gbps", "numa_node", "before")]
    assert told == ["cxi0", "up", 200.0, 3, 77]


def test_segments_that_tcp_sent_again_are_counted(kernel, tmp_path):
    (tmp_path / "sys").mkdir()
    snmp = tmp_path / "proc" / "net" / "snmp"
    snmp.parent.mkdir(parents=True)
    snmp.write_text(
        "Ip: Forwarding RetransSegs\nIp: 1 7\nTcp: OutSegs RetransSegs InErrs\nTcp: 900 42 0\n"
    )
    record = kernel.run(1, *BARRIER, WEFT_SYSFS=str(tmp_path / "sys")).only("device")
    told = [record[key] for key in ("device", "link_layer", "counter", "before", "after")]
    assert told == ["tcp", "TCP", "RetransSegs", 42, 42]


DATAGRAM = 1000
FRAME = DATAGRAM + 8 + 20 + 14  # UDP, IPv4 and Ethernet headers, as the device counts them
SENDER = f"""
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20000):
    out.sendto(bytes({DATAGRAM}), ("10.9.9.2", 9))
    time.sleep(0.002)
"""
WIRE = """
mount -t sysfs sysfs /sys
ip link add va type veth peer name vb
for end in va vb; do
    plain=/proc/sys/net/ipv6/conf/$end/disable_ipv6
    [ ! -e $plain ] || echo 1 > $plain
done
ip addr add 10.9.9.1/24 dev va
ip link set va up
ip link set vb up
ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev va
"""


def test_real_traffic_of_another_process_is_counted_to_the_byte(kernel):
    """A sender in a network namespace of its own, over a cable that Linux makes up."""
    apart = ("unshare", "--net", "--mount", "sh", "-ec")
    need("unshare", "ip", package="util-linux iproute2")
    if subprocess.run([*apart, WIRE], capture_output=True, check=False).returncode:
        pytest.skip("a network of one's own needs root")
    script = WIRE + '"$0" -c "$SENDER" & trap "kill $!" EXIT; "$@"'
    argv = [*kernel.launcher, "-n", "1", str(kernel.binary), *BARRIER, "--quiet", "0.5"]
    done = subprocess.run(
        [*apart, script, sys.executable, *argv],
        env={**os.environ, "SENDER": SENDER},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    moved = {
        (record["device"], record["counter"]): record
        for record in records_of(done.stdout)
        if record["record"] == "quiet"
    }
    assert set(moved) == {("va", "tx_bytes"), ("vb", "rx_bytes")}, done.stderr
    for record in moved.values():
        assert record["virtual"]
        assert record["delta"] % FRAME == 0
        # One frame every 2 ms at most, and one more for each end.
        assert 0 < record["delta"] // FRAME <= record["elapsed_ns"] / 2e6 + 2

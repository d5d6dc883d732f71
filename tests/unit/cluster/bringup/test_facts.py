"""What a host says of itself is read, and what is no answer refused."""

import os
import subprocess
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cluster.bringup.facts import PROBE, read_facts

GOOD = """\
system\tLinux
machine\tx86_64
user\tann
uid\t1000
home\t/home/ann
os\tDebian
clock\t1700000000.25
memlock\tunlimited
shm_kib\t1024
cpus\t64
ssh\t10.0.0.9 4242 10.0.0.1 2222
address:lo\t127.0.0.1/8
address:ib0\t10.0.0.1/16
port:mlx5_0:1\tInfiniBand 4: ACTIVE
end\tend
"""


def test_facts_are_read() -> None:
    facts = read_facts(GOOD, 1.7e9)
    assert (facts.user, facts.uid, facts.home, facts.n_cpus) == ("ann", 1000, "/home/ann", 64)
    assert facts.clock_s - facts.asked_s == 0.25
    assert (facts.memlock_kib, facts.shm_bytes) == (None, 1 << 20)
    assert (facts.server, facts.ssh_port, facts.interface) == ("10.0.0.1", 2222, "ib0")
    assert facts.ports == (("mlx5_0:1", "InfiniBand 4: ACTIVE"),)


def test_the_probe_runs_in_any_posix_shell() -> None:
    done = subprocess.run(
        ["sh", "-s"], input=PROBE, capture_output=True, text=True, check=True, timeout=20
    )
    facts = read_facts(done.stdout, 0.0)
    assert facts.system == "Linux"
    assert facts.uid == os.getuid()
    assert ("lo", "127.0.0.1/8") in facts.addresses or not facts.addresses
    assert done.stderr == ""


@pytest.mark.parametrize("key", ["system", "user", "uid", "home", "clock", "end"])
def test_what_is_cut_short_is_refused(key: str) -> None:
    text = "".join(line for line in GOOD.splitlines(True) if not line.startswith(key + "\t"))
    with pytest.raises(ValueError, match=f"did not report its {key}"):
        read_facts(text, 0.0)


def test_what_login_scripts_print_is_passed_over() -> None:
    assert read_facts("Welcome to node1!\n\n\x1b[1mnews\n" + GOOD, 0.0).user == "ann"


def test_what_would_steer_a_terminal_is_gone() -> None:
    facts = read_facts(GOOD.replace("Debian", "De\x1b[31mbian\x07"), 0.0)
    assert facts.os == "De[31mbian"


@given(st.text())
def test_any_text_is_facts_or_refused(text: str) -> None:
    with suppress(ValueError):
        read_facts(text, 0.0)
    with suppress(ValueError):
        read_facts(GOOD + text, 0.0)


@given(st.sampled_from(GOOD.splitlines()), st.text())
def test_a_damaged_line_is_refused_or_passed_over(line: str, damage: str) -> None:
    with suppress(ValueError):
        read_facts(GOOD.replace(line, line.partition("\t")[0] + "\t" + damage), 0.0)

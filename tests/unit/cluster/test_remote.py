"""Commands on other hosts arrive word by word, whatever the words are."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.needs import need

from weft.cluster.head import Head
from weft.cluster.remote import Ssh, SshResult, each
from weft.cluster.ssh_failure import ssh_failure_of
from weft.core.errors import InputError

HOSTILE = (
    "; touch /tmp/pwned", "$(reboot)", "`id`", "a b", "", "'", '"', "\\", "*", "~", "-rf", "a\nb",
    "!!", "a\\'b", "\\\\", "%h", "#", "é", "\t", "${IFS}", "&", "|", ">x",
)  # fmt: skip
NAMES = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"))


@pytest.fixture(params=["sh", "tcsh", "fish"])
def login_shell(request: pytest.FixtureRequest) -> str:
    """Of the user on the other host."""
    shell = str(request.param)
    need(shell)
    return shell


def arrived(login_shell: str, command: list[str]) -> list[str]:
    """The words that the shell of the other host makes of it: sshd gives it the last argument."""
    line = Ssh().argv("node1", ["printf", "%s\\0", *command])[-1]
    done = subprocess.run([login_shell, "-c", line], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_arrive_as_they_are(login_shell: str, word: str) -> None:
    assert arrived(login_shell, [word]) == [word]


def test_a_script_runs_whatever_the_login_shell(login_shell: str, tmp_path: Path) -> None:
    line = Head(Ssh(), "node1", f"{tmp_path}/it's").argv(["sh", "-c", "! echo in; pwd"], {})[-1]
    stdin = subprocess.PIPE
    with subprocess.Popen([login_shell, "-c", line], stdin=stdin, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.read() == f"in\n{tmp_path}/it's\n".encode()


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_no_shell_reads_more_than_words(words: list[str]) -> None:
    line = Ssh().argv("node1", words)[-1]
    assert not {*line} & {"\n", "!"}
    assert line == shlex.join(words) or shlex.split(line)[:2] == ["sh", "-c"]


def test_what_a_user_wants_of_his_own_logins_is_left_out(tmp_path: Path) -> None:
    """As ssh itself reads the configuration and the options."""
    config = tmp_path / "config"
    config.write_text("Host *\n  RemoteCommand tmux\n  LocalForward 9999 localhost:80\n")
    program, *options = Ssh(config).argv("node1", ["true"])
    said = subprocess.run(
        [program, "-G", *options[:-1]], capture_output=True, text=True, check=True
    )
    assert "remotecommand none" in said.stdout or "remotecommand" not in said.stdout
    assert "clearallforwardings yes" in said.stdout


@pytest.mark.parametrize(
    "host",
    ["", "-oProxyCommand=x", "a b", "a\nb", "\x1b[31m", "$(id)", "`id`", "a;b", "a|b", "'a'", "é"],
)
def test_what_is_no_host_name_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="is no host name"):
        Ssh().argv(host, ["true"])


@pytest.mark.parametrize("host", ["node001", "10.0.0.1", "fe80::1%eth0", "ann@n1.example", "::1"])
def test_names_and_addresses_are_host_names(host: str) -> None:
    assert host in Ssh().argv(host, ["true"])


def test_host_keys_are_never_checked_less(tmp_path: Path) -> None:
    words = " ".join(Ssh(tmp_path / "config").argv("node1", ["true"]))
    assert "StrictHostKeyChecking" not in words
    assert "UserKnownHostsFile" not in words
    assert f"-F {tmp_path}/config" in words
    assert "BatchMode=yes" in words


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for ssh: the last word runs here."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return ssh


@pytest.mark.usefixtures("fake_ssh")
def test_what_was_said_comes_back() -> None:
    said = Ssh().run("node1", ["sh", "-c", "cat; echo wrong >&2; exit 3"], stdin=b"in", timeout_s=9)
    assert said == SshResult(3, "in", "wrong\n")
    assert said.reached
    assert not said.ok
    assert said.last_line == "wrong"


@pytest.mark.usefixtures("fake_ssh")
def test_a_host_that_says_nothing_is_given_up() -> None:
    said = Ssh().run("node1", ["sleep", "60"], timeout_s=0.2)
    assert said.code is None
    assert not said.reached
    assert said.err == "no answer within 0.2 s"


@pytest.mark.usefixtures("fake_ssh")
def test_endless_words_are_cut_short() -> None:
    said = Ssh().run("node1", ["yes"], timeout_s=30)
    assert said.code is None
    assert said.err == "it wrote more than 4 MiB"


def test_what_login_scripts_print_is_no_answer(fake_ssh: Path) -> None:
    fake_ssh.write_text(f"#!/bin/sh\necho Welcome, weft changed\n{fake_ssh.read_text()[10:]}")
    assert Ssh().run("node1", ["printf", "a\\n"], timeout_s=9) == SshResult(0, "a\n", "")


def test_a_login_that_was_turned_away_is_tried_again(fake_ssh: Path) -> None:
    tried = fake_ssh.with_name("tried")
    fake_ssh.write_text(
        f"""#!/bin/sh
        echo x >> {tried}
        [ "$(wc -l < {tried})" -ge 3 ] && for last; do :; done && exec sh -c "$last"
        echo 'kex_exchange_identification: read: Connection reset by peer' >&2
        exit 255
        """
    )
    assert Ssh().run("node1", ["echo", "in"], timeout_s=30) == SshResult(0, "in\n", "")
    tried.unlink()
    assert not Ssh().run("node1", ["echo", "in"], timeout_s=0.2).reached
    assert tried.read_text() == "x\n"


@pytest.mark.parametrize(
    "why",
    [
        "node1: Connection refused",
        "channel 0: open failed: connect failed: No route to host",
        "the virtual cluster is not running",
    ],
)
def test_a_host_that_is_not_there_behind_a_proxy_is_not_tried_again(
    fake_ssh: Path, why: str
) -> None:
    tried = fake_ssh.with_name("tried")
    dropped = "kex_exchange_identification: Connection closed by remote host"
    fake_ssh.write_text(
        f"#!/bin/sh\necho x >> {tried}\nprintf '%s\\n' '{why}' '{dropped}' >&2\nexit 255\n"
    )
    said = Ssh().run("node1", ["true"], timeout_s=30)
    assert tried.read_text() == "x\n"
    assert not said.reached
    assert ssh_failure_of("node1", said).cause != "its sshd closed the connection"


def test_a_command_that_fails_as_ssh_does_is_not_tried_again(fake_ssh: Path) -> None:
    tried = fake_ssh.with_name("tried")
    words = ["sh", "-c", f"echo x >> {tried}; echo kex_exchange_identification: >&2; exit 255"]
    assert Ssh().run("node1", words, timeout_s=30).code == 255
    assert tried.read_text() == "x\n"


def test_a_login_shell_that_runs_nothing_is_reported(fake_ssh: Path) -> None:
    fake_ssh.write_text("#!/bin/sh\necho This account is not available.\n")
    said = Ssh().run("node1", ["true"], timeout_s=9)
    assert not said.reached
    assert said.last_line == "its login shell did not run the command"


@pytest.mark.usefixtures("fake_ssh")
@given(st.lists(NAMES, min_size=1, max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_arrive_through_a_real_shell(words: list[str]) -> None:
    said = Ssh().run("node1", ["printf", "%s\\0", *words], timeout_s=20)
    assert said.out.split("\0")[:-1] == words


@pytest.mark.usefixtures("fake_ssh")
def test_many_hosts_at_once_in_their_order() -> None:
    hosts = [f"node{i}" for i in range(100)]
    found = each(hosts, lambda host: host.upper())
    assert list(found) == hosts
    assert found["node7"] == "NODE7"


def test_what_steers_a_terminal_is_not_repeated() -> None:
    assert SshResult(1, "", "\x1b]0;title\x07bad\n").last_line == "]0;titlebad"


def test_a_sentence_is_not_endless() -> None:
    assert len(SshResult(1, "", "x" * 10_000_000).last_line) < 400

"""What a cluster in Azure may be; a wrong word is refused before anything is written."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cluster.cloud.conftest import ED25519, Planned, public_key

from weft.cluster.cloud.plan import own_key, read_key
from weft.core.errors import InputError


def test_nodes_are_called_as_azure_calls_them(planned: Planned) -> None:
    names = planned(name="myprefix", nodes=100).host_names
    assert (names[0], names[10], names[35], names[85]) == (
        "myprefix000000", "myprefix00000A", "myprefix00000Z", "myprefix00002D",
    )  # fmt: skip


def test_the_address_is_known_before_it_is_there(planned: Planned) -> None:
    plan = planned()
    assert plan.address == f"{plan.label}.southcentralus.cloudapp.azure.com"
    assert planned(location=None).address is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": "9lives"}, "'9lives' is no name of a cluster in Azure"),
        ({"name": "a b"}, "'a b' is no name of a cluster in Azure"),
        ({"nodes": 101}, "101 nodes are more than one placement group holds"),
        ({"nodes": 301}, "301 nodes are more than one placement group holds"),
        ({"user": "admin"}, "Azure lets no administrator be called 'admin'"),
        ({"user": "x y"}, "Azure lets no administrator be called 'x y'"),
        ({"ssh_from": "192.0.2.7/24"}, "--ssh-from: 192.0.2.7/24 has host bits set"),
        ({"ssh_from": "everywhere"}, "--ssh-from: 'everywhere' does not appear to be"),
        ({"ssh_from": "0.0.0.0/0"}, "--ssh-from 0.0.0.0/0 lets in everybody"),
        ({"location": "[resourceGroup()]"}, "'[resourcegroup()]' is no region"),
    ],
)
def test_wrong_words_are_refused(planned: Planned, words: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        planned(**words)
    assert said in raised.value.what


@pytest.mark.parametrize(
    ("nodes", "hint"), [(101, "raises that to 300"), (301, "even on request a group holds 300")]
)
def test_too_many_nodes_say_what_support_can_do(planned: Planned, nodes: int, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        planned(nodes=nodes)
    assert hint in str(raised.value.hint)


@pytest.mark.parametrize("kind", [("ed25519",), ("rsa", "-b", "2048")])
def test_keys_that_ssh_keygen_makes_are_read(tmp_path: Path, kind: tuple[str, ...]) -> None:
    file = tmp_path / "key"
    argv = ["ssh-keygen", "-q", "-t", *kind, "-N", "", "-C", "me@here", "-f", str(file)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, timeout=60)
    public = file.with_suffix(".pub")
    assert read_key(public) == public.read_text().rsplit(" ", 1)[0]
    with pytest.raises(InputError) as raised:
        read_key(file)
    assert raised.value.what == "that is a private key, which stays where it is"
    secret = file.read_text().splitlines()[1]
    assert secret not in raised.value.describe()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 !!!!",
        f"{ED25519}\n{ED25519}",
        public_key("ssh-dss", b"1"),
        public_key("ecdsa-sha2-nistp256", b"nistp256", b"point"),
        public_key("ssh-ed25519", bytes(31)),
        public_key("ssh-rsa", b"\1\0\1", b"\x7f" + bytes(127)),
        f'command="x" {ED25519}',
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP",
    ],
)
def test_what_is_no_key_for_azure_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key.pub"
    file.write_text(text)
    with pytest.raises(InputError):
        read_key(file)


def test_the_own_key_is_found_or_missed(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        own_key(tmp_path)
    assert "--ssh-key" in str(raised.value.expected)
    (tmp_path / "id_rsa.pub").touch()
    assert own_key(tmp_path).name == "id_rsa.pub"
    (tmp_path / "id_ed25519.pub").touch()
    assert own_key(tmp_path).name == "id_ed25519.pub"

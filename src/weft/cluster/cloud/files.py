"""The files of a plan: the template for Azure, and the files for ssh and `weft cluster up`."""

from contextlib import closing
from pathlib import Path

from weft.cluster.cloud.arm import template
from weft.cluster.cloud.cloud_init import cloud_init
from weft.cluster.cloud.plan import FIRST_PORT, Plan
from weft.cluster.remote import config_path
from weft.core.documents.document_text import MOST_JSON_BYTES
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError
from weft.core.files import HeldFolder, make_folder
from weft.core.shell_line import quoted, shell_line

TEMPLATE = "template.json"
NODE_CLOUD_INIT = "cloud-init.yaml"
JUMP_CLOUD_INIT = "cloud-init-jump.yaml"
SSH_CONFIG = "ssh_config"
HOSTS = "hosts"
GROUP = "YOUR-GROUP"
REGION = "YOUR-REGION"


def files_of(plan: Plan, folder: Path) -> dict[str, str]:
    """Name -> content. `folder` is where they will lie."""
    found = {TEMPLATE: template(plan), NODE_CLOUD_INIT: cloud_init(node=True)}
    if plan.reach == "jump":
        found[JUMP_CLOUD_INIT] = cloud_init(node=False)
    found[SSH_CONFIG] = ssh_config(plan, folder)
    found[HOSTS] = "".join(f"{name}\n" for name in plan.host_names)
    return found


def write_files(files: dict[str, str], folder: Path) -> None:
    """Write them. Raises InputError where another file has the name: nothing is written then;
    StorageError on a disk that refuses."""
    try:
        for name, content in files.items():
            path = folder / name
            if path.exists() and _bytes_of(path) != content.encode():
                raise InputError(
                    "there is another file already",
                    where=str(path),
                    expected="an empty folder, or one with the same files",
                    hint="another --dir, or remove what is there",
                )
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=str(folder), expected="a folder"
        ) from error
    make_folder(folder, what="folder of the files")
    with closing(HeldFolder(folder)) as held:
        for name, content in files.items():
            held.refuse_lost()
            held.write_part(name, content, what=f"file {name}")
        held.refuse_lost()


def _bytes_of(path: Path) -> bytes:
    expected = "the folder of an earlier template, or an empty one"
    return read_file_bytes(path, expected=expected, most_bytes=MOST_JSON_BYTES)


def ssh_config(plan: Plan, folder: Path) -> str:
    """The file of `ssh -F`: the public address, and the nodes behind it.

    The first key that a machine shows is kept in `folder`, and ssh accepts no other from then on;
    the user's own list of known hosts stays as it is.
    """
    address = plan.address or f"{plan.label}.{REGION}.cloudapp.azure.com"
    common = [
        f"User {plan.user}",
        f"IdentityFile {config_path(_identity(plan.key_file))}",
        "IdentitiesOnly yes",
        "StrictHostKeyChecking accept-new",
        f"UserKnownHostsFile {config_path(folder.absolute() / 'known_hosts')}",
        "ServerAliveInterval 30",
    ]
    if plan.reach == "jump":
        blocks = [
            _block(plan.jump, [f"HostName {address}", *common]),
            _block(f"{plan.name}??????", [f"ProxyJump {plan.jump}", *common]),
        ]
    else:
        blocks = [
            _block(name, [f"HostName {address}", f"Port {FIRST_PORT + i}", *common])
            for i, name in enumerate(plan.host_names)
        ]
    return f"# {plan.nodes} x {plan.size.name}: ssh -F {SSH_CONFIG} HOST\n" + "\n".join(blocks)


def commands(plan: Plan, folder: Path) -> tuple[str, ...]:
    """The two commands that come next: deploy, and bring up."""
    deploy = ["az", "deployment", "group", "create", "--resource-group", GROUP]
    deploy += ["--name", plan.name, "--template-file", str(folder / TEMPLATE)]
    if plan.ssh_from is None:
        deploy += ["--parameters", "sshSource=YOUR-ADDRESS/32"]
    up = ["weft", "cluster", "up", "--name", plan.name]
    up += ["--hostfile", str(folder / HOSTS), "--ssh-config", str(folder / SSH_CONFIG)]
    return shell_line(deploy), shell_line(up)


def real_hosts(plan: Plan, folder: Path) -> str:
    """The command that replaces the expected host names by those that Azure gave."""
    ask = ["az", "vmss", "list-instances", "--resource-group", GROUP, "--name", plan.name]
    ask += ["--query", "[].osProfile.computerName", "--output", "tsv"]
    return f"{shell_line(ask)} > {quoted(str(folder / HOSTS))}"


def _identity(key_file: Path) -> Path:
    """The private key where it lies next to the public one; an agent may hold it under the latter's
    name as well."""
    private = key_file.with_suffix("") if key_file.suffix == ".pub" else key_file
    return (private if private.exists() else key_file).absolute()


def _block(host: str, lines: list[str]) -> str:
    return f"Host {host}\n" + "".join(f"    {line}\n" for line in lines)

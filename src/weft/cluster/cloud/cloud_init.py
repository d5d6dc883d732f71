"""The cloud-init file of a fresh machine. Written as JSON, which YAML contains."""

import json
from typing import Any

HEAD = "#cloud-config\n"

_LIMITS = "* soft memlock unlimited\n* hard memlock unlimited\n"
# SOURCE: sshd_config(5), OpenSSH 8.9: MaxStartups is 10:30:100 and MaxSessions 10 unless set: of
# more than ten logins at once through a jump host some would be turned away at random.
_SSHD = """\
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 400:30:500
MaxSessions 400
"""
_RELOAD = "systemctl try-reload-or-restart ssh || systemctl try-reload-or-restart sshd"


def cloud_init(*, node: bool) -> str:
    """The whole text, of a node or of the jump host. Nothing is fetched: nodes may not reach
    the Internet."""
    files = [_file("/etc/ssh/sshd_config.d/10-weft.conf", _SSHD, "0600")]
    if node:
        files.append(_file("/etc/security/limits.d/90-weft.conf", _LIMITS, "0644"))
    document = {
        "ssh_pwauth": False,
        "disable_root": True,
        "package_update": False,
        "write_files": files,
        "runcmd": [["sh", "-c", _RELOAD]],
    }
    return HEAD + json.dumps(document, indent=1) + "\n"


def _file(path: str, content: str, mode: str) -> dict[str, Any]:
    return {"path": path, "content": content, "owner": "root:root", "permissions": mode}

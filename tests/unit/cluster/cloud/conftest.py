"""Plans of made-up clusters."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cluster.cloud.plan import Plan, Reach, make_plan


def public_key(kind: str, *fields: bytes) -> str:
    parts = (kind.encode(), *fields)
    blob = b"".join(len(part).to_bytes(4) + part for part in parts)
    return f"{kind} {b64encode(blob).decode()} someone@somewhere"


ED25519 = public_key("ssh-ed25519", bytes(range(32)))

Planned = Callable[..., Plan]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """Makes a plan of 16 nodes, other words given."""
    key = tmp_path / "id.pub"
    key.write_text(ED25519 + "\n")

    def make(
        *,
        name: str = "weft",
        sku: str = "HB120rs_v3",
        nodes: int = 16,
        user: str = "azureuser",
        key_file: Path | None = None,
        ssh_from: str | None = "192.0.2.0/24",
        location: str | None = "South Central US",
        reach: Reach = "jump",
    ) -> Plan:
        return make_plan(
            name=name,
            sku=sku,
            nodes=nodes,
            user=user,
            key_file=key_file or key,
            ssh_from=ssh_from,
            location=location,
            reach=reach,
        )

    return make

"""A host that is gone spoils what needs it, and no more."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.unit.bench.rdma.test_plan import paths

from weft.bench.rdma.children import RemoteChild, RemoteChildren
from weft.bench.rdma.measure import measure
from weft.bench.rdma.plan import PerftestOptions
from weft.cluster.remote import Ssh
from weft.core.process import Limits


@pytest.mark.parametrize("ended", [False, True])
def test_a_host_that_is_gone_is_the_cause_in_its_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ended: bool
) -> None:
    """Whether or not the ssh of its servers has ended by the time their ports are asked for."""
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'port 22: No route to host' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    start = RemoteChildren.start

    def start_and_wait(
        self: RemoteChildren, host: str, argv: Sequence[str], env: Mapping[str, str], streams: Path
    ) -> RemoteChild:
        child = start(self, host, argv, env, streams)
        child.process.wait(Limits(30))
        return child

    if ended:
        monkeypatch.setattr(RemoteChildren, "start", start_and_wait)
    options, states = PerftestOptions("host", 8 << 20, 10, 18515), list[str]()
    readings = measure(Ssh(), paths(options), options, tmp_path, states.append)
    assert [one.path.target.host for one in readings] == ["b", "b", "a", "a"]
    assert len(states) == 2
    for one in readings:
        assert one.gbps is None
        assert one.cause is not None
        assert one.cause.what.startswith(f"{one.path.target.host}: cannot be asked which TCP ports")
        assert "No route to host" in one.cause.what
        assert one.cause.remedy == f"try by hand: ssh {one.path.target.host} true"

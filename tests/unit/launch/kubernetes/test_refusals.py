"""What kubectl prints, as the error that names who must act."""

import pytest

from weft.core.errors import InputError, MissingError
from weft.launch.kubernetes.kubectl import refusal

VALIDATING = 'error: error validating "STDIN": error validating data: '
IGNORE = "; if you choose to ignore these errors, turn validation off with --validate=false"
OPENAPI = 'Get "https://127.0.0.1:9/openapi/v2?timeout=32s": dial tcp 127.0.0.1:9: connect: '


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        (f"{VALIDATING}{OPENAPI}connection refused{IGNORE}", "the API server does not answer"),
        (
            f"{VALIDATING}failed to download openapi: {OPENAPI}i/o timeout{IGNORE}",
            "the API server does not answer",
        ),
        (
            f"{VALIDATING}the server has asked for the client to provide credentials{IGNORE}",
            "the cluster does not accept these credentials",
        ),
        (
            "The connection to the server 127.0.0.1:9 was refused - did you specify the right host",
            "the API server does not answer",
        ),
    ],
)
def test_a_server_that_is_away_is_no_fault_of_the_manifest(printed: str, says: str) -> None:
    error = refusal(printed, "kubectl create -f -")
    assert isinstance(error, MissingError)
    assert says in error.what


@pytest.mark.parametrize(
    "printed",
    [
        f'{VALIDATING}ValidationError(MPIJob.spec): unknown field "refused"{IGNORE}',
        'Error from server: admission webhook "rules" denied the request: image refused',
        'The MPIJob "x" is invalid: spec.mpiReplicaSpecs: Required value',
    ],
)
def test_a_manifest_against_the_rules_is_the_users(printed: str) -> None:
    error = refusal(printed, "kubectl create -f -")
    assert isinstance(error, InputError)
    assert "the cluster refuses the manifest" in error.what

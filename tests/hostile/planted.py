"""Secrets of many services in many places, and values that look like some and are none.

Each secret is drawn: none of them opens anything. Lines are made of it when the tests run, so that
no scanner of repositories finds one here.
"""

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE64 = _LETTERS + "+/"


@dataclass(frozen=True, slots=True)
class Planted:
    """A value as it may stand in a variable or a line; `secret` must be seen nowhere."""

    value: str
    secret: str


def planted(seed: int = 26) -> list[Planted]:
    """Two hundred and more."""
    draw = random.Random(seed)
    return [*_of_services(draw), *_by_name(draw), *_of_addresses(draw), *_encoded(draw)]


def _text(draw: random.Random, n: int, letters: str = _LETTERS) -> str:
    # As services draw them, a token has letters of both cases and digits.
    return "".join(draw.choice(letters) for _ in range(n - 3)) + "".join(
        one for one in ("a", "Z" if "Z" in letters else "b", "7")
    )


_SERVICES: dict[str, Callable[[random.Random], str]] = {
    "github": lambda d: "ghp_" + _text(d, 36),
    "github-oauth": lambda d: "gho_" + _text(d, 36),
    "github-app": lambda d: "ghs_" + _text(d, 36),
    "github-fine": lambda d: "github_pat_" + _text(d, 22) + "_" + _text(d, 59),
    "gitlab": lambda d: "glpat-" + _text(d, 20),
    "gitlab-runner": lambda d: "glrt-" + _text(d, 20),
    "aws": lambda d: "AKIA" + _text(d, 16, string.ascii_uppercase + string.digits).upper(),
    "aws-secret": lambda d: _text(d, 20, _BASE64) + "/" + _text(d, 19),
    "google": lambda d: "AIza" + _text(d, 35),
    "google-oauth": lambda d: "ya29." + _text(d, 60),
    "slack": lambda d: "xoxb-" + _text(d, 11, string.digits) + "-" + _text(d, 24),
    "slack-user": lambda d: "xoxp-" + _text(d, 11, string.digits) + "-" + _text(d, 24),
    "hugging-face": lambda d: "hf_" + _text(d, 34),
    "openai": lambda d: "sk-" + _text(d, 48),
    "openai-project": lambda d: "sk-proj-" + _text(d, 48),
    "anthropic": lambda d: "sk-ant-api03-" + _text(d, 80),
    "ngc": lambda d: "nvapi-" + _text(d, 64),
    "docker": lambda d: "dckr_pat_" + _text(d, 27),
    "npm": lambda d: "npm_" + _text(d, 36),
    "pypi": lambda d: "pypi-AgEIcHlwaS5vcmc" + _text(d, 90),
    "stripe": lambda d: "sk_live_" + _text(d, 24),
    "stripe-restricted": lambda d: "rk_live_" + _text(d, 24),
    "twilio": lambda d: "SK" + _text(d, 32, _HEX).lower().replace("z", "c"),
    "sendgrid": lambda d: "SG." + _text(d, 22) + "." + _text(d, 43),
    "digitalocean": lambda d: "dop_v1_" + _text(d, 64, _HEX).lower().replace("z", "c"),
    "jwt": lambda d: "eyJ" + _text(d, 33) + ".eyJ" + _text(d, 40) + "." + _text(d, 43),
    "vault": lambda d: "hvs." + _text(d, 90),
    "databricks": lambda d: "dapi" + _text(d, 32, _HEX).lower().replace("z", "c"),
    "grafana": lambda d: "glsa_" + _text(d, 32) + "_" + _text(d, 8, _HEX),
    "groq": lambda d: "gsk_" + _text(d, 52),
    "tailscale": lambda d: "tskey-auth-" + _text(d, 30),
    "entra": lambda d: "a1b8Q~" + _text(d, 34),
    "telegram": lambda d: "123456789:AA" + _text(d, 33),
}

_PLACES = ("{}", "see {} here", '{{"x": "{}"}}', "run --note={} -v")


def _of_services(draw: random.Random) -> Iterator[Planted]:
    for make in _SERVICES.values():
        for place in _PLACES:
            token = make(draw)
            yield Planted(place.format(token), token)


_NAMED = (
    "password={}",
    "PASSWORD={}",
    "x --password {}",
    "x --password={}",
    "x --token {}",
    "x --token={} y",
    "x --api-key {}",
    "x --api-key='{}'",
    'x --secret "{}"',
    "DB_PASS={}",
    "HYDRA_ENV_PW={}",
    "db_password: {}",
    '{{"password": "{}"}}',
    '{{"apiToken":"{}"}}',
    "'secret_key': '{}'",
    "mysql -u root -p{} db",
    "sshpass -p {} ssh n1",
    "docker login -u me -p {}",
    "curl -u me:{} x",
    "curl -H 'Authorization: Bearer {}' x",
    "curl -H 'X-Auth-Token: {}' x",
    "redis-cli -a {} ping",
    "ldapsearch -w {} -x",
    "ipmitool -U a -P {} power",
    "mpiexec -genv DB_TOKEN {} ./a",
    "mpirun -x DB_TOKEN={} ./a",
    'mpirun -x "DB_TOKEN={} b" ./a',
    "srun --export=ALL,DB_TOKEN={},A=b ./a",
    "setenv WANDB_API_KEY {}",
    "export WANDB_API_KEY={}",
    "aws_secret_access_key = {}",
    "passphrase: {}",
    "client_secret={}&x=1",
    "AccountKey={};EndpointSuffix=x",
    "auth={}",
    "JWT={}",
    "cookie={}",
    "ssh_private_key={}",
    "credentials={}",
    "--args --password {} --x",
    "MYSQL_PWD={}",
    "x --auth-token={}",
    "x --passphrase {}",
    "export VAULT_TOKEN='{}'",
    "pw: {}",
    "I_MPI_NOTE=--password={}",
)


def _by_name(draw: random.Random) -> Iterator[Planted]:
    for place in _NAMED:
        word = "hunter" + _text(draw, 8)
        yield Planted(place.format(word), word)


_ADDRESSES = (
    "https://me:{}@host.example/x",
    "postgres://db:{}@10.0.0.1:5432/a",
    "http://me:{}@proxy:3128",
    "https://:{}@host/x",
    "amqp://a:{}@b/c?d=e",
    "https://x.blob.example/c?sv=2020&sig={}",
    "https://x.example/?token={}&y=1",
    "https://x.example/?access_token={}",
    "https://x.s3.example/?X-Amz-Signature={}",
    "https://x.example/?a=b&api_key={}",
)


def _of_addresses(draw: random.Random) -> Iterator[Planted]:
    for place in _ADDRESSES:
        word = _text(draw, 20)
        yield Planted(place.format(word), word)


def _encoded(draw: random.Random) -> Iterator[Planted]:
    for place in ("password:{}", "{{'token=': '{}'}}", "my secret is {}", "PASSWORD {}"):
        inner = place.format(_text(draw, 16))
        word = base64.b64encode(inner.encode()).decode()
        yield Planted(word, word)
    for _ in range(4):
        word = base64.b64encode(f"me:{_text(draw, 12)}".encode()).decode()
        yield Planted(f"Authorization: Basic {word}", word)
    for _ in range(6):
        word = _text(draw, 48, _BASE64)
        yield Planted(word, word)


def keys(seed: int = 26) -> list[Planted]:
    """Keys of several lines; `secret` is a line of theirs."""
    draw = random.Random(seed)
    found = []
    for kind in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY"):
        lines = [_text(draw, 64, _BASE64) for _ in range(5)] + [_text(draw, 20, _BASE64) + "=="]
        text = "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))
        found += [Planted(text, line) for line in lines]
    return found


def harmless() -> list[str]:
    """A hundred and more values of fabrics, jobs and programs, none of them secret."""
    draw = random.Random(7)
    some_hex = lambda n: "".join(draw.choice(_HEX) for _ in range(n))  # noqa: E731
    uuids = ["-".join(some_hex(n) for n in (8, 4, 4, 4, 12)) for _ in range(10)]
    return [
        *uuids,
        *(f"GPU-{uuid}" for uuid in uuids[:5]),
        *(some_hex(40) for _ in range(8)),
        *(some_hex(64) for _ in range(4)),
        *(f"sha256:{some_hex(64)}" for _ in range(3)),
        *(f"0x{some_hex(16)}" for _ in range(8)),
        *(":".join(some_hex(4) for _ in range(4)) for _ in range(4)),
        *(f"lid {n} lmc 0 port {n}" for n in (1, 17, 49151)),
        *_WORDS,
    ]


_WORDS = (
    "node[0001-0128,0130]",
    "gpu-a100-node0001-rack12-row3-dc-east-ib0",
    "sk-bratislava-node-0001-rack-0002-slot-3",
    "n001,n002,n003:4",
    "/usr/lib/x86_64-linux-gnu/openmpi/lib64/release2",
    "/opt/spack/linux-rhel8-zen3/gcc-12.2.0/openmpi-4.1.5-abcdefghijklmnopqrstuvwxyz234567",
    "/scratch/User1/Projects/Run12/Out3",
    "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
    "NCCL_IB_PKEY=0x8001",
    "P_Key: 0xffff",
    "Q_Key=0x80010000",
    "NCCL_IB_HCA==mlx5_0:1",
    "UCX_TLS=rc,sm,self,cuda_copy,gdr_copy",
    "FI_PROVIDER=efa",
    "OMPI_MCA_btl_tcp_if_include=eth0",
    "http://host:8080/metrics",
    "https://github.com/NVIDIA/nccl-tests/tree/v2.13.8",
    "git@github.com:org/repo.git",
    "ssh://host:22/path@v1",
    "tokens: 5120",
    "max_tokens=4096",
    "tokens_per_second=1234.5",
    "tokenizer: /models/llama/tokenizer.json",
    "TOKENIZERS_PARALLELISM=false",
    "Key: value",
    "key=10",
    "key: allreduce",
    "session: node01",
    "auth=none",
    "--auth munge",
    "--key /users/me/key.pem",
    "PWD=/users/me",
    "pass: 3 fail: 0",
    "PASS: all",
    "password=$PASSWORD",
    "TOKEN=${TOKEN}",
    "SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1",
    "--cert server.pem",
    "srun -p gpu2 -n 4",
    "docker run -p 8080:80 image",
    "ib_write_bw -p 18515 -d mlx5_0",
    "_ZN4ucxx8endpointC1ERKSt10shared_ptrINS_6WorkerEE",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclAllReduceRingLLKernelSumInt8Chan4Blk128",
    "MPIDI_OFI_mpi_init_hook_with_provider_verbs",
    "OMPI_MCA_coll_hcoll_enable=1",
    "basic Allreduce performance test",
    "Basic MPI_Barrier benchmark",
    "# OSU MPI Latency Test v7.4",
    "8                       1.62",
    "S-010108fb00000000$MT1234X56789/U1",
    "H-98039b0300aabbcc",
    "MF0;switch-01:MQM8700/U1",
    "Microsoft.HpcCompute/Standard_ND96isr_H100_v5",
    "2024-05-01T12:00:00.123456Z",
    "cpu-bind=mask_cpu:0x0000000000ffffff,0xffffff000000000000",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOP",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "12345678901234567890123456789012345678901234",
)

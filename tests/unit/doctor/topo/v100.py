"""Eight V100s in a cube of NVLinks, of which not each GPU is joined to each."""

LINKS = (
    (0, 2, 1, 1, 2, 0, 0, 0),
    (2, 0, 1, 2, 0, 1, 0, 0),
    (1, 1, 0, 2, 0, 0, 2, 0),
    (1, 2, 2, 0, 0, 0, 0, 1),
    (2, 0, 0, 0, 0, 2, 1, 1),
    (0, 1, 0, 0, 2, 0, 1, 2),
    (0, 0, 2, 0, 1, 1, 0, 2),
    (0, 0, 0, 1, 1, 2, 2, 0),
)
"""NVLinks from GPU to GPU. SOURCE: microsoft/msccl-tools 9c6ea08, msccl/topologies/nvidia.py: dgx1;
that of NVIDIA/nccl, issue 671, is the same but for the numbers of the GPUs."""
LINK_GB_S = 20.0
"""What NCCL counts for one of a V100's."""
BUSES = tuple(f"0000:{bus}:00.0" for bus in ("06", "07", "0a", "0b", "85", "86", "89", "8a"))
_PROCESSOR = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79"'
_LINK = 'link_speed="8 GT/s" link_width="16"'


def _gpu(number: int) -> str:
    pairs = [(BUSES[i], n) for i, n in enumerate(LINKS[number]) if n]
    links = "".join(f'<nvlink target="{bus}" count="{n}" tclass="0x030200"/>' for bus, n in pairs)
    gpu = f'<gpu dev="{number}" sm="70" rank="{number}" gdr="1">{links}</gpu>'
    ids = 'vendor="0x10de" device="0x1db5"'
    return f'<pci busid="{BUSES[number]}" class="0x030200" {ids} {_LINK}>{gpu}</pci>'


def _net(number: int) -> str:
    net = (
        f'<net name="mlx5_{number}" dev="{number}" latency="0" speed="100000" port="1" '
        f'guid="{number + 1:#x}" maxconn="131072" gdr="1" rail="{number}" plane="0"/>'
    )
    bus = f"0000:{number + 0x20:02x}:00.0"
    return f'<pci busid="{bus}" class="0x020700" {_LINK}><nic>{net}</nic></pci>'


def _bridge(number: int, inside: str) -> str:
    return f'<pci busid="0000:{number + 0x40:02x}:00.0" class="0x060400" {_LINK}>{inside}</pci>'


def _system(*sockets: str) -> str:
    cpus = "".join(
        f'<cpu numaid="{i}" host_hash="0x1" {_PROCESSOR}>{inside}</cpu>'
        for i, inside in enumerate(sockets)
    )
    return f'<system version="1">{cpus}</system>'


def with_switches() -> str:
    """As in a DGX-1: two GPUs and an adapter under each of four switches."""
    under = [_bridge(i, _gpu(2 * i) + _gpu(2 * i + 1) + _net(i)) for i in range(4)]
    return _system(under[0] + under[1], under[2] + under[3])


def without_switches() -> str:
    """As guests of an NDv2 see them: GPUs on their processor, one adapter on the first."""
    gpus = [_gpu(i) for i in range(8)]
    return _system("".join(gpus[:4]) + _net(0), "".join(gpus[4:]))

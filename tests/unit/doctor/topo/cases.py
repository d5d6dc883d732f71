"""One topology file for each rule that breaks it, and one that only looks as if it did."""

from dataclasses import dataclass

GPU = '<pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>'
NIC = '<pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>'
ROME = 'arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49"'
CPU = f'<cpu numaid="0" affinity="ffffffff" {ROME}>'
CPU_1_OF_0 = CPU.replace('numaid="0"', 'numaid="1"')
CPU_1 = f'<cpu numaid="1" affinity="ffffffff,00000000" {ROME}>'


def system(*inside: str) -> str:
    """A file with this in its first processor."""
    return "\n".join(['<system version="1">', CPU, *inside, "</cpu>", "</system>", ""])


def gpu(attributes: str, *inside: str, bus: str = "0001:00:00.0", device: str = "0x20b0") -> str:
    """A GPU with a <gpu> of these attributes."""
    pci = f'<pci busid="{bus}" class="0x030200" device="{device}">'
    return "".join([pci, f"<gpu {attributes}>", *inside, "</gpu></pci>"])


def nic(net: str) -> str:
    """An adapter with a <net>."""
    return f'<pci busid="0101:00:00.0" class="0x020700"><nic>{net}</nic></pci>'


def nvlink(target: str, count: int) -> str:
    return f'<nvlink target="{target}" count="{count}" tclass="0x030200"/>'


BRIDGE = '<pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">'
RIGHT = system(f"{BRIDGE}\n{GPU}\n{NIC}\n</pci>")


def _with(old: str, new: str, times: int = -1) -> str:
    assert old in RIGHT
    return RIGHT.replace(old, new, times)


A, B = "0001:00:00.0", "0002:00:00.0"
MANY = [f'<pci busid="0001:{i:02x}:00.0" class="0x030200"/>' for i in range(253)]
# A <system> and a <cpu>; each has a <nic> and a <net> to come, a GPU's <gpu> and <nvlink> besides.
ADAPTERS = [f'<pci busid="0101:{i:02x}:00.0" class="0x020700"/>' for i in range(85)]


@dataclass(frozen=True)
class Wrong:
    """`text` breaks `rule`; `right`, where there is one, does not. `is_refused`: NCCL gives up."""

    rule: str
    text: str
    right: str = RIGHT
    is_refused: bool = False


CASES = (
    Wrong("topo-byte-order-mark", "\ufeff" + RIGHT, is_refused=True),
    Wrong("topo-declaration", '<?xml version="1.0"?>\n' + RIGHT, is_refused=True),
    Wrong("topo-declaration", "<!DOCTYPE system>\n" + RIGHT, is_refused=True),
    Wrong("topo-tab", _with("<cpu", "\t<cpu"), _with("<cpu", "\r\n  <cpu"), is_refused=True),
    Wrong(
        "topo-text", _with("</cpu>", "GPUs\n</cpu>"), _with("</cpu>", "<!-- GPUs -->\n</cpu>"), True
    ),
    Wrong("topo-text", _with("</cpu>", "&amp;</cpu>"), is_refused=True),
    Wrong("topo-blank-in-tag", _with(" class", "\nclass"), _with(" class", "   class"), True),
    Wrong("topo-blank-in-tag", _with(" class", "\tclass"), is_refused=True),
    Wrong("topo-blank-in-tag", _with("<pci busid", "<pci\tbusid"), is_refused=True),
    Wrong("topo-blank-in-tag", _with("<pci busid", "<pci\nbusid"), is_refused=True),
    Wrong("topo-blank-in-tag", _with(" class", " \tclass")),
    Wrong("topo-malformed", _with('version="1"', "version=1"), is_refused=True),
    Wrong("topo-malformed", _with('version="1"', 'version = "1"'), is_refused=True),
    Wrong("topo-malformed", _with("</cpu>", "</cpu >"), _with('"16"/>', '"16" />'), True),
    Wrong("topo-malformed", RIGHT[:-10] + "</sys", is_refused=True),
    Wrong("topo-malformed", _with('" class="', '"class="'), is_refused=True),
    Wrong("topo-comment", "<!--a=b-->" + RIGHT, "<!-- a=b -->" + RIGHT, True),
    Wrong("topo-too-long", _with("16 GT/s", "1" * 254), _with("16 GT/s", "1" * 253), True),
    Wrong("topo-too-long", f"<!--{'-' * 251}-->" + RIGHT, f"<!--{'-' * 248}-->" + RIGHT, True),
    Wrong("topo-too-long", _with("<cpu", f"<{'c' * 254}/><cpu"), is_refused=True),
    Wrong("topo-unclosed", RIGHT.replace("</system>", ""), is_refused=True),
    Wrong("topo-unclosed", _with("</cpu>", "<!-- </cpu>"), is_refused=True),
    Wrong("topo-unclosed", "<note>" + RIGHT, "<note></note>" + RIGHT, True),
    Wrong("topo-mismatch", _with("</cpu>", "</nic>"), is_refused=True),
    Wrong("topo-closes-nothing", RIGHT + "</system>", RIGHT + " \n\r", True),
    Wrong("topo-closes-nothing", RIGHT + "</cpu></system>", is_refused=False),
    Wrong("topo-ignored-element", RIGHT.replace("<pci busid", "<pci\t busid")),
    Wrong("topo-too-many-elements", system(*MANY, GPU), system(*MANY), True),
    Wrong(
        "topo-extra-attribute",
        _with(' class="0x03', "".join(f' a{i}=""' for i in range(15)) + ' class="0x03'),
        _with(' class="0x03', "".join(f' a{i}=""' for i in range(12)) + ' class="0x03'),
    ),
    Wrong(
        "topo-extra-attribute",
        _with(' class="0x03', " " * 16 + 'class="0x03'),
        _with(' class="0x03', " " * 13 + 'class="0x03'),
    ),
    Wrong(
        "topo-no-slot",
        _with(' class="0x03', "".join(f' a{i}=""' for i in range(12)) + ' class="0x03'),
        _with(' class="0x03', "".join(f' a{i}=""' for i in range(11)) + ' class="0x03'),
    ),
    Wrong("topo-no-room", system(*ADAPTERS), system(*ADAPTERS[:84])),
    Wrong("topo-single-quotes", _with('"0x030200"', "'0x030200'")),
    Wrong("topo-ignored-element", _with("<cpu", '<gpu dev="0"/><cpu'), system(gpu('sm="80"'))),
    Wrong("topo-ignored-element", _with("</cpu>", "<a><b></wrong></a></cpu>")),
    Wrong("topo-no-system", "", RIGHT),
    Wrong("topo-no-system", '<topology version="1"></topology>'),
    Wrong(
        "topo-version", _with('version="1"', 'version="2"'), _with('version="1"', 'version="01"')
    ),
    Wrong("topo-version", _with(' version="1"', "")),
    Wrong("topo-second-system", RIGHT + RIGHT),
    Wrong("topo-no-devices", system()),
    Wrong("topo-attribute-missing", _with(' numaid="0"', ""), _with(' affinity="ffffffff"', "")),
    Wrong("topo-attribute-missing", _with(f' busid="{A}"', ""), _with(' link_width="16"', "")),
    Wrong("topo-attribute-missing", system(f'<pci busid="ffff:ff:01.0">{GPU}</pci>')),
    Wrong("topo-attribute-missing", system(gpu('sm="80"', f'<nvlink target="{B}"/>'))),
    Wrong("topo-not-a-number", _with('familyid="23"', 'familyid="Rome"'), _with('"49"', '"0x31"')),
    Wrong("topo-not-a-number", system(gpu('sm="8.0"'))),
    Wrong("topo-bus-id-form", _with(A, "01:00.0")),
    Wrong("topo-bus-id-case", _with(A, "000D:00:00.0"), _with(A, "000d:00:00.0")),
    Wrong("topo-bus-id-twice", system(GPU, GPU)),
    Wrong("topo-cpu-twice", RIGHT.replace("</system>", f"{CPU}</cpu></system>")),
    Wrong("topo-class", _with("0x030200", "0302"), _with("0x030200", "0x030000")),
    Wrong("topo-link-speed", _with("16 GT/s", "16.0 GT/s"), _with("16 GT/s", "16.0 GT/s PCIe")),
    Wrong("topo-link-speed", _with("16 GT/s", ""), _with("16 GT/s", "32 GT/s PCIe")),
    Wrong(
        "topo-link-speed",
        system(f'<pci busid="ffff:ff:01.0" class="0x060400">{GPU}{NIC}</pci>'),
        system(f'<pci busid="0000:01:00.0" class="0x060400">{GPU}{NIC}</pci>'),
    ),
    Wrong("topo-link-width", _with('link_width="16"', 'link_width="0"')),
    Wrong("topo-narrow-link", _with('link_width="16"', 'link_width="8"')),
    Wrong("topo-processor", _with("x86_64", "amd64")),
    Wrong(
        "topo-processor",
        _with("AuthenticAMD", "AMD"),
        _with('"x86_64" vendor="AuthenticAMD"', '"arm64" vendor="ARM"'),
    ),
    Wrong(
        "topo-affinity-form", _with('"ffffffff"', '"0-23"'), _with('"ffffffff"', '"fff,00000000"')
    ),
    Wrong("topo-affinity-form", _with('"ffffffff"', '"00ffffffff"')),
    Wrong("topo-affinity-form", _with('"ffffffff"', '"ffffffff,ff"')),
    Wrong("topo-affinity-empty", _with('"ffffffff"', '"00000000,00000000"')),
    Wrong(
        "topo-affinity-overlap",
        RIGHT.replace("</system>", CPU_1_OF_0 + "</cpu></system>"),
        RIGHT.replace("</system>", f"{CPU_1}</cpu></system>"),
    ),
    Wrong("topo-nvlink-self", system(gpu('sm="80"', nvlink(A, 12)))),
    Wrong(
        "topo-nvlink-count",
        system(gpu('sm="80"', nvlink(B, 4), nvlink("0003:00:00.0", 4))),
        system(gpu('sm="80"', nvlink(B, 8), nvlink("0003:00:00.0", 4))),
    ),
    Wrong(
        "topo-nvlink-count",
        system(gpu('sm="70"', nvlink(B, 8), device="0x1db5")),
        system(gpu('sm="70"', nvlink(B, 8), device="0x1234")),
    ),
    Wrong(
        "topo-nvlink-one-way",
        system(gpu('sm="80"', nvlink(B, 12)), gpu('sm="80"', bus=B)),
        system(gpu('sm="80"', nvlink(B, 12)), gpu('sm="80"', nvlink(A, 12), bus=B)),
    ),
    Wrong("topo-gdr-off", system(gpu('sm="80" gdr="0"')), system(gpu('sm="80" gdr="1"'))),
    Wrong("topo-gdr-off", system(nic('<net name="mlx5_0" gdr="0"/>'))),
    Wrong(
        "topo-net-speed",
        system(nic('<net name="mlx5_0" speed="-1"/>')),
        system(nic('<net name="mlx5_0"/>')),
    ),
    Wrong("topo-dump", system(gpu('dev="0" sm="80" rank="0"')), system(gpu('dev="0" sm="80"'))),
    Wrong("topo-sm", system(gpu('sm="90"')), system(gpu('sm="80"'))),
    Wrong("topo-gpu-far", system(GPU, NIC)),
    Wrong("topo-gpus-per-adapter", system(GPU, NIC, GPU.replace(A, B))),
    Wrong(
        "topo-adapter-waits",
        system(nic('<net name="mlx5_0" speed="100000"/>'), GPU),
        system(nic('<net name="mlx5_0" speed="96000"/>'), GPU),
    ),
    Wrong("topo-graph-file", '<graphs version="1"><graph id="0"></graph></graphs>'),
    Wrong(
        "topo-device-in-bridge",
        _with(GPU, '<gpu dev="0" sm="80"/>'),
        _with(GPU, GPU.replace("/>", '><gpu dev="0" sm="80"/></pci>')),
    ),
    Wrong("topo-device-in-bridge", _with(NIC, "<nic/>")),
    Wrong("topo-gpu-as-bridge", _with('"0x030200"', '"0x060400" device="0x2330"')),
    Wrong("topo-empty-bridge", _with('"0x030200"', '"0x060400"')),
    Wrong("topo-below-device", _with(GPU, GPU.replace("/>", f">{NIC}</pci>"))),
    Wrong("topo-slow-bridge", _with("16 GT/s", "5.0 GT/s PCIe", 1), _with("16 GT/s", "32 GT/s", 1)),
    Wrong("topo-narrow-bridge", _with('link_width="16"', 'link_width="8"', 1)),
    Wrong(
        "topo-affinity-form",
        RIGHT.replace('"ffffffff"', '"0000000,ffffffff"').replace(
            "</system>", f"{CPU_1}</cpu></system>"
        ),
        RIGHT.replace('"ffffffff"', '"00000000,ffffffff"').replace(
            "</system>", f"{CPU_1}</cpu></system>"
        ),
    ),
    Wrong(
        "topo-made-up-bridges",
        system(f'<pci busid="ffff:ff:01.0" class="0x060400">{GPU}{NIC}</pci>'),
    ),
)

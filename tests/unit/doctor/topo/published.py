"""What Azure's images hold for their machines, to compare with, without the files themselves."""

import hashlib
from xml.etree import ElementTree

# Of `canonical` of topology/*.xml of Azure/azhpc-images at 8e9d055.
DIGESTS = {
    "ndv2": "cc46660096b5d2e5f09300ec6b37d9b350ec30e74a3cbccaa8b89453c1280c15",
    "ndv4": "a7481dea66720389968ced2fd612ea751385ec66f4413ce8f6407d29541bb324",
    "ndv5": "9d7cfc9b472610de64f8da1a05f3eefd57dbb9a1a1bf2b181b41c9252f934a03",
}
KEYS = ("version", "numaid", "arch", "familyid", "modelid", "busid", "class", "link_speed")


def canonical(text: str) -> str:
    """Elements as a tree in order, with what NCCL looks at; CPUs as a number.

    Another reader of XML than the one under test. Left out: comments, the order of attributes, and
    ids of bridges, which are zeroes where they stand.
    """
    lines = []

    def row(element: ElementTree.Element, depth: int) -> None:
        values = element.attrib
        words = [str(depth), element.tag]
        words += [f"{key}={values[key]}" for key in (*KEYS, "link_width") if key in values]
        if element.tag == "cpu":
            cpus = int(values["affinity"].replace(",", ""), 16)
            words += [f"vendor={values['vendor']}", f"cpus={cpus:x}"]
        lines.append(" ".join(words))
        for child in element:
            row(child, depth + 1)

    row(ElementTree.fromstring(text), 0)
    return "\n".join(lines)


def digest(text: str) -> str:
    """The digest of a file's canonical form."""
    return hashlib.sha256(canonical(text).encode()).hexdigest()

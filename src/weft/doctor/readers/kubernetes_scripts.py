"""Scripts inside of YAML: a string as a shell reads it, at its place in the document."""

import re

import yaml

MENTIONS = re.compile(
    r"\b(?:NCCL|UCX|SHARP|HCOLL|FI|CXI|OFI_NCCL|OMPI_MCA|MV2|MPICH|TORCH_NCCL)_[A-Z]"
    r"|\b(?:mpirun|mpiexec|srun|torchrun|docker run|apptainer|singularity|enroot)\b"
)
"""Variables of the libraries, and commands that start ranks."""
TEMPLATE = re.compile(r"\$?\{\{[^\n{}]{0,400}\}\}")
_LINES_OF_TEMPLATES = re.compile(r"^[ \t]*(?:\{\{[^\n{}]{0,400}\}\}[ \t]*){1,9}$", re.M)
MOST_CHARACTERS = 1 << 18
MOST_SCRIPTS = 32
"""Of one document, that are read as scripts."""


def is_script(node: yaml.Node) -> bool:
    """Whether a string looks like a script that matters: words, and a name of the libraries."""
    if not isinstance(node, yaml.ScalarNode) or not re.search(r"\s", node.value.strip()):
        return False
    return MENTIONS.search(node.value) is not None


def without_templates(text: str) -> str:
    """As long as the text, with the places that a chart fills in as plain words."""
    text = _LINES_OF_TEMPLATES.sub(lambda found: " " * len(found[0]), text)
    return TEMPLATE.sub(lambda found: "_" * len(found[0]), text)


def script_of(text: str, node: yaml.Node) -> tuple[str, bool]:
    """(the document with all but the script blank, whether its places can be edited)."""
    start, end = node.start_mark.index, node.end_mark.index
    style = getattr(node, "style", None)
    if style in ("|", ">"):
        start = text.find("\n", start, end) + 1 or end
        body = text[start:end]
    else:
        quote = 1 if style in ("'", '"') else 0
        start, end = start + quote, end - quote
        body = text[start:end]
    body = _at_the_margin(body) if style == "|" else body.replace("\n", " ")
    body = TEMPLATE.sub(lambda found: "$" + "_" * (len(found[0]) - 1), body)
    return _blank(text[:start]) + body + _blank(text[end:]), style == "|"


def _at_the_margin(body: str) -> str:
    """The last space of each line's indent as a newline: so a heredoc's end begins its line. A
    continued line stays."""
    indent = len(body) - len(body.lstrip(" "))
    if not indent:
        return body
    pattern = re.compile(rf"(?<!\\)\n( {{{indent - 1}}}) ")
    body = pattern.sub(lambda found: f"\n{found[1]}\n", body)
    return " " * (indent - 1) + "\n" + body[indent:]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)

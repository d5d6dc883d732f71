"""The messages of Chakra's schema as classes of protobuf's own library, from a description made
here: the machine of a test has no protoc.

SOURCE: mlcommons/chakra, schema/protobuf/et_def.proto (names, numbers and types of fields).
"""

from collections.abc import Iterator
from typing import Any

SCALARS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
"""In the order of the oneof of AttributeProto, from field 3 on: each with its list behind it."""
NODE = (
    *(("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "int32")),
    *(("ctrl_deps", 4, "uint64*"), ("data_deps", 5, "uint64*")),
    *(("start_time_micros", 6, "uint64"), ("duration_micros", 7, "uint64")),
    *(("inputs", 8, ".IOInfo"), ("outputs", 9, ".IOInfo"), ("attr", 10, ".AttributeProto*")),
)
IO_INFO = (("values", 1, "string"), ("shapes", 2, "string"), ("types", 3, "string"))
METADATA = (("version", 1, "string"), ("attr", 2, ".AttributeProto*"))


def message_classes() -> dict[str, Any]:
    """GlobalMetadata, Node and the others by name. Raises ImportError without the library."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="C", syntax="proto3")
    lists = {f"{one.capitalize()}List": (("values", 1, f"{one}*"),) for one in SCALARS}
    messages = {"IOInfo": IO_INFO, "GlobalMetadata": METADATA, "Node": NODE, **lists}
    for name, fields in messages.items():
        _add(file.message_type.add(name=name), fields)
    attribute = file.message_type.add(name="AttributeProto")
    _add(attribute, (("name", 1, "string"), ("doc_string", 2, "string")))
    attribute.oneof_decl.add(name="value")
    _add(attribute, _values())
    for field in attribute.field[2:]:
        field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [*messages, "AttributeProto"]
    found = {name: pool.FindMessageTypeByName(f"C.{name}") for name in names}
    return {name: message_factory.GetMessageClass(one) for name, one in found.items()}


def _values() -> Iterator[tuple[str, int, str]]:
    for i, one in enumerate(SCALARS):
        yield f"{one}_val", 3 + 2 * i, one
        yield f"{one}_list", 4 + 2 * i, f".{one.capitalize()}List"


def _add(message: Any, fields: Any) -> None:
    for name, number, kind in fields:
        field = message.field.add(name=name, number=number)
        word = kind.removesuffix("*")
        field.label = field.LABEL_REPEATED if word != kind else field.LABEL_OPTIONAL
        if word.startswith("."):
            field.type, field.type_name = field.TYPE_MESSAGE, f".C{word}"
        else:
            field.type = getattr(field, f"TYPE_{word.upper()}")

"""Message classes for protobuf's own decoder, from a table of fields: those that a test wants to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto


def message_class(name: str, messages: Mapping[str, Mapping[str, tuple[int, str]]]) -> Any:
    """The class of the message `name`. A field is a number and a type, perhaps "repeated" or in the one "oneof"."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{name}.proto", package=f"of_{name}".lower(), syntax="proto3"
    )
    for message, fields in messages.items():
        descriptor = file.message_type.add(name=message)
        for field, (number, kind) in fields.items():
            *labels, type_name = kind.split()
            entry = descriptor.field.add(name=field, number=number)
            entry.label = Field.LABEL_REPEATED if "repeated" in labels else Field.LABEL_OPTIONAL
            if type_name in messages:
                entry.type, entry.type_name = Field.TYPE_MESSAGE, f".{file.package}.{type_name}"
            else:
                entry.type = Field.Type.Value(f"TYPE_{type_name.upper()}")
            if "oneof" in labels:
                if not descriptor.oneof_decl:
                    descriptor.oneof_decl.add(name="one_of")
                entry.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}"))

"""What OTLP says of where its data come from, and how it writes values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ticktree.outputs.view.headline import title
from ticktree.outputs.writing.literal import encodable
from ticktree.profile import Profile
from ticktree.profile.metadata import Value, one_or_list

Fields: TypeAlias = dict[str, Any]

SCOPE = {"name": "ticktree"}


def facts(profile: Profile) -> list[Fields]:
    """Return what is known of the program and the machine, as attributes."""
    found = [attribute("service.name", title(profile))]
    for key in sorted(profile.metadata):
        value = one_or_list(profile.metadata[key])
        if value is not None:
            found.append(attribute(key, value))
    return found


def attribute(key: str, value: Value | Sequence[Value]) -> Fields:
    """Return an attribute."""
    return {"key": encodable(key), "value": _value(value)}


def counts(key: str, numbers: dict[str, int]) -> Fields:
    """Return an attribute that has attributes of its own, each a number."""
    values = [attribute(what, count) for what, count in numbers.items()]
    return {"key": key, "value": {"kvlistValue": {"values": values}}}


def _value(value: Value | Sequence[Value]) -> Fields:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str | int):
        return {"stringValue": encodable(str(value))}
    return {"arrayValue": {"values": [_value(each) for each in value]}}

"""The JSON schema of settings, from which the HTTP interface and the forms are made."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_origin

from motionloom.settings.field import Names, Setting, choices_of, members_of
from motionloom.settings.settings_class import Settings, described, json_value, name_of

_JSON_TYPES: dict[Any, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", Path: "string",
}  # fmt: skip


def json_schema(cls: type[Settings]) -> dict[str, Any]:
    """Return the JSON schema of a settings class, for the HTTP interface and forms.

    A field that selects a method becomes ``oneOf`` with one variant per method, identified by its
    ``name``. ``x-unit`` is the unit of a field, and ``x-expert`` marks fields that a form shows
    only on request.
    """
    properties: dict[str, Any] = {}
    for each in fields(cls):
        kind, about = described(cls)[each.name]
        row: dict[str, Any]
        if about.methods:
            default = name_of(each.default) or None
            row = {
                "oneOf": [_variant(name, method) for name, method in about.methods.items()],
                "discriminator": {"propertyName": "name"},
                "default": {"name": default},
            }
        elif isinstance(each.default, Settings):
            row = json_schema(type(each.default))
            row["default"] = each.default.to_json()
        else:
            row = _value_schema(kind, about)
            if each.default is not MISSING:
                row["default"] = json_value(each.default)
        row["title"] = about.label or each.name.replace("_", " ").capitalize()
        row["description"] = about.help
        if about.unit:
            row["x-unit"] = about.unit
        if about.expert:
            row["x-expert"] = True
        properties[each.name] = row
    return {
        "type": "object",
        "title": cls.__name__,
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": properties,
        "additionalProperties": False,
    }


def _variant(name: str, method: type[Settings]) -> dict[str, Any]:
    schema = json_schema(method)
    schema["properties"] = {"name": {"type": "string", "const": name}, **schema["properties"]}
    schema["required"] = ["name"]
    return schema


def _value_schema(kind: Any, about: Setting) -> dict[str, Any]:
    """Return the JSON schema of a plain value: its type, choices and limits."""
    choices = choices_of(kind)
    members = [each for each in members_of(kind) if each is not type(None)]
    if choices is not None:
        row: dict[str, Any] = {"type": "string", "enum": list(choices)}
    elif kind == Names:
        return {"type": ["array", "null"], "items": {"type": "string"}}
    elif any(get_origin(each) is tuple for each in members):
        several = next(each for each in members if get_origin(each) is tuple)
        inner = [each for each in get_args(several) if each is not Ellipsis]
        row = {"type": "array", "items": _value_schema(inner[0], Setting("")) if inner else {}}
        if Ellipsis not in get_args(several):
            row |= {"minItems": len(inner), "maxItems": len(inner)}
    else:
        types_ = [_JSON_TYPES[each] for each in members if each in _JSON_TYPES]
        row = (
            {}
            if Any in members or not types_
            else {"type": types_[0] if len(types_) == 1 else types_}
        )
    limits = {"minimum": about.least, "maximum": about.greatest, "exclusiveMinimum": about.above}
    row |= {name: limit for name, limit in limits.items() if limit is not None}
    if len(members) < len(members_of(kind)) and "type" in row:
        listed = row["type"] if isinstance(row["type"], list) else [row["type"]]
        row["type"] = [*listed, "null"]
        if "enum" in row:
            row["enum"] = [*row["enum"], None]
    return row

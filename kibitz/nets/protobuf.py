"""Messages of protobuf, in which ONNX files are written, read without any library.

A message is a list of numbered fields, each a whole number, a string of bytes, or another message.
Sizes are checked against the bytes that are there: nothing larger than the file is allocated.
"""

from __future__ import annotations

from typing import TypeVar

from . import NetError

MOST_FIELDS = 256  # of a message, so that empty ones cannot fill the memory
NOT_ONNX = "it is not an ONNX file"
INCOMPLETE = "it is not a complete ONNX file"

Fields = dict[int, list[int | memoryview]]
"""The fields of a message by number, in order."""
Value = TypeVar("Value", int, memoryview)


class Malformed(NetError):
    """What is wrong with a file; the caller adds its path."""


VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5  # kinds of fields


def fields(message: memoryview, most: int = MOST_FIELDS) -> Fields:
    """The fields of a message, at most so many. Messages inside stay bytes."""
    found: Fields = {}
    at = 0
    for _ in range(most + 1):
        if at == len(message):
            return found
        tag, at = varint(message, at)
        number, kind = tag >> 3, tag & 7
        value: int | memoryview
        if kind == VARINT:
            value, at = varint(message, at)
        elif kind in (EIGHT_BYTES, BYTES, FOUR_BYTES):
            size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
            if kind == BYTES:
                size, at = varint(message, at)
            if size > len(message) - at:
                raise Malformed(INCOMPLETE)
            value, at = message[at : at + size], at + size
        else:
            raise Malformed(NOT_ONNX)
        found.setdefault(number, []).append(value)
    raise Malformed(f"a part of it has more than {most} fields")


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """The whole number at an offset, seven bits per byte, and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise Malformed(INCOMPLETE)
        byte, at = message[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise Malformed(NOT_ONNX)


def messages(parent: Fields, number: int) -> list[Fields]:
    return [fields(part) for part in byte_fields(parent, number)]


def message(parent: Fields, number: int) -> Fields:
    """A message that must occur exactly once."""
    found = messages(parent, number)
    if len(found) != 1:
        raise Malformed(NOT_ONNX)
    return found[0]


def texts(parent: Fields, number: int) -> list[str]:
    try:
        return [str(part, "utf-8") for part in byte_fields(parent, number)]
    except UnicodeDecodeError:
        raise Malformed("a name in it is not UTF-8") from None


def text(parent: Fields, number: int) -> str:
    return "".join(texts(parent, number)[-1:])


def numbers(parent: Fields, number: int) -> list[int]:
    """Whole numbers, written one by one or packed together."""
    found: list[int] = []
    for part in parent.get(number, []):
        if isinstance(part, int):
            found.append(part)
            continue
        at = 0
        while at < len(part) and len(found) < MOST_FIELDS:
            value, at = varint(part, at)
            found.append(value)
    return found


def number(parent: Fields, number: int) -> int:
    return next(reversed(_of_type(int, parent, number)), 0)


def byte_fields(parent: Fields, number: int) -> list[memoryview]:
    return _of_type(memoryview, parent, number)


def _of_type(wanted: type[Value], parent: Fields, number: int) -> list[Value]:
    found = [value for value in parent.get(number, []) if isinstance(value, wanted)]
    if len(found) != len(parent.get(number, [])):
        raise Malformed(NOT_ONNX)
    return found

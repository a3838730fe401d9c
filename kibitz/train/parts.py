"""Arrays in several files, none of them large: a run can be carried from machine to machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from .folder import PART_NAME, About, Arrays, DamagedError, checksum, read_stored, write_tensors

LARGEST = 16_000_000  # bytes of a file
SPARE = 1_000_000  # of these: for names, descriptions and lists of files
PIECE = "|"  # between the name of an array and the number of a piece of it


@dataclass(frozen=True)
class Part:
    """A file that belongs to another one."""

    file: str
    sha256: str

    def __post_init__(self) -> None:
        if not PART_NAME.fullmatch(self.file):
            raise ValueError(f"{self.file!r} does not belong to a run")


def write_parts(path: Path, arrays: Arrays, about: About) -> set[str]:
    """Write arrays as `path` and as many more files as they need; return the names of these.

    `path` is written last and lists the others. Their names follow from their contents, so that
    nothing is overwritten that an earlier `path` lists.
    """
    shapes = {n: list(a.shape) for n, a in arrays.items() if a.nbytes > LARGEST - SPARE}
    first, *others = _groups(_pieces(arrays))
    parts = []
    for group in others:
        file = path.with_suffix(f".{checksum({}, group)[:12]}.safetensors")
        parts.append(Part(file.name, write_tensors(file, group, {})))
    listed = {"parts": [asdict(part) for part in parts], "shapes": shapes}
    write_tensors(path, first, {**about, **listed})
    return {part.file for part in parts}


def read_parts(path: Path) -> tuple[Arrays, About]:
    """The inverse of `write_parts`; DamagedError if anything is missing or damaged."""
    stored = read_stored(path)
    pieces, about = dict(stored.arrays), dict(stored.about)
    try:
        parts, shapes = [Part(**part) for part in about.pop("parts")], dict(about.pop("shapes"))
    except (KeyError, TypeError, ValueError):
        raise DamagedError(f"{path} is damaged: it does not say what belongs to it") from None
    for part in parts:
        other = read_stored(path.with_name(part.file))
        if other.sha256 != part.sha256:
            raise DamagedError(f"{path.with_name(part.file)} does not belong to {path}")
        pieces |= other.arrays
    try:
        return _joined(pieces, shapes), about
    except (ValueError, TypeError):
        raise DamagedError(f"{path} is damaged: its pieces do not fit together") from None


def _pieces(arrays: Arrays) -> Arrays:
    """The same arrays, those that are too large for a file in pieces."""
    pieces: Arrays = {}
    for name, array in arrays.items():
        flat, items = array.reshape(-1), (LARGEST - SPARE) // array.itemsize
        if array.nbytes <= LARGEST - SPARE:
            pieces[name] = array
            continue
        for number, first in enumerate(range(0, len(flat), items)):
            pieces[f"{name}{PIECE}{number}"] = flat[first : first + items]
    return pieces


def _groups(pieces: Arrays) -> list[Arrays]:
    """Arrays by file, in their order."""
    groups: list[Arrays] = [{}]
    room = LARGEST - SPARE
    for name, array in pieces.items():
        if groups[-1] and array.nbytes > room:
            groups.append({})
            room = LARGEST - SPARE
        groups[-1][name] = array
        room -= array.nbytes
    return groups


def _joined(pieces: Arrays, shapes: dict[str, list[int]]) -> Arrays:
    arrays = {name: array for name, array in pieces.items() if PIECE not in name}
    for name, shape in shapes.items():
        numbered = (f"{name}{PIECE}{number}" for number in range(len(pieces)))
        parts = [pieces[piece] for piece in numbered if piece in pieces]
        arrays[name] = np.concatenate(parts).reshape(shape)
    return arrays

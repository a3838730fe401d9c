"""Figures of the house: how long functions are, how many parameters they have, how often `Any`.

    python tests/support/house.py [FOLDER]

Parameters of kernels are not counted: their arrays are their parameters.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KERNELS = {"kernel", "jit"}


@dataclass(frozen=True)
class Function:
    """A function or method of the package."""

    name: str
    lines: int
    parameters: int
    """Without `self`."""
    decorators: frozenset[str]

    @property
    def is_kernel(self) -> bool:
        return bool(self.decorators & KERNELS)


def functions(folder: Path) -> Iterator[Function]:
    """All functions in the files of a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                name = f"{path.relative_to(folder)}:{node.name}"
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Function(name, lines, _parameters(node.args), frozenset(_decorators(node)))


def _parameters(args: ast.arguments) -> int:
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def _decorators(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        yield called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def uses_of_any(folder: Path) -> int:
    """How often `Any` stands in the code of a folder."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
    names = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))
    return sum(name.id == "Any" for name in names)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "kibitz")
    found = list(functions(folder))
    plain = [function for function in found if not function.is_kernel]
    print(f"{len(found)} functions; Any stands {uses_of_any(folder)} times")
    ranks = (("longest", "lines", found), ("most parameters", "parameters", plain))
    for title, key, candidates in ranks:
        ranked = sorted(candidates, key=lambda function: -getattr(function, key))[:5]
        print(f"{title}:", *(f"{getattr(f, key)} {f.name}" for f in ranked), sep="\n  ")


if __name__ == "__main__":
    main()

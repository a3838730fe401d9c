"""What a mutant is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """What is wrong, as a sentence; the edit that makes it so; and the tests that must notice."""

    name: str
    file: str
    """In the package."""
    old: str
    """Occurs in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Node ids of pytest, below tests/."""
    interpreted: bool = False
    """Run the tests without compiling."""

    @property
    def place(self) -> str:
        return f"kibitz/{self.file}"


def mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(name, file, old, new, tests)


def rule_mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """A mutant of something compiled."""
    return Mutant(name, file, old, new, tests, interpreted=True)

"""Draw the picture of a table that stands in the README: `python examples/picture.py`."""

import contextlib
import io
import sys

from rich.console import Console

from kibitz.games import load, rulebook
from kibitz.players import player
from kibitz.terminal import LeftTheTable, Person, play_game


def main(file: str = "docs/table.svg") -> None:
    """Play a few moves as a person would and save what the terminal showed."""
    typed = iter(["3x6", "hint", "4x6", "liar"])
    game = load("liars_dice")
    console = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)

    def ask(prompt: str) -> str:
        text = next(typed, "quit")
        console.print(f"{prompt}{text}", highlight=False)
        return text

    console.print("$ kibitz play liars_dice --against honest", highlight=False)
    with contextlib.suppress(LeftTheTable):
        honest = player("honest", game)
        play_game(
            game, Person(console, honest, rulebook("liars_dice"), ask), [honest], seat=0, seed=8
        )
    console.save_svg(file, title="kibitz")


if __name__ == "__main__":
    main(*sys.argv[1:])

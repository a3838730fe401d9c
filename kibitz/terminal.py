"""Playing in the terminal: the table as your seat sees it, a prompt, and a hint when you ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.columns import Columns
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from .arena.table import Table
from .game import Game, GameError
from .players import Candidate, Player, explain
from .players.thought import Explainer, belief_texts

HELP = "Type an action, 'hint' for advice, 'rules', '?' for the list of actions, or 'quit'."
HINTS = 3  # moves


class LeftTheTable(Exception):
    """The person has typed `quit`."""


class Person:
    """A person at the keyboard, with a player that gives hints and a rulebook."""

    name = "you"

    def __init__(
        self, console: Console, adviser: Player, rulebook: str, ask: Callable[[str], str]
    ) -> None:
        self.console, self.adviser, self.rulebook, self.ask = console, adviser, rulebook, ask

    def move(self, table: Table) -> None:
        """Show the table, then ask until a legal action is typed."""
        seat = table.turn
        title = escape(f"{table.game.name}, seat {seat}")
        self.console.print(Panel(Text(table.seen(seat)), title=title))
        self.console.print(in_columns(table.choices))
        while True:
            try:
                text = self.ask("Your move: ").strip()
            except (EOFError, KeyboardInterrupt):
                raise LeftTheTable from None
            except UnicodeDecodeError:
                text = ""  # bytes that are not text: the help says what can be typed
            if self._done(table, text):
                return

    def _done(self, table: Table, text: str) -> bool:
        match text.lower():
            case "":
                self.console.print(HELP)
            case "?" | "help":
                self.console.print(in_columns(table.choices))
            case "rules":
                rules = f"{self.rulebook}\n\n{table.about()}".strip()
                self.console.print(rules, highlight=False, markup=False)
            case "quit" | "exit" | "q":
                raise LeftTheTable
            case "hint":
                self._advise(table)
            case _:
                try:
                    table.play(text)
                    return True
                except GameError as error:
                    self.console.print(f"[red]{escape(str(error).splitlines()[0])}[/red]")
        return False

    def _advise(self, table: Table) -> None:
        """Show the best moves with their values, or one move if the adviser has no values."""
        name = escape(self.adviser.name)
        if not isinstance(self.adviser, Explainer):
            advice = table.choices[table.actions.index(table.ask(self.adviser))]
            self.console.print(f"{name} says: [bold]{escape(advice)}[/bold]")
            return
        thought = explain(self.adviser, table.sight())
        best, *others = thought.candidates[:HINTS]
        self.console.print(f"{name} says: [bold]{escape(best.text)}[/bold]{_figures(best)}")
        for other in others:
            self.console.print(f"  or {escape(other.text)}{_figures(other)}")
        for sentence in belief_texts(thought):
            self.console.print(escape(sentence), highlight=False)


def _figures(candidate: Candidate) -> str:
    """The value of a move and, without a search, how likely it is played."""
    figures = [] if candidate.value is None else [f"{candidate.value:+.2f}"]
    if candidate.prior is not None and candidate.visits is None:
        figures.append(f"{candidate.prior:.0%}")
    return f" ({', '.join(figures)})" if figures else ""


def in_columns(choices: Sequence[str]) -> Columns:
    """The legal actions in as many columns as fit."""
    return Columns([Text(choice) for choice in choices], padding=(0, 2))


def play_game(
    game: Game, person: Person, others: Sequence[Player], seat: int, seed: int
) -> list[Table]:
    """Play a game, or a match of several rounds, and return the tables with their records."""
    line_up: list[Player | Person] = list(others)
    line_up.insert(game.seat(seat), person)
    person.console.print(HELP)
    tables: list[Table] = []
    while True:
        table = Table(game, seed=seed, index=len(tables))
        tables.append(table)
        _play_round(table, line_up, person)
        after = game.next_round(game.options, table.scores) if game.next_round else None
        if after is None:
            return tables
        game = game.under(after[0])
        line_up = [line_up[k] for k in after[1]]


def _play_round(table: Table, line_up: list[Player | Person], person: Person) -> None:
    mine = line_up.index(person)
    while not table.over:
        seat, mover = table.turn, line_up[table.turn]
        if isinstance(mover, Person):
            mover.move(table)
        else:
            before = len(table.events)
            table.play(table.ask(mover))
            name, news = escape(mover.name), escape(table.events[before].news[mine])
            person.console.print(f"Seat {seat} ({name}): [bold]{news}[/bold]")
    person.console.print(Panel(Text(table.seen(mine)), title="The end"))
    score = table.scores[mine]
    verdict = "You win" if score > 0 else "You lose" if score < 0 else "A draw"
    person.console.print(f"[bold]{verdict}[/bold] ({score:+g}).")

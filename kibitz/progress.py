"""A progress bar, for commands and for functions that take as long."""

from __future__ import annotations

from collections.abc import Callable


class ProgressBar:
    """A progress bar on the error stream, shown only if that is a terminal."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Progress(
            *columns, console=console, transient=True, disable=quiet or not console.is_terminal
        )
        self.task = self.bar.add_task("", total=total)

    def __enter__(self) -> Callable[[int, str], None]:
        self.bar.start()
        return lambda done, text: self.bar.update(self.task, completed=done, description=text)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

"""Commands of the command line, as a person would type them."""

from __future__ import annotations

import os
import subprocess
import sys

from typer.testing import CliRunner

from kibitz import cli


def kibitz(*words: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "kibitz", *words]
    return subprocess.run(command, input=typed, capture_output=True, text=True, env=env)


def run(*words: str) -> str:
    """The same inside this process, for commands that succeed."""
    done = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(cli.app, list(words))
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout

"""The games that searches are tried on."""

from pathlib import Path

import pytest

from kibitz import games

RACE = Path(__file__).parent.parent / "sample_games" / "race.py"


@pytest.fixture(scope="module")
def race():
    return games.load(RACE)


@pytest.fixture(scope="module")
def kuhn():
    return games.load("kuhn")


@pytest.fixture(scope="module")
def liars():
    return games.load("liars_dice", dice=(2, 2))

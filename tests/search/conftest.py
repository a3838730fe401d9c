"""The games that searches are tried on."""

import pytest
from small_games import RACE

from kibitz import games


@pytest.fixture(scope="module")
def race():
    return games.load(RACE)


@pytest.fixture(scope="module")
def kuhn():
    return games.load("kuhn")


@pytest.fixture(scope="module")
def liars():
    return games.load("liars_dice", dice=(2, 2))

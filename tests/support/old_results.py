"""Files of results as earlier versions wrote them."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from kibitz.arena.match import match
from kibitz.arena.results import PairsChunk

FIRST_FORMAT = """
create table if not exists matches (
    id integer primary key,
    game text not null,
    fingerprint text not null,
    options text not null,
    players text not null,
    seed text not null,
    unique (fingerprint, players, seed)
);
create table if not exists chunks (
    match integer not null references matches (id),
    first integer not null,
    groups integer not null,
    result text not null,
    primary key (match, first)
);
"""


def database(file: Path, script: str) -> Path:
    with closing(sqlite3.connect(file)) as db:
        db.executescript(script)
    return file


def paired(game, players: list[str], seed: int, games: int) -> PairsChunk:
    """What was kept of a match of two when comparisons of seats were counted."""
    total = match(game, *players, games=games, seed=seed).total
    points = [wins * total.games / total.groups for wins in total.wins]
    return PairsChunk(
        groups=total.groups,
        games=total.games,
        draws=total.draws,
        rates=total.wins,
        squares=total.win_squares,
        scores=[2 * score for score in total.scores],
        by_seat=total.by_seat,
        points=[[0.0, points[0]], [points[1], 0.0]],
    )


def of_the_first_format(file: Path, game, players: list[str], seed: int, games: int) -> Path:
    """What `--save` wrote before results were keyed by what plays."""
    total = paired(game, players, seed, games)
    database(file, FIRST_FORMAT)
    with closing(sqlite3.connect(file)) as db, db:
        about = (game.name, game.fingerprint, json.dumps(game.describe()["options"]))
        row = (1, *about, json.dumps(players), str(seed))
        db.execute("insert into matches values (?, ?, ?, ?, ?, ?)", row)
        result = json.dumps(dataclasses.asdict(total))
        db.execute("insert into chunks values (1, 0, ?, ?)", (total.groups, result))
    return file

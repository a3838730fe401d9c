"""Odd files and words around open games: games, boards, data, weights, model folders, referees."""

from __future__ import annotations

import functools
import json
import random
import shutil
from pathlib import Path

import fuzz_mutation as mutate
import numpy as np
from fuzz_commands import PLACE, USED, fresh_files, run_command
from fuzz_files import damage_stored
from fuzz_tables import game_named, play_on, played, refused
from fuzzing import ACCEPTED, REFUSED, Wrong
from referee_server import LINE, Script

from kibitz import nets
from kibitz.adapters.banddper_files import FILE_KINDS
from kibitz.adapters.model_folder import write_folder
from kibitz.arena.table import Table
from kibitz.games.escampe.board import NOWHERE
from kibitz.games.escampe.files import read_board, write_board
from kibitz.games.escampe.rules import ALL_PLACED
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.portable import banddper_numpy
from kibitz.portable.escampe import PortableError
from kibitz.train.labelled.files import write_rows
from kibitz.train.labelled.rows import LABELS, Rows

SMALL = DualViewConfig(blocks=1, embedding=2)
ROWS = 12  # of a data set
PATIENCE = 10.0  # seconds for a referee to notice that its client has left


def prepare() -> None:
    """Write the valid files, and compile what reads them."""
    for case in CASES.values():
        case(random.Random(1))


def begin() -> None:
    """Nothing to do once all is prepared."""


# Games and boards ---------------------------------------------------------------------------------


@functools.cache
def valid_game(seed: int) -> str:
    table, rng, file = (
        Table(game_named("escampe"), seed=seed),
        random.Random(seed),
        PLACE / "g.json",
    )
    while not table.over:
        table.play(rng.choice(table.actions))
    table.save(file)
    return file.read_text()


def a_game_file(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return a_board_file(rng)
    text = valid_game(rng.randrange(5))
    if rng.random() < 0.7:
        text = json.dumps(mutate.several(rng, mutate.as_json, json.loads(text)))
    else:
        text = mutate.several(rng, mutate.text, text)
    fresh_files()
    (USED / "odd.json").write_bytes(text.encode("utf-8", "replace"))
    words = ["replay", *rng.choice(([], ["escampe"])), "odd.json"]
    return run_command([*words, "--json"] if rng.random() < 0.5 else words, fresh=False)


def a_board_file(rng: random.Random) -> str:
    game = game_named("escampe")
    text = mutate.several(rng, mutate.text, write_board(played("escampe", rng.randrange(60))))
    return refused(lambda: play_on(game, read_board(game, text), rng))


# Labelled positions -------------------------------------------------------------------------------


@functools.cache
def valid_rows() -> Rows:
    game = game_named("escampe")
    states = [played("escampe", number) for number in range(100)]
    moving = [s for s in states if s.placed == ALL_PLACED and (s.unicorn != NOWHERE).all()][:ROWS]
    columns = {**game.columns.write(np.array(moving))}
    for name, column in LABELS.items():
        columns[name] = np.full(len(moving), 0 if name == "score" else column.absent, column.type)
    return Rows(game, columns)


def a_data_file(rng: random.Random) -> str:
    fresh_files()
    file = USED / rng.choice(("odd.jsonl", "odd.safetensors"))
    write_rows(file, valid_rows())
    if file.suffix == ".jsonl":
        lines, k = file.read_text().splitlines(), rng.randrange(ROWS)
        lines[k] = json.dumps(mutate.several(rng, mutate.as_json, json.loads(lines[k])))
        text = "\n".join(lines)
        text = mutate.several(rng, mutate.text, text) if rng.random() < 0.3 else text
        file.write_bytes(text.encode("utf-8", "replace"))
    else:
        damage_stored(rng, file, USED)
    words = ["check", "escampe", file.name, *rng.choice(([], ["--json"]))]
    if rng.random() < 0.3:
        words = [
            "convert",
            "escampe",
            file.name,
            "new",
            "--format",
            rng.choice(("jsonl", "shards")),
        ]
    return run_command(["data", *words, *rng.choice(([], ["--skip-bad"]))], fresh=False)


# Weights of BandDPER ------------------------------------------------------------------------------


@functools.cache
def valid_weights() -> Path:
    """A folder with the same network in every kind of file."""
    folder = PLACE / "weights"
    folder.mkdir()
    for ending, kind in FILE_KINDS.items():
        kind.save(folder / f"net{ending}", DualViewNet(SMALL))
    return folder


def a_weight_file(rng: random.Random) -> str:
    fresh_files()
    shutil.copytree(valid_weights(), USED, dirs_exist_ok=True)
    file = USED / f"net{rng.choice(('.json', '.json', *FILE_KINDS))}"
    odd = rng.choice([*USED.glob(f"{file.name}*")])  # a binary file has a header beside it
    if odd.suffix == ".json" and rng.random() < 0.7:
        odd.write_text(json.dumps(mutate.several(rng, mutate.as_json, json.loads(odd.read_text()))))
    else:
        odd.write_bytes(mutate.several(rng, mutate.content, odd.read_bytes()))
    if file.suffix == ".json" and rng.random() < 0.3:
        return without_torch(file)
    return run_command(["import", file.name, "new.safetensors"], fresh=False)


def without_torch(file: Path) -> str:
    """Read weights as a program would that has only the portable runtimes."""
    try:
        banddper_numpy.load(file)
    except PortableError as error:
        if not str(error).strip():
            raise Wrong("PortableError says nothing") from error
        return REFUSED
    return ACCEPTED


# Model folders ------------------------------------------------------------------------------------


@functools.cache
def valid_folder() -> Path:
    checkpoint, folder = PLACE / "model.safetensors", PLACE / "model"
    nets.save_net(checkpoint, DualViewNet(SMALL), {"game": game_named("escampe").describe()})
    write_folder(checkpoint, folder)
    return folder


def a_model_folder(rng: random.Random) -> str:
    """A folder with damaged files is imported; or a file of it is exported over something."""
    fresh_files()
    folder = shutil.copytree(valid_folder(), USED / "odd")
    for file in rng.sample(sorted(folder.iterdir()), rng.randrange(4)):
        match rng.randrange(3):
            case 0:
                file.write_bytes(mutate.several(rng, mutate.content, file.read_bytes()))
            case 1:
                file.unlink()
            case _:
                file.unlink()
                file.mkdir()
    if rng.random() < 0.6:
        return run_command(["import", "odd", "new.safetensors"], fresh=False)
    target = rng.choice(("odd", "new", "folder", "run", "game.txt", "loop", "missing/deep"))
    return run_command(["export", "odd/model.safetensors", "--folder", target], fresh=False)


# Referees -----------------------------------------------------------------------------------------

DIALOGUES = (
    b"Noir\nJOUEUR Noir\nFIN! Blanc\n",
    b"Noir\0\nJOUEUR Noir\0\nJOUEUR Blanc\0\nFIN! Egalit\xe9\0\n",
    b"Blanc\nJOUEUR Noir\nMOUVEMENT C6/A6/B5/D5/E6/F5\nJOUEUR Blanc\nJOUEUR Blanc\nFIN! Noir\n",
)


def a_referee(rng: random.Random) -> str:
    """A referee that talks nonsense, too early or too late, and leaves."""
    said = rng.choice(DIALOGUES)
    change = rng.choice((mutate.content, _words))
    referee = Script([LINE, mutate.several(rng, change, said)])
    referee.start()
    words = ["referee", "127.0.0.1", str(referee.port), "--player", "greedy", "--clock", "9"]
    outcome = run_command([*words, *rng.choice(([], ["--json"]))], patient=True)
    referee.join(PATIENCE)
    if referee.is_alive():
        raise Wrong("the client has not left")
    return outcome


def _words(rng: random.Random, said: bytes) -> bytes:
    """A word dropped, repeated, moved, or something else."""
    words = said.split()
    k = rng.randrange(len(words)) if words else 0
    odd = rng.choice((*words, mutate.odd(rng).encode("utf-8", "replace"), b"MOUVEMENT A1-A2"))
    words[k : k + rng.randrange(2)] = rng.choice(([], [odd], words[k : k + 1] * 2))
    return b"\n".join(words) + b"\n"


CASES = {
    "game_files": a_game_file,
    "data_files": a_data_file,
    "weight_files": a_weight_file,
    "model_folders": a_model_folder,
    "referees": a_referee,
}

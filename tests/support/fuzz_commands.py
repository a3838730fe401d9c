"""Odd arguments of every command, run in this process as `kibitz` runs them."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fuzz_mutation as mutate
import torch
from fuzzing import ACCEPTED, FOLDER, REFUSED, Wrong

import kibitz.train.run
from kibitz import cli, contract, nets, recipes
from kibitz.adapters.model_folder import write_folder
from kibitz.arena.rating import saved_match
from kibitz.arena.table import Table
from kibitz.bench import networks, rules
from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
from kibitz.bidding.onnx_file import save_onnx
from kibitz.games import load
from kibitz.search.mcts import Settings
from kibitz.train.run import Run
from kibitz.train.tree_search.learner import Learning

NOT_COMPILED = "the fuzz tests do not compile for"
LINES = 12  # of what is said with status 2: a usage line, a frame, a sentence
PATIENCE = 0.3  # seconds for what has been asked to take long, then Ctrl-C
GAMES = ("kuhn", "liars_dice", "beasty_bar", "dominion", "escampe")
PLAYERS = ("honest", "threshold", "random", "big_money", "greedy", "alphabeta:depth=1")

PLACE = Path(os.environ[FOLDER])  # whoever starts this process removes it
WHOLE, USED = PLACE / "whole", PLACE / "used"

OWN_GAME = Path(__file__).parent.parent / "sample_games" / "coin.py"


# Files that the commands find ---------------------------------------------------------------------


def prepare() -> None:
    """Write the files, make the expensive parts of commands small, and compile what they use."""
    make_small()
    torch.set_num_threads(1)
    WHOLE.mkdir(exist_ok=True)
    game = load("liars_dice", dice=(1, 1))
    table = Table(load("liars_dice"), seed=2)
    while not table.over:
        table.play(table.actions[-1])
    table.save(WHOLE / "game.txt")
    saved_match(WHOLE / "r.sqlite", game, "honest", "random", games=4, seed=0)
    size = {"priv": 8, "pub": 28, "hidden": (4,), "interaction": 4}
    net = NetCompBilin(CompBilinConfig(**size), 1)
    nets.save_net(WHOLE / "net.safetensors", net, {"game": game.describe()})
    save_onnx(WHOLE / "net.onnx", net, game.describe())
    write_folder(WHOLE / "net.safetensors", WHOLE / "model")
    run = Run(recipes.recipe("liars_dice", "default"), WHOLE / "run", seed=1)
    run.close()
    (WHOLE / "coin.py").symlink_to(OWN_GAME)  # the same path to the compiler every time
    (WHOLE / "binary").write_bytes(bytes(range(256)) * 20)
    (WHOLE / "binary.py").write_bytes(b"\x7fELF\0\0\xff")
    (WHOLE / "exit.py").write_text("import sys\nsys.exit(3)\n")
    (WHOLE / "five.py").write_text("GAME = 5\n")
    (WHOLE / "empty").touch()
    (WHOLE / "folder").mkdir(exist_ok=True)
    (WHOLE / "null").symlink_to("/dev/null")
    (WHOLE / "zero").symlink_to("/dev/zero")
    (WHOLE / "loop").symlink_to("loop")
    for words in FIRST:
        run_command(words.split(), patient=True)


TINY_SEARCH = replace(
    recipes.recipe("beasty_bar", "demo"),
    config={"margin_head": True, "width": 16, "embedding": 8, "attention_heads": 2},
    search=Settings(simulations=3, root="gumbel", considered=4),
    warm_search=Settings(simulations=3),
    warm_start=1,
    learning=Learning(batch=8, warm_up=1, steps=4, average_decay=0.9),
    games=2,
    steps=1,
    iterations=2,
    gate_every=1,
    gate_games=2,
    baselines=("random",),
)

FILES = (
    *("game.txt", "r.sqlite", "net.safetensors", "net.onnx", "run", "coin.py", "binary", "loop"),
    "model",
    *(
        "binary.py",
        "exit.py",
        "five.py",
        "empty",
        "folder",
        "null",
        "zero",
        "missing",
        "run/run.json",
    ),
    *(
        "missing/deep",
        "game.txt/deep",
        "./coin.py",
        "coin",
        "a b.txt",
        "ü.py",
        "-",
        "new.safetensors",
    ),
)


def make_small() -> None:
    """Training, benches and the demonstration do little, and nothing in other processes."""
    from kibitz.recipes import beasty_bar, dominion, escampe, liars_dice

    few = {"iterations": 1, "gate_every": 1, "gate_games": 2}
    tiny = replace(
        liars_dice.DEFAULT,
        config={"interaction": 4, "hidden": (4,)},
        histories=1,
        plays=3,
        steps=3,
        **few,
    )
    for name in liars_dice.RECIPES:
        liars_dice.RECIPES[name] = tiny
    for name in beasty_bar.RECIPES:
        beasty_bar.RECIPES[name] = TINY_SEARCH
    dominion.RECIPES.clear()
    del escampe.RECIPES["selfplay"]
    networks.decision_us = lambda name: {"opening": 1.0, "game": 1.0}
    contract.PROMISES = contract.PROMISES[3:7]  # quick ones
    kibitz.train.run.draw = lambda rows, path: None
    rules.SECONDS, rules.REPEATS, rules.CPU_GAMES, networks.REPEATS = 0.001, 1, 8, 1
    networks.TABLES = {"cpu": (4,), "cuda": (4,)}
    rules.start_seconds = lambda name, options: (1.0, 1.0)


def fresh_files() -> None:
    """The folder of files as it was: what the last case has changed is put right."""
    USED.mkdir(exist_ok=True)
    whole, used = _listed(WHOLE), _listed(USED)
    for name in sorted(used, reverse=True):  # what is in a folder before the folder
        if used[name] != whole.get(name):
            (USED / name).rmdir() if stat.S_ISDIR(used[name][0]) else (USED / name).unlink()
            del used[name]
    for name in sorted(whole):
        if name not in used:
            if stat.S_ISDIR(whole[name][0]):
                (USED / name).mkdir()
            else:
                shutil.copy2(WHOLE / name, USED / name, follow_symlinks=False)


def _listed(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything in a folder: what it is and, for files, when it was written."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            entry = Path(path, name)
            status = entry.lstat()
            when = status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0
            found[str(entry.relative_to(folder))] = (status.st_mode, when)
    return found


# One command --------------------------------------------------------------------------------------


def run_command(
    words: list[str], typed: str = "", *, fresh: bool = True, patient: bool = False
) -> str:
    """Run `kibitz` with these words in the folder of files; how it ended.

    fresh: whether the folder is put in order first. patient: whether it may take as long as it
    needs, as for the first time.
    """
    if fresh:
        fresh_files()
    long = asks_for_much(words) and not patient
    status: Any = 0

    def run() -> None:
        nonlocal status
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0

    with in_folder(USED), console(typed) as (out, err):
        sys.argv = ["kibitz", *words]
        run_with_patience(run) if long else run()
    said, complaint = out.getvalue().decode(), err.getvalue().decode()
    check_ended(words, status, said, complaint, long)
    return REFUSED if status == 2 and NOT_COMPILED not in complaint else ACCEPTED


def check_ended(words: list[str], status: Any, said: str, complaint: str, long: bool) -> None:
    shown = f"kibitz {words}\nstatus {status}\n{said[-300:]}\n{complaint[-1200:]}"
    if status not in (0, 1, 2) and not (long and status == 130):
        raise Wrong(f"this status is none of 0, 1 and 2: {shown}")
    if "Traceback" in said + complaint:
        raise Wrong(f"a traceback: {shown}")
    if "\x1b" in said + complaint:
        raise Wrong(f"codes that a terminal obeys: {shown!r}")
    lines = [line for line in complaint.splitlines() if line.strip()]
    if status == 2 and not 1 <= len(lines) <= LINES and "Usage: " not in said:
        raise Wrong(f"{len(lines)} lines, not one sentence: {shown}")
    if status == 0 and "--json" in words and not {"--help", "--version"} & {*words}:
        try:
            json.loads(said or "null", parse_constant=_refuse)
        except ValueError as error:
            raise Wrong(f"this is not JSON ({error}): {shown}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def asks_for_much(words: list[str]) -> bool:
    """Whether the words ask for work that may rightly take long."""
    much = re.search(r"\d{3}|e\d|seconds|minutes|٣|demo|check|solve|local", " ".join(words))
    return much is not None


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def console(typed: str) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Streams as a shell gives them: text that cannot be encoded is an error on the first."""
    before = sys.stdin, sys.stdout, sys.stderr, sys.argv
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.StringIO(typed)
    sys.stdout = io.TextIOWrapper(out, "utf-8", "strict", write_through=True)
    sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
    try:
        yield out, err
    finally:
        kept = sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr, sys.argv = before
        for stream in kept:
            stream.detach()


def run_with_patience(work: Callable[[], None]) -> None:
    """Run this, and press Ctrl-C if it takes long.

    The alarm may ring at any moment, also when the work has just been done. So it is disarmed
    where an interruption is still caught.
    """
    armed = True

    def press(*_: object) -> None:
        if armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        try:
            work()
        finally:
            armed = False
    except KeyboardInterrupt:
        pass  # at the very end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# What can be asked --------------------------------------------------------------------------------


def a_command(rng: random.Random) -> str:
    words = rng.choice(COMMANDS)(rng)
    if rng.random() < 0.9:
        words = mutate.several(rng, odd_words, words)
    return run_command([inside(word) for word in words], typed(rng))


def inside(word: str) -> str:
    """A word without NUL that names nothing outside of the folder of files."""
    word = word.replace("\0", "").replace("..", ".")
    return re.sub(r"(^|[=:,])/+", r"\1", word)


def typed(rng: random.Random) -> str:
    lines = [rng.choice(("?", "hint", "rules", "", "1x1", "liar", "bet", "pass", "0", "quit"))]
    lines += [mutate.odd(rng) for _ in range(rng.randrange(4))]
    return "\n".join(line.encode("utf-8", "replace").decode() for line in lines)


def odd_words(rng: random.Random, words: list[str]) -> list[str]:
    """The words with one change."""
    changed, where = list(words), rng.randrange(len(words) + 1)
    k = min(where, len(words) - 1)
    match rng.randrange(9):
        case 0 if words:
            del changed[k]
        case 1 if words:
            changed.insert(where, rng.choice(words))
        case 2 if words:
            j = rng.randrange(len(words))
            changed[k], changed[j] = changed[j], changed[k]
        case 3 if words:
            changed[k] = mutate.odd(rng)
        case 4 | 5 if words:
            changed[k] = mutate.text(rng, changed[k])
        case 6:
            other = rng.choice(COMMANDS)(rng)
            a, b = mutate.cut(rng, len(other), 2)
            changed[where:where] = other[a:b]
        case 7 if words:
            changed[k] = rng.choice(FILES)
        case _:
            changed[where:where] = [rng.choice(("--help", "--json", "--seed", "-o", "--"))]
    return changed


def some_of(rng: random.Random, *given: list[str]) -> list[str]:
    return [word for words in given if rng.random() < 0.4 for word in words]


def a_game(rng: random.Random) -> list[str]:
    name = rng.choice((*GAMES, "liars_dice", "coin.py", "Liars-Dice"))
    given = {"liars_dice": OPTIONS_OF_DICE, "dominion": OPTIONS_OF_DOMINION}.get(name, ["start=0"])
    options = [word for each in rng.sample(given, rng.choice((0, 0, 1))) for word in ("-o", each)]
    return [name, *options]


OPTIONS_OF_DICE = ["dice=1,1", "dice=5,5", "variant=normal", "die_loss=none", "opening_call=no"]
OPTIONS_OF_DOMINION = ["kingdom=first_game", "kingdom=deck_top", "max_turns=3", "first=1"]


def a_player(rng: random.Random) -> str:
    sims = f"sims={rng.choice((1, 2, 5))}"
    return rng.choice(
        (
            *PLAYERS,
            f"mcts:{sims}",
            f"mcts:{sims},explore=1.5,root=gumbel,evaluator=uniform",
            "mcts:sims=9,seconds=0.001,device=cpu",
            "net:net.safetensors",
            "net:net.safetensors,mode=softmax,temperature=0.5",
            "net:path=net.onnx,mode=purify,threshold=0.2",
            "champion:mode=sample",
            "champion:sims=2",
            "champion:rounds=1",
            "champion:seconds=0.001,mode=argmax",
            f"net:{rng.choice(FILES)}",
        )
    )


def seeded(rng: random.Random) -> list[str]:
    return ["--seed", str(rng.choice((0, 1, 7, 2**63, 10**30)))]


COMMANDS: list[Callable[[random.Random], list[str]]] = [
    lambda r: ["games", *some_of(r, [r.choice((*GAMES, "coin.py"))], ["--json"])],
    lambda r: [
        *("match", *a_game(r), a_player(r), a_player(r), "--games", r.choice("124")),
        *some_of(r, ["--json"], seeded(r), ["--save", r.choice(("r.sqlite", "new.sqlite"))]),
    ],
    lambda r: ["match", "liars_dice", a_player(r), a_player(r), "--games", "2", "--json"],
    lambda r: ["ratings", "r.sqlite", *some_of(r, ["--game", "liars_dice"], ["--json"])],
    lambda r: [
        *("exploit", r.choice(("kuhn", "liars_dice")), r.choice(("random", "mcts:sims=2"))),
        *("-o", "dice=1,1"),
        *some_of(r, ["--solve", "2"], ["--local", "2"], seeded(r), ["--json"]),
    ],
    lambda r: [
        *("play", *a_game(r), *some_of(r, ["--against", a_player(r)], ["--hint", a_player(r)])),
        *some_of(r, ["--seat", r.choice("01")], ["--save", "new.txt"], seeded(r)),
    ],
    lambda r: ["replay", "liars_dice", "game.txt", *some_of(r, ["--ply", "1"], ["--json"])],
    lambda r: ["analyse", *a_game(r), "--player", a_player(r), *some_of(r, ["--json"], seeded(r))],
    lambda r: [
        *("train", "liars_dice", "--out", r.choice(("run", "new", "folder"))),
        *some_of(r, ["--recipe", "demo"], ["--minutes", "0.001"], ["--resume"], ["--refill"]),
        *some_of(r, seeded(r), ["--from", "net.safetensors"], ["--against", "honest"]),
    ],
    lambda r: ["import", "net.onnx", "new.safetensors", *some_of(r, ["-o", "dice=1,1"])],
    lambda r: ["import", "model", "new.safetensors"],
    lambda r: ["export", "net.safetensors", "new.onnx", *some_of(r, ["--batched"])],
    lambda r: ["export", "net.safetensors", "--folder", r.choice(("model", "new", "folder"))],
    lambda r: ["check", r.choice(FILES), "--quick", *some_of(r, ["--json"], seeded(r))],
    lambda r: ["check", *a_game(r), "--write-playthrough", "new.txt", *some_of(r, seeded(r))],
    lambda r: ["bench", "rules", *a_game(r), *some_of(r, ["--json"], ["--device", "cpu"])],
    lambda r: ["bench", "search", "kuhn", "--trees", "2", "--simulations", "2", "--json"],
    lambda r: ["bench", "net", "liars_dice", *some_of(r, ["--json"])],
    lambda r: some_of(r, ["--version"], ["--help"], ["bench"], ["demo"]),
]

FIRST = (  # so that all is compiled that the commands use
    "games kuhn",
    "match coin.py random mcts:sims=2 --games 2",
    *(f"match {name} random mcts:sims=2,root=gumbel --games 2" for name in GAMES),
    *(f"match {name} random random --games 2 --json" for name in GAMES),
    *(f"analyse {name} --player mcts:sims=2" for name in (*GAMES, "coin.py")),
    "analyse escampe --player alphabeta:depth=1",
    "match liars_dice mcts:sims=2,evaluator=uniform champion:rounds=1 --games 2",
    "match liars_dice champion exploiter --games 2",
    "match liars_dice net:net.onnx mcts:sims=2 --games 2 -o dice=1,1",
    "exploit kuhn random --solve 2",
    "exploit liars_dice honest -o dice=1,1 --solve 2",
    "exploit liars_dice honest -o dice=1,1 --local 2",
    "exploit kuhn mcts:sims=2",
    "train liars_dice --out new",
    "train beasty_bar --out new",
    "import net.onnx new.safetensors",
    "export net.safetensors new.onnx",
    "export net.safetensors --folder new",
    "import model new.safetensors",
    "match escampe greedy alphabeta:depth=1 --games 2",
    "check coin.py --quick",
    *(f"check {name} --write-playthrough new.txt" for name in GAMES),
    *(f"bench rules {name}" for name in (*GAMES, "coin.py")),
    "bench search kuhn --trees 2 --simulations 2",
    "bench search beasty_bar --trees 2 --simulations 2",
    "bench latent kuhn --trees 2 --simulations 2",
    "bench net liars_dice",
    "bench net beasty_bar",
    "demo",
)

CASES = {"commands": a_command}


def begin() -> None:
    """Nothing to do once all is prepared."""

"""Odd files of every kind that the package reads, made from valid ones by changing their parts.

Where a format has a checksum, half of the odd files carry the right one for what they hold.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import fuzz_mutation as mutate
import numpy as np
import torch
from fuzz_commands import PLACE, TINY_SEARCH, USED, fresh_files, run_command
from fuzz_tables import NAMES, game_named, refused
from fuzzing import REFUSED
from safetensors.numpy import save as tensor_bytes

from kibitz import nets
from kibitz.arena.rating import saved_match
from kibitz.arena.results import APPLICATION_ID
from kibitz.arena.results import FORMAT as FORMAT_OF_RESULTS
from kibitz.arena.table import Table
from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
from kibitz.bidding.onnx_file import load_onnx, save_onnx
from kibitz.games import load
from kibitz.nets import all_kinds
from kibitz.nets.protobuf import BYTES, VARINT, varint
from kibitz.players import player
from kibitz.recipes import recipe
from kibitz.train.folder import FORMAT, checksum, read_stored
from kibitz.train.run import Run

ODD = PLACE / "odd"  # where the odd files are
DICE = {"dice": (1, 1)}


def prepare() -> None:
    """Make the valid files, and compile what uses them."""
    ODD.mkdir(exist_ok=True)
    for name in NAMES:
        a_record_of(name, 0)
    for kind in ("results", "first_format"):
        valid_results(kind)
    for kind in CONFIGS:
        valid_net(kind)
    valid_onnx(0)
    for number in range(len(RECIPES)):
        folder = shutil.copytree(valid_run(number), ODD / "run")
        resume(folder, number, refill=True)
        shutil.rmtree(folder)
    for case in (a_network, an_onnx_file, a_results_file):
        case(random.Random(1))


# Records ------------------------------------------------------------------------------------------


@functools.cache
def a_record_of(name: str, seed: int) -> str:
    table = Table(game_named(name), seed=seed)
    rng = random.Random(seed)
    for _ in range(200):
        if table.over:
            break
        table.play(rng.choice(table.actions))
    return table.record()


def a_record(rng: random.Random) -> str:
    name = rng.choice(NAMES)
    text = a_record_of(name, rng.randrange(5))
    text = mutate.several(rng, rng.choice((_lines, _one_line, _options, mutate.text)), text)
    if rng.random() < 0.5:
        text = _with_right_fingerprint(name, text)
    fresh_files()
    content = text.encode("utf-8", "surrogateescape" if "\udcff" in text else "replace")
    (USED / "odd.txt").write_bytes(content)
    ply = ["--ply", rng.choice(("0", "1", "3", "-1", "999"))] if rng.random() < 0.3 else []
    words = ["replay", name, "odd.txt", *ply]
    return run_command([*words, "--json"] if rng.random() < 0.5 else words, fresh=False)


def _lines(rng: random.Random, text: str) -> str:
    """Lines dropped, repeated, exchanged, or taken from another record."""
    lines = text.split("\n")
    other = a_record_of(rng.choice(NAMES), rng.randrange(5)).split("\n")
    k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[k]
        case 1:
            lines.insert(j, lines[k])
        case 2:
            lines[k], lines[j] = lines[j], lines[k]
        case _:
            lines[k] = rng.choice(other)
    return "\n".join(lines)


def _one_line(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    k = rng.randrange(len(lines))
    key, colon, value = lines[k].partition(": ")
    lines[k] = key + colon + mutate.text(rng, value)
    return "\n".join(lines)


def _options(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    for k, line in enumerate(lines):
        with suppress(ValueError):
            if line.startswith("options: "):
                changed = mutate.as_json(rng, json.loads(line.removeprefix("options: ")))
                lines[k] = f"options: {json.dumps(changed)}"
    return "\n".join(lines)


def _with_right_fingerprint(name: str, text: str) -> str:
    from kibitz.arena.table import recorded_options

    with suppress(Exception):
        game = load(name)
        right = game.under(type(game.options).read(recorded_options(text))).fingerprint
        lines = [f"fingerprint: {right}" if "fingerprint:" in x else x for x in text.split("\n")]
        return "\n".join(lines)
    return text


# Results ------------------------------------------------------------------------------------------


@functools.cache
def valid_results(kind: str) -> Path:
    from old_results import of_the_first_format

    file, game = PLACE / f"{kind}.sqlite", load("liars_dice", **DICE)
    if kind == "first_format":
        return of_the_first_format(file, game, ["honest", "random"], 3, 4)
    for seed in (0, 1):
        saved_match(file, game, "honest", "random", games=4, seed=seed)
        saved_match(file, load("kuhn"), "random", "mcts:sims=2", games=4, seed=seed)
    return file


def a_results_file(rng: random.Random) -> str:
    fresh_files()
    file = USED / "odd.sqlite"
    shutil.copy(valid_results(rng.choice(("results", "results", "first_format"))), file)
    with suppress(sqlite3.Error), closing(sqlite3.connect(file, isolation_level=None)) as db:
        for _ in range(rng.randint(1, 3)):
            with suppress(sqlite3.Error, OverflowError, ValueError, TypeError):
                rng.choice((_cell, _cell, _result, _result, _loose, _schema))(rng, db)
    if rng.random() < 0.25:
        file.write_bytes(mutate.several(rng, mutate.content, file.read_bytes()))
    words = ["ratings", "odd.sqlite", *(["--json"] if rng.random() < 0.5 else [])]
    if rng.random() < 0.3:
        words = ["match", "liars_dice", "honest", "random", "-o", "dice=1,1", "--games", "4"]
        words += ["--save", "odd.sqlite", *(["--seed", "1"] if rng.random() < 0.5 else [])]
    return run_command(words, fresh=False)


COLUMNS = {
    "matches": [
        "id",
        "game",
        "fingerprint",
        "options",
        "players",
        "seed",
        "identities",
        "keyed_by",
    ],
    "chunks": ["match", "first", "groups", "result"],
}


def _cell(rng: random.Random, db: sqlite3.Connection) -> None:
    table = rng.choice(list(FORMAT_OF_RESULTS))
    column = rng.choice(FORMAT_OF_RESULTS[table])
    (old,) = db.execute(f"select {column} from {table} order by random() limit 1").fetchone()
    new = rng.choice((*mutate.JSONS, b"\xff\0", mutate.odd(rng)))
    if isinstance(old, str) and rng.random() < 0.6:
        new = mutate.text(rng, old)
    if isinstance(new, (list, dict)):
        new = json.dumps(new)
    some = rng.randrange(2)
    db.execute(f"update {table} set {column} = ? where rowid % 2 = ?", (new, some))


def _result(rng: random.Random, db: sqlite3.Connection) -> None:
    table, column = rng.choice((("chunks", "result"), ("matches", "players")))
    (old,) = db.execute(f"select {column} from {table} limit 1").fetchone()
    new = json.dumps(mutate.several(rng, mutate.as_json, json.loads(old)))
    db.execute(f"update {table} set {column} = ?", (new,))


def _loose(rng: random.Random, db: sqlite3.Connection) -> None:
    """The same tables without what keeps odd rows out of them."""
    for table in FORMAT_OF_RESULTS:
        names = ", ".join(row[1] for row in db.execute(f"pragma table_info({table})"))
        db.execute(f"create table loose as select {names} from {table}")
        db.execute(f"drop table {table}")
        db.execute(f"alter table loose rename to {table}")
    if rng.random() < 0.5:
        db.execute("insert into chunks select * from chunks")
        db.execute("insert into matches select * from matches")


ENDLESS = (
    "create view chunks as with recursive n(i) as (select 1 union all select i + 1 from n) "
    "select 1 as match, i as first, 2 as groups, 'x' as result from n"
)


def _schema(rng: random.Random, db: sqlite3.Connection) -> None:
    match rng.randrange(6):
        case 0:
            db.execute(f"pragma application_id = {rng.choice((0, 7, APPLICATION_ID))}")
        case 1:
            db.execute(f"pragma user_version = {rng.randrange(4)}")
        case 2:
            db.execute("drop table chunks")
            db.execute(ENDLESS)
        case 3:
            db.execute("alter table chunks rename to held")
            db.execute("create view chunks as select * from held, held as more")
        case 4:
            db.execute(f"delete from {rng.choice(list(FORMAT_OF_RESULTS))}")
        case _:
            db.execute(
                "create trigger loop after insert on chunks begin update chunks set groups = 1; end"
            )


# Networks -----------------------------------------------------------------------------------------

CONFIGS: dict[str, dict[str, Any]] = {
    "comp_bilin": {"priv": 8, "pub": 28, "hidden": (4,), "interaction": 4},
    "hand_policy": {"interaction": 4, "hidden": (4,)},
    "zones": {"width": 16, "embedding": 8, "attention_heads": 2},
    "beliefs": {"width": 8, "depth": 1},
    "card_set": {},
    "design_v2": {},
    "accumulator": {"width": 8, "hidden": 4},
    "dual_view": {"blocks": 1, "embedding": 2},
}
GAMES = {"zones": "beasty_bar", "accumulator": "escampe", "dual_view": "escampe"}


@functools.cache
def valid_net(kind: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Metadata and tensors of a small network."""
    config, net = all_kinds()[kind].config, all_kinds()[kind].net
    fields = {k: v for k, v in CONFIGS[kind].items() if k in config.__dataclass_fields__}
    game = game_named(GAMES[kind]) if kind in GAMES else load("liars_dice", **DICE)
    game = game.through("pieces") if kind == "accumulator" else game
    file = PLACE / f"{kind}.safetensors"
    nets.save_net(file, net(config(**fields), 1), {"game": game.describe()})
    return nets.read(file)


def a_network(rng: random.Random) -> str:
    facts, tensors = valid_net(rng.choice(("comp_bilin", *CONFIGS)))
    facts, tensors = dict(facts), dict(tensors)
    right = rng.random() < 0.5
    fresh_files()
    file = USED / "odd.safetensors"
    for _ in range(rng.randint(0, 3)):
        rng.choice((_facts, _facts, _config, _config, _tensor))(rng, facts, tensors)
    if right:
        facts.pop("sha256", None)
        with suppress(Exception):
            facts["sha256"] = nets.digest(facts, tensors)
    try:
        content = tensor_bytes({n: t.numpy() for n, t in tensors.items()}, _encodable(facts))
    except Exception:  # what safetensors itself cannot write
        return REFUSED
    if not right:
        content = mutate.several(rng, rng.choice((mutate.content, _header)), content)
    file.write_bytes(content)
    match rng.randrange(4):
        case 0:
            words = ["export", "odd.safetensors", "new.onnx"]
            policy = facts.get("net") != "comp_bilin" and rng.random() < 0.9  # traced: a second
            return (
                refused(lambda: nets.load_net(file)) if policy else run_command(words, fresh=False)
            )
        case 1:
            who = f"net:odd.safetensors,mode={rng.choice(('sample', 'argmax'))}"
            words = ["match", "liars_dice", who, "random", "-o", "dice=1,1", "--games", "2"]
            return run_command(words, fresh=False)
    name = rng.choice(("", "", "", "beasty_bar", "escampe"))
    game = game_named(name) if name else load("liars_dice", **DICE)
    who = rng.choice(("net:{}", "alphabeta:judge={},depth=1")) if name == "escampe" else "net:{}"
    return refused(lambda: Table(game, seed=1).ask(player(who.format(file), game)))


def _encodable(facts: dict[str, Any]) -> dict[str, str]:
    clean = {k: v.encode("utf-8", "replace").decode() for k, v in facts.items()}
    return {k.encode("utf-8", "replace").decode(): v for k, v in clean.items()}


def _facts(rng: random.Random, facts: dict[str, str], tensors: dict[str, Any]) -> None:
    key = rng.choice(list(facts))
    match rng.randrange(5):
        case 0:
            facts.pop(key)
        case 1:
            facts[key] = mutate.text(rng, facts[key])
        case 2:
            facts["net"] = rng.choice(list(all_kinds()))
        case _:
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                key = rng.choice(("config", "about"))
                facts[key] = json.dumps(mutate.as_json(rng, json.loads(facts[key])))


def _config(rng: random.Random, facts: dict[str, str], tensors: dict[str, Any]) -> None:
    with suppress(ValueError, LookupError, AttributeError, TypeError, RecursionError):
        config = json.loads(facts["config"])
        name = rng.choice(list(config))
        values = (0, -1, 1, 2, 7, 64, 8192, 65536, 2**31, 2**63, 10**30, 0.5, True, None, "4")
        lists = ([], [0], [8192] * 64, [1] * 65, [[4]], [10**9], [-1], ["a"], [2**70])
        config[name] = rng.choice((*values, *lists))
        facts["config"] = json.dumps(config)


def _tensor(rng: random.Random, facts: dict[str, str], tensors: dict[str, Any]) -> None:
    name = rng.choice(list(tensors) or [""])
    if not name:
        return
    old = tensors.pop(name)
    match rng.randrange(8):
        case 0:
            return
        case 1:
            tensors[rng.choice((mutate.odd(rng)[:99].encode("utf-8", "replace").decode(), "x"))] = (
                old
            )
        case 2:
            kinds = (torch.float16, torch.float64, torch.int8, torch.bool, torch.int64)
            tensors[name] = old.to(rng.choice(kinds))
        case 3:
            tensors[name] = old.reshape(-1)
        case 4:
            tensors[name] = old[:0]
        case 5:
            tensors[name] = torch.cat([old, old])
        case 6:
            tensors[name] = torch.full_like(old, rng.choice((float("nan"), float("inf"), 1e38)))
        case _:
            tensors[name] = torch.zeros(())


def _header(rng: random.Random, content: bytes) -> bytes:
    """A safetensors file whose header says something else about the same bytes."""
    size = int.from_bytes(content[:8], "little")
    with suppress(ValueError, RecursionError):
        header = json.loads(content[8 : 8 + size])
        header = json.dumps(mutate.as_json(rng, header)).encode()
        length = len(header) if rng.random() < 0.9 else rng.choice((0, 2**31, 2**63, 2**64 - 1))
        return length.to_bytes(8, "little") + header + content[8 + size :]
    return content


# ONNX ---------------------------------------------------------------------------------------------


@functools.cache
def valid_onnx(number: int) -> bytes:
    file = PLACE / "valid.onnx"
    net = NetCompBilin(CompBilinConfig(**CONFIGS["comp_bilin"]), 1)
    if number < 2:
        save_onnx(file, net, load("liars_dice", **DICE).describe(), batched=bool(number))
        return file.read_bytes()
    from onnx_models import a_model

    how = ({}, {"gemm": 0}, {"gemm": 1, "rank": 2}, {"floats": "list"}, {"bias_rank": 2})
    return a_model(net=net, **how[number - 2])


def an_onnx_file(rng: random.Random) -> str:
    content = valid_onnx(rng.randrange(7))
    content = mutate.several(
        rng, lambda r, c: rng.choice((_message, _message, mutate.content))(r, c), content
    )
    fresh_files()
    file = USED / rng.choice(("odd.onnx", "odd_45.onnx", "odd_999.onnx", "model_11_joker.onnx"))
    file.write_bytes(content)
    match rng.randrange(5):
        case 0:
            options = ["-o", rng.choice(("dice=1,1", "dice=4,5", "sides=6", "preset=perudo"))]
            return run_command(["import", file.name, "new.safetensors", *options], fresh=False)
        case 1:
            words = ["match", "liars_dice", f"net:{file.name}", "random", "-o", "dice=1,1"]
            return run_command([*words, "--games", "2"], fresh=False)
    return refused(lambda: load_onnx(file))


def _message(rng: random.Random, content: bytes, depth: int = 0) -> bytes:
    """A protobuf message with one field changed, here or in a message inside."""
    parts = _parts(content)
    if not parts:
        return mutate.content(rng, content)
    k = rng.randrange(len(parts))
    number, kind, value = parts[k]
    if kind == BYTES and depth < 6 and rng.random() < 0.7 and _parts(value):
        parts[k] = (number, kind, _message(rng, value, depth + 1))
        return b"".join(_written(*part) for part in parts)
    match rng.randrange(8):
        case 0:
            del parts[k]
        case 1:
            parts[k:k] = [parts[k]] * rng.choice((1, 1, 300))
        case 2:
            j = rng.randrange(len(parts))
            parts[k], parts[j] = parts[j], parts[k]
        case 3:
            parts[k] = (rng.choice((0, 1, 2, 3, 5, 9, 13, 14, 25, 2**28)), kind, value)
        case 4 if kind == VARINT:
            numbers = (0, 1, 2, 7, 10, 2**31, 2**32, 2**62, 2**63, 2**64 - 1, value + 1, -value)
            parts[k] = (number, kind, rng.choice(numbers) % 2**64)
        case 5:
            parts[k] = (number, BYTES, valid_onnx(0)) if kind == BYTES else (number, VARINT, 7)
        case _ if kind == BYTES:
            odd = mutate.odd(rng).encode("utf-8", "replace")
            parts[k] = (number, kind, rng.choice((odd, mutate.content(rng, value), b"")))
    return b"".join(_written(*part) for part in parts)


def _parts(content: bytes) -> list[tuple[int, int, Any]]:
    """The fields of a message in order; nothing where it is none."""
    parts, at = [], 0
    try:
        while at < len(content):
            tag, at = varint(memoryview(content), at)
            kind = tag & 7
            if kind == VARINT:
                value, at = varint(memoryview(content), at)
            else:
                size = {1: 8, 5: 4}.get(kind, 0)
                if kind == BYTES:
                    size, at = varint(memoryview(content), at)
                if kind not in (1, 2, 5) or size > len(content) - at:
                    return []
                value, at = content[at : at + size], at + size
            parts.append((tag >> 3, kind, value))
    except ValueError:
        return []
    return parts


def _written(number: int, kind: int, value: Any) -> bytes:
    from kibitz.bidding.onnx_file import _varint

    tag = _varint(number << 3 | kind)
    if kind == VARINT:
        return tag + _varint(value)
    return tag + (_varint(len(value)) if kind == BYTES else b"") + value


# Runs ---------------------------------------------------------------------------------------------


RECIPES: list[Callable[[], Any]] = [lambda: TINY_SEARCH, lambda: recipe("liars_dice", "default")]


@functools.cache
def valid_run(number: int) -> Path:
    path = PLACE / f"run_{number}"
    run = Run(RECIPES[number](), path, seed=3)
    run.train()
    run.close()
    return path


def resume(folder: Path, number: int, refill: bool) -> None:
    run = Run(RECIPES[number](), folder, resume=True, refill=refill)
    try:
        run.train(seconds=0)
    finally:
        run.close()


def a_run(rng: random.Random) -> str:
    number = rng.choice((0, 0, 1))
    folder = ODD / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(valid_run(number), folder)
    files = [
        f for f in sorted(folder.rglob("*")) if f.suffix in (".safetensors", ".json", ".jsonl")
    ]
    file = rng.choice(files)
    match file.suffix:
        case ".safetensors" if file.parent.name != "league":
            damage_stored(rng, file, folder)
        case ".json":
            about = json.loads(file.read_text())
            file.write_text(json.dumps(mutate.several(rng, mutate.as_json, about)))
        case ".jsonl":
            _metrics(rng, file)
        case _:
            file.write_bytes(mutate.several(rng, mutate.content, file.read_bytes()))
    if rng.random() < 0.1:
        file.unlink()
    return refused(lambda: resume(folder, number, refill=rng.random() < 0.5))


def _metrics(rng: random.Random, file: Path) -> None:
    lines = file.read_text().splitlines()
    k = rng.randrange(len(lines))
    lines[k] = json.dumps(mutate.several(rng, mutate.as_json, json.loads(lines[k])))
    lines += [lines[k]] * rng.randrange(2)
    file.write_text("\n".join(lines) + rng.choice(("\n", "", "\n\n")))


def damage_stored(rng: random.Random, file: Path, folder: Path) -> None:
    """A checkpoint or shard with other arrays or other words about them, mostly consistent."""
    stored = read_stored(file)
    arrays, about = {n: np.array(a) for n, a in stored.arrays.items()}, stored.about
    if rng.random() < 0.5:
        about = mutate.several(rng, mutate.as_json, about)
    else:
        _array(rng, arrays)
    metadata = {"format": FORMAT, "about": json.dumps(about)}
    sha256 = checksum(metadata, arrays)
    if rng.random() < 0.2:
        sha256 = mutate.text(rng, sha256)
    content = tensor_bytes(arrays, _encodable({**metadata, "sha256": sha256}))
    if rng.random() < 0.2:
        content = mutate.content(rng, content)
    file.write_bytes(content)
    if file.parent.name == "replay" and rng.random() < 0.9:
        _list_again(folder, file.name, sha256)


def _array(rng: random.Random, arrays: dict[str, Any]) -> None:
    name = rng.choice(list(arrays))
    array = arrays[name]
    match rng.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array[:-1] if array.ndim else array
        case 2:
            arrays[name] = array.astype(rng.choice((np.float64, np.int64, np.uint8)))
        case _:
            flat = array.reshape(-1).view(np.uint8)
            for _ in range(rng.choice((1, 1, 8)) if flat.size else 0):
                flat[rng.randrange(flat.size)] = rng.choice(
                    (0, 1, 127, 128, 255, rng.randrange(256))
                )


def _list_again(folder: Path, name: str, sha256: str) -> None:
    """Let the checkpoints list a changed shard as it is now."""
    for path in (folder / "checkpoints").iterdir():
        stored = read_stored(path)
        for shard in stored.about["replay"]:
            if shard["file"] == name:
                shard["sha256"] = sha256
        metadata = {"format": FORMAT, "about": json.dumps(stored.about)}
        right = checksum(metadata, stored.arrays)
        path.write_bytes(tensor_bytes(stored.arrays, {**metadata, "sha256": right}))


CASES = {
    "records": a_record,
    "results": a_results_file,
    "networks": a_network,
    "onnx": an_onnx_file,
    "runs": a_run,
}


def begin() -> None:
    """Nothing to do once all is prepared."""

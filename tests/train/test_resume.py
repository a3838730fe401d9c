"""Resuming: everything missing or damaged is named, and no damaged run continues silently."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import killing
import numpy as np
import pytest
import test_liars_dice_training as dice
from test_train import TINY, shard_of

from kibitz.games import load
from kibitz.train.folder import Listed, RunError, RunFolder, read_stored, write_tensors
from kibitz.train.replay import Shard
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

SEED = 3
GAME = load("beasty_bar", early_stop=True)


def trained(path: Path, training=TINY, **options) -> Run:
    run = Run(training, path, **options)
    run.train()
    run.close()
    return run


def resumed(path: Path, **options) -> Run:
    run = Run(TINY, path, resume=True, **options)
    run.close()
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that has come to its end."""
    path = tmp_path_factory.mktemp("whole") / "run"
    trained(path, seed=SEED)
    return path


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    """A run that was stopped after its third iteration, of four."""
    path = tmp_path_factory.mktemp("unfinished") / "run"
    run = Run(TINY, path, seed=SEED)

    def stop(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.train(progress=stop)
    run.close()
    return path


@pytest.fixture
def copied(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.fixture
def stopped(unfinished, tmp_path):
    return Path(shutil.copytree(unfinished, tmp_path / "run"))


def files(path: Path) -> dict[str, bytes]:
    """Everything in a folder but the lock and TensorBoard's own."""
    found = (file for file in sorted(path.rglob("*")) if file.is_file() and file.name != "lock")
    return {str(f.relative_to(path)): f.read_bytes() for f in found if f.parent.name != "board"}


def flip(path: Path, count: int = 1000) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for i in range(middle, middle + count):
        content[i] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def with_about(path: Path, change) -> None:
    """Change what a file says about itself, and let the checksum be right again."""
    stored = read_stored(path)
    change(stored.about)
    write_tensors(path, stored.arrays, stored.about)


# What a resumed run refuses ----------------------------------------------------------------------


@pytest.mark.parametrize("damage", [flip, cut])
def test_a_checkpoint_with_damage_in_the_middle_is_refused(copied, damage):
    damage(copied / "checkpoints/000004.safetensors")
    before = files(copied)
    with pytest.raises(RunError, match=r"000004\.safetensors is damaged.*--resume --refill"):
        resumed(copied)
    assert files(copied) == before


def test_a_single_changed_weight_is_noticed(copied):
    path = copied / "checkpoints/000004.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(RunError, match="its contents are not what was saved"):
        resumed(copied)


def test_a_missing_shard_is_named(copied):
    (copied / "replay/000002.safetensors").unlink()
    before = files(copied)
    with pytest.raises(RunError, match=r"000002\.safetensors is missing; .*--resume --refill"):
        resumed(copied)
    assert files(copied) == before


def test_swapped_shards_are_both_named(copied):
    first, second = (copied / f"replay/00000{k}.safetensors" for k in (1, 2))
    first.rename(copied / "aside")
    second.rename(first)
    (copied / "aside").rename(second)
    with pytest.raises(RunError, match=r"000001\.saf.* not the file that.*000002\.saf.* not the"):
        resumed(copied)


def test_a_shard_of_garbage_with_a_right_checksum_is_refused(copied):
    path = copied / "replay/000002.safetensors"
    there = Shard.read(path, GAME)
    there.decisions.states.view(np.uint8)[:] = 0xA5
    there.save(path, GAME)
    with pytest.raises(RunError, match=r"000002\.safetensors is damaged, or not the file that"):
        resumed(copied)


def test_all_that_is_missing_or_damaged_is_named(copied):
    (copied / "replay/000001.safetensors").unlink()
    flip(copied / "replay/000003.safetensors", 10)
    (copied / "league/000000.safetensors").unlink()
    (copied / "metrics.jsonl").write_text("")
    with pytest.raises(RunError) as found:
        resumed(copied)
    for name in ("replay/000001", "replay/000003", "league/000000", "metrics.jsonl"):
        assert name in str(found.value)
    assert "replay/000002" not in str(found.value)


def test_a_damaged_league_member_is_refused(copied):
    flip(copied / "league/000000.safetensors", 10)
    with pytest.raises(RunError, match=r"league/000000\.safetensors is damaged"):
        resumed(copied)


def test_a_run_that_lost_its_checkpoints_does_not_start_again(copied):
    for number in (3, 4):
        (copied / f"checkpoints/00000{number}.safetensors").unlink()
    with pytest.raises(RunError, match=r"000003\.safetensors is missing"):
        resumed(copied)
    (copied / "checkpoints/000002.safetensors").unlink()
    for refill in (False, True):
        with pytest.raises(RunError, match="has lost its checkpoints"):
            resumed(copied, refill=refill)


def test_a_checkpoint_of_another_game_is_refused(copied):
    kuhn = load("kuhn")
    other = {"fingerprint": kuhn.fingerprint, "game": kuhn.describe()}
    path = copied / "checkpoints/000004.safetensors"
    with_about(path, lambda about: about.update(json.loads(json.dumps(other))))
    before = files(copied)
    for refill in (False, True):  # it is another run's: it is neither skipped nor removed
        with pytest.raises(RunError, match="is a run of kuhn, not of beasty_bar"):
            resumed(copied, refill=refill)
    assert files(copied) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.pop("standing"),
        lambda about: about.pop("recipe"),
        lambda about: about.update(replay=[{"file": "../../000001.safetensors", "sha256": ""}]),
        lambda about: about.update(standing=[]),
        lambda about: about.update(league=[]),
    ],
)
def test_a_checkpoint_that_says_too_little_is_refused(copied, change):
    with_about(copied / "checkpoints/000004.safetensors", change)
    with pytest.raises(RunError, match="is damaged: it does not say"):
        resumed(copied)


def test_a_checkpoint_of_another_network_is_refused(copied):
    path = copied / "checkpoints/000004.safetensors"
    stored = read_stored(path)
    few = dict(list(stored.arrays.items())[3:])
    write_tensors(path, few, stored.about)
    with pytest.raises(RunError, match="does not fit the network"):
        resumed(copied)


@pytest.mark.parametrize("name", ["PUBLISHED", "REMEMBERED", "BELIEFS", "RESPONSE"])
def test_methods_without_a_replay_verify_as_well(name, tmp_path):
    training = replace(getattr(dice, f"KILLED_{name}"), iterations=2)
    trained(tmp_path / "run", training, seed=SEED)
    flip(tmp_path / "run/checkpoints/000002.safetensors", 10)
    with pytest.raises(RunError, match=r"000002\.safetensors is damaged"):
        Run(training, tmp_path / "run", resume=True)
    mended = trained(tmp_path / "run", training, resume=True, refill=True)
    assert mended.standing.iteration == 2 and not mended.standing.refilled
    trained(tmp_path / "again", training, seed=SEED)
    assert killing.weights(tmp_path / "run") == killing.weights(tmp_path / "again")


# Shards ------------------------------------------------------------------------------------------


def test_a_shard_of_another_game_is_refused(tmp_path):
    path = tmp_path / "000001.safetensors"
    shard_of(5).save(path, GAME)
    with pytest.raises(RunError, match="positions of another game"):
        Shard.read(path, load("beasty_bar", early_stop=False))


def test_a_shard_that_is_not_the_listed_one_is_refused(tmp_path):
    path = tmp_path / "000001.safetensors"
    shard_of(5).save(path, GAME)
    with pytest.raises(RunError, match="not the file that the checkpoint lists"):
        Shard.read(path, GAME, Listed(path.name, "0" * 64, 5))


def spoilt(part, row, value):
    def spoil(positions: Shard) -> None:
        in_results = part in ("scores", "margins")
        rows = positions.results if in_results else positions.decisions
        getattr(rows, part)[row] = value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (spoilt("seats", 1, 2), "seats that the game does not have"),
        (spoilt("seats", 1, -1), "seats that the game does not have"),
        (spoilt("actions", (0, 0), 124), "actions that the game does not have"),
        (spoilt("actions", (0, 0), -2), "actions that the game does not have"),
        (spoilt("actions", 2, -1), "positions without a legal action"),
        (spoilt("policy", (0, 0), 0.9), "policies that do not sum to 1"),
        (spoilt("policy", (0, 0), np.nan), "numbers that are not finite"),
        (spoilt("policy", (0, 31), 0.5), "policies of actions that are not legal"),
        (spoilt("policy", (0, [0, 1]), [-1.0, 2.0]), "negative policies"),
        (spoilt("value", 3, np.inf), "numbers that are not finite"),
        (spoilt("scores", 3, np.nan), "numbers that are not finite"),
        (spoilt("margins", 3, -np.inf), "numbers that are not finite"),
        (spoilt("played", 3, 7), "actions played that are not legal"),
        (spoilt("played", 3, -1), "actions played that are not legal"),
    ],
)
def test_positions_that_cannot_be_learnt_from_are_refused(tmp_path, spoil, problem):
    positions = shard_of(5)
    spoil(positions)
    positions.save(tmp_path / "000001.safetensors", GAME)
    with pytest.raises(RunError, match=problem):
        Shard.read(tmp_path / "000001.safetensors", GAME)


@pytest.mark.parametrize(
    "change",
    [
        {"states": np.zeros((5, 79), np.uint8)},
        {"states": np.zeros((4, 80), np.uint8)},
        {"seats": np.zeros(5, np.int64)},
        {"seats": np.zeros((5, 1), np.int8)},
        {"actions": np.zeros((5, 31), np.int16)},
        {"value": np.zeros(5, np.float64)},
        {"extra": np.zeros(5, np.float32)},
    ],
)
def test_a_shard_with_arrays_of_another_shape_is_refused(tmp_path, change):
    path = tmp_path / "000001.safetensors"
    shard_of(5).save(path, GAME)
    stored = read_stored(path)
    write_tensors(path, {**stored.arrays, **change}, stored.about)
    with pytest.raises(RunError, match="does not hold positions of beasty_bar"):
        Shard.read(path, GAME)


# Filling anew ------------------------------------------------------------------------------------


def test_refilling_continues_from_the_newest_intact_checkpoint(stopped):
    flip(stopped / "checkpoints/000003.safetensors")
    flip(stopped / "replay/000001.safetensors", 10)
    run = Run(TINY, stopped, resume=True, refill=True)
    said = " ".join(run.remarks)
    assert "000003.safetensors is damaged" in said and "000002.safetensors alone" in said
    assert "not those of an undisturbed run" in said
    held = sum(shard["rows"] for shard in checkpoint_about(stopped, 2)["replay"])
    sizes = []
    run.train(progress=lambda row: sizes.append(row["positions"]))
    run.close()
    assert sizes[0] > held and run.standing.iteration == TINY.iterations
    rows = RunFolder(stopped).metrics()
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    assert [row.get("refilled", False) for row in rows] == [False, False, True, True]
    numbers = [int(Path(shard["file"]).stem) for shard in checkpoint_about(stopped, 4)["replay"]]
    assert numbers[0] == 4, "no shard of the damaged run is overwritten"
    assert not (stopped / "replay/000001.safetensors").exists()
    resumed(stopped)  # the run is intact again


def checkpoint_about(path: Path, iteration: int) -> dict:
    return read_stored(RunFolder(path).checkpoint(iteration)).about


def networks(path: Path) -> dict[str, bytes]:
    """All that was learnt, without the games under way."""
    arrays = killing.weights(path)
    return {name: array for name, array in arrays.items() if not name.startswith("selfplay.")}


def test_filling_does_not_learn(stopped):
    (stopped / "replay/000002.safetensors").unlink()
    before = networks(stopped)
    run = Run(TINY, stopped, resume=True, refill=True)
    run.train(seconds=0)  # no time for an iteration
    run.close()
    assert networks(stopped) == before
    assert len(run.method.replay) >= min(run.method.recipe.replay_size, 100)


def test_nothing_is_removed_before_the_new_state_is_saved(stopped):
    flip(stopped / "checkpoints/000003.safetensors")
    cut(stopped / "replay/000001.safetensors")
    (stopped / "metrics.jsonl").write_text('{"iteration": 1, "elo": 0.0}\nrubbish\n')
    before = files(stopped)
    resumed(stopped, refill=True)
    assert files(stopped) == before


def test_a_refilled_run_is_resumed_exactly(stopped, tmp_path):
    (stopped / "replay/000001.safetensors").unlink()
    parts = Path(shutil.copytree(stopped, tmp_path / "parts"))
    trained(stopped, resume=True, refill=True)
    run = Run(TINY, parts, resume=True, refill=True)
    run.train(seconds=0)
    run.close()
    trained(parts, resume=True)
    assert killing.weights(parts) == killing.weights(stopped)
    assert RunFolder(parts).metrics()[-1]["refilled"] is True


def test_damaged_league_members_are_dropped_and_the_best_is_restored(stopped):
    about = checkpoint_about(stopped, 3)
    members = about["standing"]["league"]["members"]
    for member in members:
        (stopped / f"league/{member:06d}.safetensors").unlink()
    run = Run(TINY, stopped, resume=True, refill=True)
    assert run.standing.league.members == members[-1:]
    assert any("Restored from the checkpoint" in remark for remark in run.remarks)
    assert len(members) == 1 or any("Dropped from the league" in r for r in run.remarks)
    run.train()
    run.close()
    resumed(stopped)


def test_a_run_without_an_intact_checkpoint_cannot_be_refilled(copied):
    for path in RunFolder(copied).checkpoints():
        flip(path)
    before = files(copied)
    with pytest.raises(RunError, match="no intact checkpoint"):
        resumed(copied, refill=True)
    assert files(copied) == before


def test_refilling_needs_a_run_to_resume(tmp_path):
    with pytest.raises(RunError, match="give --resume as well"):
        Run(TINY, tmp_path / "run", refill=True)


# Checkpoints in several files --------------------------------------------------------------------

SMALL = 150_000


@pytest.fixture
def small_files(monkeypatch):
    monkeypatch.setattr("kibitz.train.parts.LARGEST", SMALL)
    monkeypatch.setattr("kibitz.train.parts.SPARE", SMALL // 3)


def parts_of(path: Path, iteration: int) -> list[Path]:
    return sorted((path / "checkpoints").glob(f"{iteration:06d}.*.safetensors"))


def test_a_checkpoint_of_several_small_files_is_resumed_exactly(whole, stopped, small_files):
    old = stopped / "checkpoints/000001.0123456789ab.safetensors"
    old.write_bytes(b"of a checkpoint that is no longer kept")
    trained(stopped, resume=True)
    sizes = [file.stat().st_size for file in (stopped / "checkpoints").glob("000004.*")]
    assert len(sizes) > 2 and max(sizes) <= SMALL and not old.exists()
    assert killing.weights(stopped) == killing.weights(whole)
    resumed(stopped)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: flip(path, 10)])
def test_a_missing_or_damaged_part_of_a_checkpoint_is_named(stopped, small_files, damage):
    trained(stopped, resume=True)
    lost = parts_of(stopped, 4)[0]
    damage(lost)
    with pytest.raises(RunError, match=rf"{lost.name} is .*--resume --refill"):
        resumed(stopped)
    run = resumed(stopped, refill=True)
    assert "000003.safetensors alone" in " ".join(run.remarks)


def test_a_part_of_another_checkpoint_is_refused(stopped, small_files):
    trained(stopped, resume=True)
    one, other = parts_of(stopped, 4)[:2]
    one.write_bytes(other.read_bytes())
    with pytest.raises(RunError, match=rf"{one.name} does not belong to"):
        resumed(stopped)


def test_a_run_continues_from_the_files_of_one_checkpoint_alone(stopped, tmp_path, small_files):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "checkpoints").mkdir(parents=True)
    for file in (stopped / "checkpoints").glob("000003*"):
        shutil.copy(file, elsewhere / "checkpoints")
    run = Run(TINY, elsewhere, resume=True, refill=True)
    said = " ".join(run.remarks)
    assert "000003.safetensors alone" in said and "The replay is refilled" in said
    run.train()
    run.close()
    assert run.standing.iteration == TINY.iterations and run.standing.refilled
    resumed(elsewhere)


# run.json ----------------------------------------------------------------------------------------


def test_a_folder_without_run_json_is_not_a_new_one(copied):
    (copied / "run.json").unlink()
    before = files(copied)
    with pytest.raises(RunError, match=r"holds checkpoints and .* but no run\.json"):
        Run(TINY, copied, seed=SEED)
    assert files(copied) == before


@pytest.mark.parametrize("part", ["checkpoints", "replay", "league"])
def test_one_file_of_a_run_is_enough_to_refuse_a_new_one(tmp_path, part):
    (tmp_path / part).mkdir()
    (tmp_path / part / "000009.safetensors").write_bytes(b"whatever")
    with pytest.raises(RunError, match=r"but no run\.json"):
        Run(TINY, tmp_path, seed=SEED)
    assert [*files(tmp_path)] == [f"{part}/000009.safetensors"]


BAD_ABOUTS = [None, b"[]", b"\xff\xfe\x00", b"{}", b"null", b'{"seed": 3}', b"[" * 100_000]


@pytest.mark.parametrize("content", BAD_ABOUTS, ids=lambda content: str(content)[:12])
def test_a_checkpoint_restores_run_json(copied, content):
    file = copied / "run.json"
    whole = json.loads(file.read_bytes())
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RunError, match="give --resume"):
        Run(TINY, copied)
    with pytest.raises(RunError, match="started with another recipe: steps 3, not 9"):
        Run(replace(TINY, steps=9), copied, resume=True)
    with pytest.raises(RunError, match="started with another seed: 3"):
        resumed(copied, seed=4)
    assert (file.read_bytes() if file.exists() else None) == content
    run = resumed(copied)
    assert run.seed == SEED and "run.json was missing or damaged" in " ".join(run.remarks)
    assert json.loads(file.read_bytes()) == whole


@pytest.mark.parametrize("content", [b"[]", b"\xff\xfe\x00"])
def test_a_damaged_run_json_alone_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(RunError, match=r"run.json is damaged, and there is no intact checkpoint"):
        resumed(tmp_path)


# Files that are left over ------------------------------------------------------------------------


def test_temporary_files_of_killed_saves_are_removed_at_the_next_start(copied):
    ours = [
        "checkpoints/.000005.safetensors.4711",
        "league/.000004.safetensors.1",
        "replay/.000005.safetensors.99999",
        ".run.json.12",
        ".metrics.jsonl.12",
        ".player.safetensors.12",
        ".curves.png",
    ]
    others = [".gitignore", "replay/.000005.safetensors", "checkpoints/.notes.12", "a.txt.12"]
    before = files(copied)
    for name in (*ours, *others):
        (copied / name).write_bytes(b"half")
    resumed(copied)
    assert files(copied).keys() - before.keys() == set(others)


def test_files_that_are_not_checkpoints_are_left_alone(stopped):
    (stopped / "checkpoints/mine.safetensors").write_bytes(b"mine")
    trained(stopped, resume=True)
    assert (stopped / "checkpoints/mine.safetensors").read_bytes() == b"mine"


# Metrics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[]", b"7", b'{"iteration": "1"}', b"\xff\xfe", b'{"iteration": 1, "elo": NaN}', b""],
)
def test_damaged_metrics_are_named(copied, line):
    file = copied / "metrics.jsonl"
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([lines[0], line, *lines[2:]]))
    with pytest.raises(RunError, match=r"metrics.jsonl is damaged in line 2.*--resume --refill"):
        resumed(copied)


def test_a_line_that_a_kill_cut_short_is_dropped(copied):
    file = copied / "metrics.jsonl"
    before = file.read_bytes()
    file.write_bytes(before + b'{"iteration": 5, "po')
    resumed(copied)
    assert file.read_bytes() == before


def test_a_loss_that_is_not_finite_can_be_read_again(tmp_path):
    folder = RunFolder(tmp_path)
    folder.note({"iteration": 1, "loss_value": float("nan")})
    assert folder.metrics() == [{"iteration": 1, "loss_value": None}]

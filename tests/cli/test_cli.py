"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest
from blocks import python_blocks
from commands import kibitz, run
from dominion_table import Table as DominionTable
from old_results import of_the_first_format
from rich.console import Console

from kibitz import cli, terminal
from kibitz.arena.table import Table
from kibitz.games import load, names
from kibitz.players import Scripted


@pytest.fixture
def refused(monkeypatch, capsys):
    """The one sentence that answers a command which cannot be carried out."""

    def ask(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["kibitz", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        return " ".join(capsys.readouterr().err.split())

    return ask


@pytest.fixture
def second_throw(tmp_path):

    path = tmp_path / "second_throw.py"
    path.write_text("\n\n".join(python_blocks("docs/adding_a_game.md")))
    return str(path)


def test_one_opponent_takes_all_other_seats(refused):
    words = ["play", "examples/goofspiel.py", "-o", "players=3", "-o", "cards=4", "--seed", "1"]
    assert "You left the table" in kibitz(*words, "--against", "random", typed="quit\n").stdout
    two = refused(*words, "--against", "random", *(2 * ["--against", "matching"]))
    assert "needs 2 other players, not 3" in two


def test_games_are_listed_without_loading_numba():
    code = (
        "import sys; from typer.testing import CliRunner; from kibitz import cli; "
        "r = CliRunner().invoke(cli.app, ['games', '--json']); print(r.output); "
        "assert 'numba' not in sys.modules and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)) == names()


def test_one_game_is_described_with_its_options_and_players():
    shown = run("games", "liars_dice")
    for part in ("dice=5,5", "variant=joker", "Faces of a die", "perudo", "honest"):
        assert part in shown


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["games"],
        ["check"],
        ["play"],
        ["match"],
        ["ratings"],
        ["replay"],
        ["referee"],
        ["bench"],
        ["bench", "rules"],
        ["bench", "search"],
        ["bench", "latent"],
        ["bench", "move"],
        ["bench", "selfplay"],
        ["bench", "net"],
        ["bench", "compiled-net"],
        ["train"],
        ["analyse"],
        ["exploit"],
        ["model"],
        ["import"],
        ["export"],
        ["demo"],
    ],
)
def test_every_command_has_help(words):
    shown = run(*words, "--help")
    assert "Usage" in shown
    if words and words != ["bench"]:
        assert re.search(rf"Examples?: kibitz {' '.join(words)}", shown)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["match", "chess", "random", "random"], "there is no game 'chess'"),
        (["match", "liars_dise", "random", "random"], "did you mean liars_dice?"),
        (["match", "./nowhere.py", "random", "random"], "there is no game file 'nowhere.py'"),
        (["match", "kuhn", "random", "nobody"], "no player 'nobody'"),
        (["match", "kuhn", "random"], "seats 2 to 2 players, not 1"),
        (["match", "kuhn", "random", "random", "--games", "0"], "at least one game, not 0"),
        (
            ["match", "kuhn", "random", "random", "--seed", "-1"],
            "Invalid value for '--seed': Input should be greater than or equal to 0",
        ),
        (["match", "kuhn", "random", "random", "-o", "dice=1"], "there is no option 'dice'"),
        (["match", "liars_dice", "random", "random", "-o", "sides=x"], "sides is a whole number"),
        (["match", "liars_dice", "random", "random", "-o", "preset=x"], "no preset 'x'"),
        (["match", "liars_dice", "random", "random", "-o", "sides"], "should be NAME=VALUE"),
        (["ratings", "nowhere.sqlite"], "there is no file nowhere.sqlite"),
        (["replay", "kuhn", "nowhere.txt"], "there is no file nowhere.txt"),
        (["replay", "kuhn", "nowhere/game.txt"], "there is no folder nowhere"),
        (["replay", "kuhn", "/"], "/ is a folder, not a file"),
        (["play", "kuhn", "--against", "random", "--against", "random"], "needs 1 other"),
        (["check", "kuhn", "--device", "abacus"], "'abacus' is not one of 'cpu', 'cuda'"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(words, sentence):
    done = kibitz(*words)
    assert done.returncode == 2, done.stderr
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_json_of_a_match_has_what_programs_were_promised():
    words = ("match", "liars_dice", "honest", "random", "--games", "200", "--seed", "0")
    result = json.loads(run(*words, "--json"))
    assert {"win_rate", "low", "high", "games", "draws", "seed"} <= result.keys()
    assert result["games"] == 200 and result["win_rate"] > 0.9


def test_the_same_seed_gives_the_same_match():
    words = ["match", "liars_dice", "honest", "random", "--games", "100", "--json", "--seed", "6"]
    assert run(*words) == run(*words)


def test_results_are_saved_and_rated(tmp_path):
    file = str(tmp_path / "results.sqlite")
    run("match", "liars_dice", "honest", "random", "--games", "200", "--seed", "0", "--save", file)
    shown = run("ratings", file)
    assert shown.index("honest") < shown.index("random")
    rated = json.loads(run("ratings", file, "--json", "--game", "liars_dice"))
    assert [row["player"] for row in next(iter(rated.values()))] == ["honest", "random"]


def test_a_person_plays_with_hints_mistakes_and_all(tmp_path):
    file = tmp_path / "game.txt"
    typed = "hint\n?\nrules\n\nnonsense\n1x1\nliar\nliar\nliar\nliar\n"
    words = ["play", "liars_dice", "--seed", "3", "--save", str(file), "-o", "dice=2,2"]
    done = kibitz(*words, typed=typed)
    assert done.returncode == 0, done.stderr
    for part in (
        "Your dice:",
        "champion says:",
        "rising bids",
        "'nonsense' is neither a bid",
        "The end",
    ):
        assert part in done.stdout, part
    assert f"kibitz replay {file}" in "".join(done.stdout.splitlines())
    replayed = run("replay", str(file))
    assert "seat 0  1x1" in replayed and "scores" in replayed
    assert run("replay", "liars_dice", str(file)) == replayed


def test_a_record_says_of_which_game_it_is(tmp_path, second_throw, refused):
    file, own = tmp_path / "kuhn.txt", tmp_path / "own.txt"
    Table(load("kuhn"), seed=1).save(file)
    assert "to move" in run("replay", str(file))
    assert "this is a record of 'kuhn', not of 'liars_dice'" in refused(
        "replay", "liars_dice", str(file)
    )
    Table(load(second_throw), seed=1).save(own)
    assert "record of 'second_throw', which is not a game of the package" in refused(
        "replay", str(own)
    )
    assert "to move" in run("replay", second_throw, str(own))
    assert "two words, not 3" in refused("replay", "kuhn", str(file), str(file))


def test_a_game_is_described_under_the_options_that_were_chosen(refused):
    assert "dice=1,2" in run("games", "liars_dice", "--option", "dice=1,2")
    about = json.loads(run("games", "dominion", "-o", "players=3", "--json"))
    assert about["seats"] == 3 and about["options"]["players"] == 3
    assert "--option is for one game" in refused("games", "-o", "dice=1,2")


def test_games_added_to_complete_groups_are_announced_before_the_match():
    for words, played in (([], "8 games, "), (["--json"], '"games": 8')):
        done = kibitz("match", "kuhn", "random", "random", "--games", "7", "--seed", "1", *words)
        assert done.returncode == 0 and played in done.stdout
        assert "8 games are played, not 7: every deal in all rotations" in done.stderr
    words = ["match", "beasty_bar", "random", "greedy", "random", "-o", "players=3"]
    done = kibitz(*words, "--games", "4", "--seed", "1")
    assert "6 games are played, not 4" in done.stderr and "6 games" in done.stdout
    assert "are played, not" not in kibitz("match", "kuhn", "random", "random", "--games=8").stderr


@pytest.mark.parametrize("typed", ["[/red]", "[bold]", "9" * 5000, "\\", "\x1b[31m"])
def test_whatever_a_person_types_the_game_continues(typed):
    words = ["play", "liars_dice", "--seed", "3", "-o", "dice=1,1"]
    done = kibitz(*words, typed=f"{typed}\n1x1\nliar\nliar\n")
    assert done.returncode == 0, done.stderr
    assert "is not legal" in done.stdout and "The end" in done.stdout
    assert "The same deals again: --seed 3" in done.stdout
    if typed.startswith("["):
        assert repr(typed) in done.stdout


def test_bytes_that_are_not_text_are_answered_with_help():
    env = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-X", "utf8=0", "-m", "kibitz", "play", "kuhn", "--seed", "1"]
    env["PYTHONIOENCODING"] = "utf-8:strict"
    done = subprocess.run(command, input=b"\xff\xfe\nbet\n", capture_output=True, env=env)
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr


def test_square_brackets_of_a_game_and_its_players_are_shown(second_throw, tmp_path):
    source = (tmp_path / "second_throw.py").read_text()
    path = tmp_path / "brackets.py"
    path.write_text(source.replace('"keep"', '"[bold]keep"').replace('"cautious"', '"cautious[/]"'))
    assert path.read_text() != source
    assert "cautious[/]" in run("games", str(path))
    done = kibitz("play", str(path), "--seed", "1", typed="hint\n[bold]keep\n")
    assert done.returncode == 0, done.stderr
    assert "[bold]keep" in done.stdout and "cautious[/]" in done.stdout
    words = ("match", str(path), "cautious[/]", "random", "--games", "4", "--seed", "1")
    assert "cautious[/] against random" in run(*words, "--save", str(tmp_path / "r"))
    assert "cautious[/]" in run("ratings", str(tmp_path / "r"))


def test_a_record_that_cannot_be_saved_is_refused_before_the_game(refused):
    shown = refused("play", "kuhn", "--seed", "1", "--save", "nowhere/game.txt")
    assert "or its folder does not exist" in shown


def test_commands_say_which_seed_was_drawn():
    words = ("liars_dice", "honest", "-o", "dice=1,1")
    first = json.loads(run("match", *words, "random", "--games", "20", "--json"))
    assert first["seed"] >= 2**31
    again = run("match", *words, "random", "--games", "20", "--seed", str(first["seed"]))
    assert f"20 games, {first['draws']} draws, seed {first['seed']}" in again
    assert json.loads(run("exploit", *words, "--local", "4", "--json"))["seed"] >= 2**31
    assert re.search(r"4 games, seed \d{9}", run("exploit", *words, "--local", "4"))
    left = kibitz("play", "kuhn", typed="quit\n")
    assert re.search(r"--seed \d{9}", left.stdout)


def test_a_seed_is_explained():
    for command in ("match", "play", "exploit"):
        shown = " ".join(run(command, "--help").replace("│", " ").split())
        assert "drawn from the system unless given" in shown
        assert "can be guessed by a player that wants to cheat" in shown


def test_a_person_plays_a_match_of_rounds_to_its_end():
    words = ["play", "liars_dice", "--seed", "1", "-o", "dice=1,1", "-o", "die_loss=loser"]
    done = kibitz(*words, typed="1x2\nliar\nliar\n")
    assert "The end" in done.stdout and done.returncode == 0


def test_leaving_the_table_is_not_an_error():
    for typed in ("quit\n", ""):
        done = kibitz("play", "kuhn", "--seed", "1", typed=typed)
        assert done.returncode == 0 and "You left the table" in done.stdout


def test_a_hidden_hand_is_not_shown_before_the_end():
    done = kibitz("play", "liars_dice", "--seed", "3", typed="1x1\nquit\n")
    assert "The other seat has 5 dice" in done.stdout
    assert "The other dice" not in done.stdout


class Typist:
    """Plays the given texts, one after another."""

    name = "scripted"

    def __init__(self, *texts):
        self.texts = list(texts)

    def choose(self, sight):
        return [sight.read_action(0, self.texts.pop(0))]


@pytest.mark.parametrize(
    ("hand", "texts", "heard"),
    [
        ("Artisan, Gold", ["play Artisan", "gain Silver", "top Gold"], "puts a card on the deck"),
        ("Sentry", ["play Sentry", "finish", "finish", "top Gold"], "puts the cards back"),
    ],
)
def test_what_somebody_puts_back_is_not_shown_to_the_person(hand, texts, heard):
    by_hand = DominionTable(hand, deck="Copper, Gold, Silver")
    table = Table(by_hand.game, seed=1)
    table._truth = by_hand.s
    out, scripted = io.StringIO(), Typist(*texts, "end actions", "end buys")
    person = terminal.Person(Console(file=out, width=200), scripted, "", lambda prompt: "quit")
    with pytest.raises(terminal.LeftTheTable):
        terminal._play_round(table, [scripted, person], person)
    assert f"Seat 0 (scripted): {heard}\n" in out.getvalue()
    assert "top Gold" not in out.getvalue()


def test_a_record_is_shown_up_to_a_ply(tmp_path):
    game = load("liars_dice")
    table = Table(game, seed=2)
    while not table.over:
        table.play(table.ask(Scripted("random")))
    file = tmp_path / "game.txt"
    table.save(file)
    part = json.loads(run("replay", "liars_dice", str(file), "--ply", "1", "--json"))
    assert part["turn"] == 1 and part["scores"] is None and "liar" in part["choices"]
    whole = json.loads(run("replay", "liars_dice", str(file), "--json"))
    assert whole["scores"] == table.scores


def test_a_record_that_ends_within_a_deal_is_shown(tmp_path):
    file = tmp_path / "game.txt"
    file.write_text("\n".join(Table(load("kuhn"), seed=1).record().splitlines()[:6]))
    assert "the record ends within a deal: chance is next" in run("replay", "kuhn", str(file))
    shown = json.loads(run("replay", "kuhn", str(file), "--json"))
    assert shown["turn"] == -1 and shown["choices"] == [] and shown["seed"] == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("[1]", "options are not a JSON object"),
        ("null", "options are not a JSON object"),
        ('{"self": 1}', "there is no option 'self'"),
        ('{"name": 1}', "there is no option 'name'"),
        ('{"preset": {}}', "there is no option 'preset'"),
        ('{"sides": null}', "sides=None: sides is a whole number"),
        ('{"dice": [[1], 1]}', "dice is whole numbers"),
    ],
)
def test_a_record_of_impossible_options_is_refused(tmp_path, refused, options, sentence):
    file = tmp_path / "game.txt"
    record = Table(load("liars_dice"), seed=1).record()
    file.write_text(re.sub("options: .*", f"options: {options}", record))
    assert sentence in refused("replay", "liars_dice", str(file))


def test_a_record_that_is_not_text_or_has_no_such_ply_is_refused(tmp_path, refused):
    file = tmp_path / "game.txt"
    Table(load("kuhn"), seed=1).save(file)
    for ply in ("-1", "7"):
        assert f"there is no ply {ply}" in refused("replay", "kuhn", str(file), "--ply", ply)
    file.write_bytes(b"\xff\xfe\xfd")
    assert "is not UTF-8 text" in refused("replay", "kuhn", str(file))


def test_a_file_that_kibitz_did_not_write_is_left_alone(tmp_path, refused):
    file = tmp_path / "letter.txt"
    file.write_text("Dear diary")
    assert "kibitz did not write it, so it stays as it is" in refused("ratings", str(file))
    words = ("match", "kuhn", "random", "random", "--save", str(file))
    assert "kibitz did not write it, so it stays as it is" in refused(*words)
    assert file.read_text() == "Dear diary"


def test_results_of_the_first_format_are_shown_as_keyed_by_name(tmp_path):

    file = of_the_first_format(tmp_path / "r", load("liars_dice"), ["honest", "random"], 3, 40)
    assert "honest (by name)" in run("ratings", str(file))
    (rows,) = json.loads(run("ratings", str(file), "--json")).values()
    assert [(row["player"], row["keyed_by"]) for row in rows] == [
        ("honest", "name"),
        ("random", "name"),
    ]


def test_a_network_whose_file_names_no_game_is_refused(tmp_path, refused):
    from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
    from kibitz.nets import save_net

    for about in ({}, {"game": "liars_dice"}, {"game": {"options": []}}):
        save_net(tmp_path / "net.safetensors", NetCompBilin(CompBilinConfig()), about)
        shown = refused("match", "liars_dice", f"net:{tmp_path}/net.safetensors", "random")
        assert "does not say for which game it was trained" in shown


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (b"import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        (b"raise KeyboardInterrupt", "cannot be imported: KeyboardInterrupt"),
        (b"def (", "cannot be imported: SyntaxError"),
        (b"\x7fELF\0\0\xff", "cannot be imported: "),
        (b"GAME = 5", "does not end with GAME = Game(...)"),
    ],
)
def test_a_file_that_is_not_a_game_is_refused(tmp_path, refused, source, sentence):
    (tmp_path / "mine.py").write_bytes(source)
    assert sentence in refused("match", str(tmp_path / "mine.py"), "a", "b")


def test_a_path_that_is_not_a_game_is_refused(tmp_path, refused):
    assert "/etc/passwd is not a game: a game is a Python file" in refused(
        "match", "/etc/passwd", "a"
    )
    assert "a game's folder contains __init__.py" in refused("match", str(tmp_path), "a", "b")
    assert "there is no game file" in refused("match", f"{tmp_path}/none", "a", "b")


def test_a_game_of_ones_own_works_in_every_command(second_throw):
    assert "cautious" in run("games", second_throw)
    assert "kept" in run("check", second_throw, "--quick")
    words = ("match", second_throw, "cautious", "random", "--games", "200", "--seed", "0")
    result = json.loads(run(*words, "--json"))
    assert result["draws"] > 0
    done = kibitz("play", second_throw, "--seed", "1", typed="keep\n")
    assert done.returncode == 0 and "The end" in done.stdout


def test_a_broken_game_fails_the_check_with_status_1(second_throw, tmp_path):
    source = (tmp_path / "second_throw.py").read_text()
    (tmp_path / "peeking.py").write_text(
        source.replace("s.die[seat] == face + 1 else 0", "s.die[1 - seat] == face + 1 else 0")
    )
    done = kibitz("check", str(tmp_path / "peeking.py"), "--quick")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout


def test_the_json_of_the_bench_has_what_programs_were_promised(monkeypatch):
    from kibitz.bench import rules

    monkeypatch.setattr(rules, "SECONDS", 0.01)
    monkeypatch.setattr(rules, "REPEATS", 1)
    result = json.loads(run("bench", "rules", "kuhn", "--json"))
    promised = ["plies_per_s_1", "plies_per_s_all", "scaling", "compile_s", "cached_start_s"]
    assert all(result[key] > 0 for key in [*promised, "ratio_openspiel"])
    assert result["plies_per_s_gpu"] is None and result["views_per_s_gpu"] is None


@pytest.mark.parametrize("who", ["random", "mcts:sims=4"])
def test_the_bench_of_a_move_says_how_long_one_waits_for_it(who):
    result = json.loads(run("bench", "move", "kuhn", "--player", who, "--moves", "5", "--json"))
    assert (result["game"], result["player"], result["moves"]) == ("kuhn", who, 5)
    assert 0 < result["median_ms"] <= result["slow_ms"]


def test_the_bench_of_a_move_says_who_cannot_sit_down(refused):
    assert "kuhn has no player 'nobody'" in refused("bench", "move", "kuhn", "--player", "nobody")


def test_moves_without_a_choice_are_not_timed():
    """Nobody waits for them."""
    from kibitz.bench.moves import waited

    table = Table(load("beasty_bar"), seed=1)
    waits = list(waited(table, Scripted("random")))
    decisions = [event for event in table.events if event.seat >= 0]
    assert table.over and 0 < len(waits) < len(decisions)


def test_every_command_keeps_torch_to_one_thread():
    """It must not be imported for that."""
    code = (
        "import sys; from typer.testing import CliRunner; from kibitz import cli; "
        "CliRunner().invoke(cli.app, ['games']); assert 'torch' not in sys.modules; "
        "import torch; print(torch.get_num_threads()); torch.set_num_threads(2); "
        "CliRunner().invoke(cli.app, ['games']); print(torch.get_num_threads())"
    )
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["1", "1"], done.stderr


def test_the_bench_of_self_play_compares_it_with_its_search(monkeypatch):
    from kibitz.bench import selfplay

    monkeypatch.setattr(selfplay, "ROUND_SECONDS", 0.01)
    words = ("bench", "selfplay", "beasty_bar", "--recipe", "demo", "--tables", "4", "--json")
    result = json.loads(run(*words))
    speeds = [result[key] for key in ("simulations_per_s", "search_simulations_per_s")]
    assert result["ratio"] == pytest.approx(speeds[0] / speeds[1]) and result["steps_per_s"] > 0
    assert 1 < result["searched_per_game"] < result["decisions_per_game"]
    assert sum(result["shares"].values()) == pytest.approx(1)
    assert [*result["shares"]] == ["search", "tables", "replay", "learning"]


def test_the_bench_of_self_play_needs_a_recipe_that_searches():
    done = kibitz("bench", "selfplay", "liars_dice")
    assert done.returncode == 2 and "does not learn from self-play by search" in done.stderr


def test_the_bench_of_search_says_how_long_the_first_simulation_took():
    words = ("bench", "search", "kuhn", "--trees", "4", "--simulations", "2", "--json")
    assert json.loads(run(*words))["first_simulation_s"] > 0


def test_the_bench_of_latent_search_compares_it_with_its_network(monkeypatch):
    from kibitz.bench import latent

    monkeypatch.setitem(latent.BATCHES, "cpu", (4, 8))
    words = ("bench", "latent", "kuhn", "--trees", "4", "--simulations", "4", "--json")
    result = json.loads(run(*words))
    assert [*result["steps_per_s"]] == ["4", "8"] and result["net"] == "muzero"
    assert result["best_batch"] == int(max(result["steps_per_s"], key=result["steps_per_s"].get))
    assert 0 < result["ratio"] < 1 < result["simulations_per_s"]


def test_the_bench_of_latent_search_needs_a_recipe_that_learns_a_model(refused):
    words = ("bench", "latent", "kuhn", "--recipe", "any")
    assert "the recipe 'any' of kuhn does not learn a model" in refused(*words)


def test_shell_completion_knows_the_games():
    env = {
        **os.environ,
        "_KIBITZ_COMPLETE": "complete_bash",
        "COMP_WORDS": "kibitz play li",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from kibitz.cli import app; app(prog_name='kibitz')"],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["liars_dice"]

"""Tables, matches and ratings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.arena.local_response import local_response
from kibitz.arena.match import MatchResult, elo, match, play_chunk, play_out, summed
from kibitz.arena.table import Table, read_record, recorded_options, replay
from kibitz.batch import IllegalAction
from kibitz.chance import streams
from kibitz.game import CHANCE, GameError, NotationError
from kibitz.games import kuhn, load, names
from kibitz.players import PlayerError, Scripted, Sight, answers, player


def played(game, seed=0):
    table = Table(game, seed=seed)
    while not table.over:
        table.play(table.ask(Scripted("random")))
    return table


# The table --------------------------------------------------------------------------------------


def test_a_table_throws_the_dice_before_anybody_moves():
    table = Table(load("liars_dice"), seed=1)
    assert table.turn == 0
    assert [e.seat for e in table.events] == [CHANCE] * 10


def test_the_same_seed_deals_the_same_game_and_another_seed_another():
    game = load("liars_dice")
    assert Table(game, seed=1).text() == Table(game, seed=1).text()
    assert Table(game, seed=1).text() != Table(game, seed=2).text()


def test_an_illegal_action_is_refused_with_what_was_possible_and_nothing_is_lost():
    table = Table(load("liars_dice", dice=(1, 1)), seed=1)
    table.play("2x5")
    before = table.record()
    with pytest.raises(IllegalAction, match=r"liars_dice, seat 1, ply 1: '1x1'(.|\n)*2x6, liar"):
        table.play("1x1")
    with pytest.raises(IllegalAction, match="seat 1, ply 1: 99 is not legal"):
        table.play(99)
    assert table.record() == before


@pytest.mark.parametrize("typed", ["9" * 5000, "9" * 999 + "x6", "²x6", "[/red]", "\0", "1x²"])
def test_whatever_is_typed_is_an_action_or_illegal(typed):
    table = Table(load("liars_dice", dice=(1, 1)), seed=1)
    with pytest.raises(IllegalAction, match="is not legal") as refusal:
        table.play(typed)
    assert len(str(refusal.value)) < 2000 and table.ply == 0


def test_nothing_can_be_played_or_asked_after_the_end():
    table = played(load("kuhn"))
    with pytest.raises(IllegalAction, match="the game is over, 'bet' comes too late"):
        table.play("bet")
    with pytest.raises(GameError, match="nobody is to move"):
        table.sight()


def test_a_seed_that_is_not_given_is_drawn_and_kept():
    game = load("kuhn")
    tables = [Table(game), Table(game), kibitz.table(game)]
    matches = [match(game, "random", "random", games=2) for _ in range(3)]
    bounds = [local_response(load("liars_dice", dice=(1, 1)), "honest", games=4) for _ in range(2)]
    seeds = [drawn.seed for drawn in (*tables, *matches, *bounds)]
    assert len({*seeds}) == 8 and max(seeds) >= 2**32 and all(0 <= s < 2**63 for s in seeds)
    again = match(game, "random", "random", games=2, seed=matches[0].seed)
    assert again.total == matches[0].total and again.as_json()["seed"] == seeds[3]


def test_the_winner_of_an_unfinished_game_is_not_told():
    with pytest.raises(GameError, match="not over"):
        _ = Table(load("liars_dice"), seed=1).scores


@pytest.mark.parametrize("name", names())
def test_a_record_replays_to_the_same_position_at_every_ply(name):
    game = load(name)
    table = played(game, seed=5)
    again = replay(game.bind(**recorded_options(table.record())), table.record())
    assert again.text() == table.text() and again.scores == table.scores
    assert again.record() == table.record()
    for ply in range(0, table.ply, 1 + table.ply // 30):  # of long games every few plies
        halfway = replay(game, table.record(), ply)
        assert halfway.ply == ply and halfway.turn >= 0
        assert table.record().startswith(halfway.record())


@pytest.mark.parametrize("name", ["beasty_bar", "dominion", "liars_dice"])
@pytest.mark.parametrize("index", [0, 3])
def test_a_table_resumed_from_its_record_deals_what_it_would_have_dealt(name, index):
    game = load(name)
    table = Table(game, seed=5, index=index)
    for _ in range(120):
        if not table.over:
            table.play(table.ask(Scripted("random")))
    decisions = [event.action for event in table.events if event.seat != CHANCE]
    for ply in (0, 1, 2, len(decisions) // 2):
        resumed = replay(game, table.record(), ply)
        for action in decisions[ply:]:
            resumed.play(action)
        assert resumed.record() == table.record()


def test_an_edited_record_is_replayed_as_it_was_edited():
    """The first card is another one than the table drew; the game goes on from there."""
    game = load("kuhn")
    record = Table(game, seed=1).record()
    first = replay(game, record).events[0].text
    other = next(card for card in ("jack", "queen", "king") if f"chance: {card}" not in record)
    edited = replay(game, record.replace(f"chance: {first}", f"chance: {other}", 1))
    assert edited.events[0].text == other and edited.turn == 0


@pytest.mark.parametrize(
    ("mangle", "message"),
    [
        (lambda r: "nonsense", "this is no record"),
        (lambda r: r.replace("game: kuhn", "game: whist"), "record of 'whist', not of 'kuhn'"),
        (lambda r: r.replace("fingerprint: ", "fingerprint: 0"), "has changed since"),
        (lambda r: r + "0: bet\n", "not 0's move"),
        (lambda r: r.replace("chance: ", "chance: joker ", 1), "line 6: 'joker"),
        (lambda r: r.replace("chance: ", f"chance: {'9' * 5000}", 1), "line 6: '9{60}[.]{3}'"),
        (lambda r: "", "this is no record"),
        (lambda r: r.replace("options: {}", "options: [1]"), r"options are not .*'\[1\]'"),
        (lambda r: r.replace("options: {}", "options: 5"), "options are not a JSON object: '5'"),
        (lambda r: r.replace("options: {}", "options: null"), "options are not .*'null'"),
        (lambda r: r.replace("options: {}", "options: " + "[" * 99_999), "options are not"),
        (lambda r: r.replace("seed: 1", "seed: x"), "seed is a whole number, 0 or more, not 'x'"),
        (lambda r: r.replace("seed: 1", "seed: -5"), "seed is a whole number, 0 or more, not '-5'"),
        (lambda r: r.replace("seed: 1", f"seed: {'1' * 5000}"), "seed is a whole number"),
        (lambda r: r.replace("seed: 1\n", ""), "has no line 'seed:'"),
        (lambda r: r.replace("seed: 1\n", "seed: 1\nindex: -1\n"), "index is a whole number"),
        (lambda r: r.replace("seed: 1\n", f"seed: 1\nindex: {'9' * 19}\n"), "index is a whole"),
        (lambda r: r.replace("0: ", "²: ", 1), "begins with a seat or 'chance', not '²'"),
        (lambda r: r.replace("\n0: ", "\n9: ", 1), "kuhn has no seat 9"),
        (lambda r: r.replace("seed: 1\n", "seed: 1\nseed: 2\n"), "line 6: 'seed:' stands once"),
        (
            lambda r: "\n".join([*r.split("\n")[:4], *r.split("\n")[5:], "seed: 1"]),
            "above all moves",
        ),
        (lambda r: r + "and then they went home\n", "begins with a seat or 'chance'"),
    ],
)
def test_a_spoilt_record_is_refused_in_a_sentence(mangle, message):
    game = load("kuhn")
    record = mangle(played(game, seed=1).record())
    with pytest.raises(NotationError, match=message):
        replay(game.bind(**recorded_options(record)), record)


@pytest.mark.parametrize("ply", [-1, 4, 10**6])
def test_a_ply_that_a_record_does_not_have_is_refused(ply):
    game = load("kuhn")
    with pytest.raises(NotationError, match=rf"there is no ply {ply}; .* plies 0 to [23]$"):
        replay(game, played(game, seed=1).record(), ply)


def test_a_record_cut_within_the_deal_shows_that_chance_is_next():
    game = load("kuhn")
    head = played(game, seed=1).record().splitlines()[:6]  # one of two cards is dealt
    table = replay(game, "\n".join(head))
    assert table.turn == CHANCE and not table.over and len(table.events) == 1
    assert table.actions == [] and table.choices == []
    with pytest.raises(GameError, match="ends within a deal, nobody is to move"):
        table.sight()
    with pytest.raises(IllegalAction, match="'bet' is not possible within a deal"):
        table.play("bet")


def test_a_record_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "game.txt").write_bytes(b"# kibitz record 1\n\xff\xfe")
    with pytest.raises(NotationError, match=r"game\.txt is no record: it is not UTF-8"):
        read_record(tmp_path / "game.txt")


# Sights -----------------------------------------------------------------------------------------


def test_the_truth_is_not_in_a_sight():
    """Over many sights of one table, what a seat cannot know comes out in many ways."""
    game = load("liars_dice")
    table = Table(game, seed=1)
    table.play("3x6")
    hands = {tuple(table.sight()._tables.states[0].hand[0])}
    for _ in range(20):
        table.ask(Scripted("random"))
        sight = table.sight()
        hands.add(tuple(sight._tables.states[0].hand[0]))
        assert (sight._tables.states[0].hand[1] == table._truth.hand[1]).all()
    assert len(hands) > 10


def test_an_imagined_table_looks_the_same_to_the_seat_that_imagines_it():
    game = load("liars_dice")
    table = Table(game, seed=1)
    sight = table.sight()
    tables = [sight.imagine()[0] for _ in range(10)]
    assert len({t.tobytes() for t in tables}) > 1
    for each in tables:
        assert (game.look(each, 0) == sight.views[0]).all()
        assert game.legal(each) == sight.actions[0] == table.actions


def test_asking_a_player_does_not_change_the_table_or_its_dice():
    game = load("liars_dice")
    asked, left_alone = Table(game, seed=1), Table(game, seed=1)
    for _ in range(5):
        asked.ask(Scripted("honest"))
    for table in (asked, left_alone):
        table.play("1x1")
    assert asked.record() == left_alone.record()


class Probe:
    """Takes the first legal action, and keeps the keys of the streams that it was given."""

    name = "probe"

    def __init__(self):
        self.keys = set()

    def choose(self, sight):
        self.keys |= set(sight.rngs["key"].tolist())
        return sight.legal[0][:, 0].astype(np.int64)


def table_keys(seed, count=1000):
    return set(streams(seed, "table", count)["key"].tolist())


def test_a_table_gives_its_players_a_stream_that_no_table_has():
    table, probe = Table(load("kuhn"), seed=4), Probe()
    while not table.over:
        table.play(table.ask(probe))
    assert len(probe.keys) == 1 and not probe.keys & table_keys(4)


def test_a_replayed_table_gives_its_players_a_stream_that_no_table_has():
    game, probe = load("kuhn"), Probe()
    replay(game, played(game, seed=4).record(), 0).ask(probe)
    assert len(probe.keys) == 1 and not probe.keys & table_keys(4)


def test_a_match_gives_every_player_streams_of_its_own():
    one, other = Probe(), Probe()
    match(load("kuhn"), one, other, games=100, seed=4)
    assert len(one.keys) == len(other.keys) == 100, "one for every game"
    assert not one.keys & other.keys
    assert not (one.keys | other.keys) & table_keys(4)


class Constant:
    """Answers every sight with the same."""

    name = "constant"

    def __init__(self, answer):
        self.answer = answer

    def choose(self, sight):
        return [self.answer] * len(sight)


def test_what_only_fills_the_list_of_legal_actions_is_not_legal():
    """Lists of legal actions end with zeros, and 0 is a bid that is too low here."""
    table = Table(load("liars_dice", dice=(1, 1)), seed=1)
    table.play("2x5")
    with pytest.raises(IllegalAction, match="constant chose 0, which is not legal"):
        answers(Constant(0), table.sight())


@pytest.mark.parametrize("answer", [0.0, True, "0", [0]])
def test_an_answer_that_is_not_a_whole_number_is_refused(answer):
    with pytest.raises(PlayerError, match="constant must answer with one whole number for each"):
        answers(Constant(answer), Table(load("kuhn"), seed=1).sight())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nobody", "no player 'nobody'; there are: random, honest, threshold"),
        ("honest:depth=2", "honest has no options"),
        ("random:2", "random has no options"),
        ("mcts:sim=3", "mcts has no option 'sim'; it has: sims, explore, root"),
        ("mcts:game=3", "mcts has no option 'game'; it has: sims"),
        ("mcts:200", "'200' should be like sims="),
        ("mcts:sims=0", "sims is a whole number from 1 to 1,000,000"),
        ("mcts:sims=1000000000000", "sims is a whole number from 1 to 1,000,000"),
        pytest.param(f"mcts:sims={'1' * 5000}", "sims=1{60}[.]{3}: sims is", id="5,000 digits"),
        ("mcts:sims=²", "sims=²: sims is a whole number"),
        ("mcts:explore=nan", "explore=nan: explore is a number, finite"),
        ("mcts:explore=-1", "explore=-1: explore is a number, finite and 0 or more"),
        ("mcts:seconds=nan", "seconds=nan: seconds is a number, finite"),
        ("mcts:seconds=-1", "seconds=-1: seconds is a number"),
        ("mcts:seconds=0", "seconds=0: seconds is a number, finite and above 0"),
        ("champion:temperature=inf", "temperature=inf: temperature is a number, finite"),
        ("champion:seconds=inf", "seconds=inf: seconds is a number, finite"),
        ("net:", "net: say which file"),
    ],
)
def test_a_player_that_does_not_exist_is_refused(text, message):
    with pytest.raises(PlayerError, match=message):
        player(text, load("liars_dice"))


# Matches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in names() if load(name).players])
def test_the_first_baseline_of_a_game_is_its_strongest(name):
    """It is whom a person meets who names nobody."""
    game = load(name)
    first, *others = (*game.players, "random")
    for other in others:
        assert match(game, first, other, games=1000, seed=0).low > 0.5, other


@pytest.mark.parametrize(
    ("pair", "published"), [(("honest", "threshold"), 0.575), (("honest", "random"), 0.960)]
)
def test_the_baselines_meet_their_published_results(pair, published):
    """8,000 games each there, with an interval of 0.011 either way (0.004 at 0.96)."""
    result = match(load("liars_dice"), *pair, games=8000, seed=1)
    error = (published * (1 - published) / 8000) ** 0.5
    assert result.agrees(published, error), (result.win_rate, result.standard_error)


def test_a_player_draws_level_with_itself_on_the_same_deals():
    """Both games of a pair are the same game then, so every pair is split exactly."""
    result = match(load("liars_dice"), "honest", "honest", games=400, seed=0)
    assert result.win_rate == 0.5 and result.standard_error == 0


def test_exchanging_the_players_exchanges_the_result():
    game = load("liars_dice")
    one = match(game, "honest", "threshold", games=400, seed=3)
    other = match(game, "threshold", "honest", games=400, seed=3)
    assert one.win_rate == pytest.approx(1 - other.win_rate)
    assert one.by_seat[0] == pytest.approx(1 - other.by_seat[1])


def test_a_match_is_the_sum_of_its_chunks_whatever_their_size():
    game = load("liars_dice")
    seated = [player(p, game) for p in ("honest", "random")]
    whole = play_chunk(game, seated, 7, 0, 60)
    parts = play_chunk(game, seated, 7, 0, 25) + play_chunk(game, seated, 7, 25, 35)
    assert whole == parts


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """honest-threshold in 10,000 matches of 80 to 120 pairs, around the win rate of all of them.

    They are played in one go and parted afterwards. With so few pairs an interval of 1.96 standard
    errors covers the truth in 94.7 % of matches, one of 1.8 in 92.4 %, one of 2.12 in 96.3 %; luck
    moves these by 0.2. Lengths differ because win rates of equal matches come in steps.
    """
    game, lengths = load("liars_dice", dice=(2, 2)), 80 + np.arange(10_000) % 41
    pairs = int(lengths.sum())
    who = np.tile([[0, 1], [1, 0]], (pairs, 1))
    tables = streams(1, "table", pairs).repeat(2)
    own = streams(1, "player", 4 * pairs).reshape(-1, 2)
    seated = [Scripted("honest"), Scripted("threshold")]
    scores, _, _ = play_out(game, seated, who, tables, own)

    def result(first, end):
        games = slice(2 * first, 2 * end)
        chunk = summed(game, scores[games], who[games], end - first)
        return MatchResult(game.name, ("honest", "threshold"), 1, chunk)

    truth = result(0, pairs).win_rate
    short = [
        result(end - length, end) for length, end in zip(lengths, lengths.cumsum(), strict=True)
    ]
    covered = np.mean([each.low <= truth <= each.high for each in short])
    assert 0.94 <= covered <= 0.955


def test_a_draw_is_half_a_win_for_both():
    scores, who = np.array([[0, 0], [1, -1]], np.float32), np.array([[0, 1], [1, 0]])
    chunk = summed(load("kuhn"), scores, who, groups=1)
    assert chunk.wins == [0.25, 0.75] and chunk.draws == 1


def test_a_clean_sweep_still_has_an_interval():
    result = match(load("liars_dice", die_loss="loser"), "honest", "random", games=40, seed=0)
    assert result.win_rate == 1.0 and 0.8 < result.low < 1.0


@pytest.mark.parametrize("die_loss", ["loser", "winner"])
def test_a_match_in_rounds_is_won_by_who_wins_rounds(die_loss):
    pair = ("honest", "threshold")
    rounds = match(load("liars_dice", die_loss=die_loss), *pair, games=2000, seed=0)
    single = match(load("liars_dice"), *pair, games=2000, seed=0)
    assert rounds.games == 2000
    assert rounds.win_rate > single.win_rate > 0.5, "more rounds tell the better player more surely"


def test_elo_of_a_rate():
    assert elo(0.5) == 0
    assert elo(0.75) == pytest.approx(190.85, abs=0.01)
    assert elo(1.0) == float("inf") and elo(0.0) == float("-inf")


class Stubborn:
    name = "stubborn"

    def choose(self, sight: Sight) -> list[int]:
        return [77] * len(sight)


def test_an_illegal_choice_of_a_player_stops_the_match_and_names_the_players():
    with pytest.raises(IllegalAction, match="stubborn chose 77, which is not legal here"):
        match(load("kuhn"), Stubborn(), "random", games=10, seed=0)


def test_an_illegal_choice_of_a_compiled_player_stops_the_match(tmp_path):
    """A copy of Kuhn poker brings one along that chooses what there is not."""
    source = Path(kuhn.__file__).read_text().replace("from ..", "from kibitz.")
    player = "@rule\ndef careless(s, seat, rng):\n    return 7\n\n\nGAME = "
    source = source.replace("GAME = ", player)
    source = source.replace(
        "    news=news,\n", '    news=news,\n    players={"careless": careless},\n'
    )
    (tmp_path / "careless_kuhn.py").write_text(source)
    with pytest.raises(IllegalAction, match="careless chose 7, which is not legal here"):
        match(load(tmp_path / "careless_kuhn.py"), "random", "careless", games=4, seed=1)


def test_a_match_needs_players_and_games():
    with pytest.raises(GameError, match="seats 2 to 2 players, not 3"):
        match(load("kuhn"), "random", "random", "random")
    with pytest.raises(GameError, match="at least one game, not 0"):
        match(load("kuhn"), "random", "random", games=0)


def test_a_result_is_told_to_machines_with_the_promised_names():
    result = match(load("kuhn"), "random", "random", games=20, seed=0).as_json()
    assert {"win_rate", "low", "high", "games", "draws"} <= result.keys()
    assert {"mean_score", "score_low", "score_high"} <= result.keys()
    assert [row["player"] for row in result["by_player"]] == ["random", "random"]
    assert json.loads(json.dumps(result)) == result

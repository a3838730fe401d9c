"""The client of a referee: whole games, strange words, silence, and the clock."""

import json
import threading
import time

import pytest
from commands import kibitz
from referee_server import LINE, Referee, Script

from kibitz.adapters import referee
from kibitz.adapters.referee import Client, Connection, RefereeError, addresses_of
from kibitz.games.escampe.board import PLACE
from kibitz.players import player

BLACK = "C6/A6/B5/D5/E6/F5"
ENDINGS = [b"\n", b"\0\n", b"\0", b"\r\n", b" \0 \n\n"]


@pytest.fixture(scope="module")
def game():
    return referee.referee_game()


def play(server, who, clock=600.0, patience=20.0, seed=1):
    """A game at a server of this process."""
    if server.ident is None:
        server.start()
    with Connection(addresses_of("localhost", server.port), patience) as connection:
        client = Client(referee.referee_game(), who, clock, seed=seed)
        return client.play(connection, "guest")


def refused(game, steps, *, patience=20.0, stays=False):
    """The sentence that ends a game with a referee of this script."""
    script = Script(steps, stays=stays)
    with pytest.raises(RefereeError) as error:
        play(script, player("greedy", game), patience=patience)
    script.done.set()
    script.join(10)
    assert not script.is_alive()
    return str(error.value)


# Whole games --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_game_is_played_to_its_end_however_the_referee_ends_its_lines(game, seat, ending):
    server = Referee((seat == 0, seat == 1), ending=ending, seed=seat)
    report = play(server, player("greedy", game))
    server.join(10)
    assert server.why in ("unicorn", "length"), server.why  # nothing that we sent was illegal
    assert report.colour == ("white", "black")[seat]
    assert report.result == {"Blanc": "white", "Noir": "black"}.get(server.verdict, "draw")
    assert [*report.placements, *report.moves] == ["black", "white", *server.moves[2:]]


def test_the_referee_gets_our_name_first_and_all_six_pieces_in_one_word(game):
    script = Script([LINE, b"Noir\n", b"JOUEUR Noir\n", LINE, b"JOUEUR Blanc\nFIN! Noir\n"])
    report = play(script, player("greedy", game))
    script.join(10)
    name, placement = script.heard
    assert name == "guest"
    assert len(placement.split("/")) == 6
    assert (report.result, report.moves) == ("black", [])
    assert report.reason == "the referee has ended the game"


def test_white_places_and_moves_at_once(game):
    steps = [LINE, b"Blanc\nJOUEUR Noir\n", f"MOUVEMENT {BLACK}\n".encode()]
    steps += [b"JOUEUR Blanc\n", LINE, b"JOUEUR Blanc\n", LINE, b"FIN! Egalit\xc3\xa9\n"]
    script = Script(steps)
    report = play(script, player("greedy", game))
    script.join(10)
    assert [len(line.split("/")) for line in script.heard] == [1, 6, 1]
    assert report.result == "draw"
    assert report.placements["black"] == "C6/B5/D5/F5/A6/E6"
    assert report.moves == [script.heard[2]]


@pytest.mark.parametrize(
    "end", [b"FIN! Egalit\xe9\n", b"FIN! Egalite", b"FIN!\0\xc3\x89galit\xc3\xa9\0"]
)
def test_a_draw_is_understood_in_every_spelling(game, end):
    assert play(Script([LINE, b"Noir\n", end]), player("greedy", game)).result == "draw"


def test_words_may_arrive_letter_by_letter(game):
    letters = [bytes([byte]) for byte in b"Blanc\nJOUEUR Noir\nFIN! Blanc\n"]
    assert play(Script([LINE, *letters]), player("greedy", game)).result == "white"


def test_two_clients_play_each_other(game):
    server, reports = Referee((True, True)), []
    server.start()
    guests = [
        threading.Thread(target=lambda: reports.append(play(server, player("greedy", game))))
        for _ in range(2)
    ]
    for guest in guests:
        guest.start()
    for guest in guests:
        guest.join(60)
    one, other = reports
    assert {one.colour, other.colour} == {"white", "black"}
    assert (one.result, one.moves, one.placements) == (other.result, other.moves, other.placements)
    assert one.moves == server.moves[2:]


def test_a_player_on_a_clock_never_uses_it_up(game):
    for seat in (0, 1):
        referee.rehearse(game, player("alphabeta", game))
        server = Referee((seat == 0, seat == 1), clock=2.0, seed=seat)
        report = play(server, player("alphabeta", game), clock=2.0)
        server.join(10)
        assert server.why == "unicorn"
        assert report.seconds < 2.0 and server.sides[seat].used < 2.0
        assert report.longest_reply <= report.seconds


class PlacesAtRandom:
    """Places like `greedy`, so that no two games are alike, and then searches."""

    name = "places at random"

    def __init__(self, game):
        self.places, self.moves = player("greedy", game), player("alphabeta", game)

    def choose(self, sight):
        return (self.places if sight.actions[0][0] >= PLACE else self.moves).choose(sight)


@pytest.mark.slow
def test_a_hundred_games_on_a_minute_each_are_played_in_time(game, capsys):
    """Half of them with a random opponent, half with one that searches on a clock as well."""
    referee.rehearse(game, player("alphabeta", game))
    used, whys = [], []
    for seed in range(100):
        guests = (True, True) if seed % 2 else (seed % 4 == 0, seed % 4 == 2)
        server, reports = Referee(guests, clock=60.0, seed=seed), []
        server.start()

        def sit_down(server=server, reports=reports, seed=seed):
            reports.append(play(server, PlacesAtRandom(game), 60.0, 120.0, seed))

        threads = [threading.Thread(target=sit_down) for _ in range(sum(guests))]
        for thread in threads:
            thread.start()
        for thread in [*threads, server]:
            thread.join(300)
        assert len(reports) == sum(guests)
        used += [side.used for side, is_guest in zip(server.sides, guests, strict=True) if is_guest]
        whys.append(server.why)
        with capsys.disabled():
            print(f"\n{seed + 1} games: at most {max(used):.2f} s used, {set(whys)}", end="")
    assert max(used) < 60.0
    assert set(whys) <= {"unicorn", "length"}


# What a referee should not do ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"Rouge\n", "says 'Rouge' instead of Blanc or Noir"),
        (b"Noir\nBONJOUR\n", "says 'BONJOUR', which means nothing here"),
        (b"Noir\n\xff\xfe\x01\n", "which means nothing here"),
        (b"Noir\nJOUEUR Vert\n", "says 'Vert' instead of Blanc or Noir"),
        (b"Blanc\nJOUEUR Noir\n", "closed the connection before the game was over"),
        (b"Noir\nFIN! Personne\n", "says 'Personne' instead of Blanc or Noir"),
        (b"Noir\nFIN!\n", "closed the connection"),
        (b"Bla", "says 'Bla' instead of Blanc or Noir"),
        (b"", "closed the connection"),
        (b"Noir\nMOUVEMENT A1-A2\n", "announces 'A1-A2', but nobody was asked to move"),
        (b"Blanc\nJOUEUR Blanc\n", "asks White to play, but it is Black's turn"),
        (b"Blanc\nJOUEUR Noir\nJOUEUR Noir\n", "to play, but Black has been asked already"),
        (b"x" * 2000, "more than 1000 bytes without an end"),
    ],
)
def test_words_that_are_not_of_the_protocol_end_the_game_with_a_sentence(game, said, sentence):
    assert sentence in refused(game, [LINE, said])


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("C6", "a placement has 6 cells, not 1"),
        ("C6/A6/B5/D5/E6/C6", "C6 stands there more than once"),
        ("C6/A6/B5/D5/E6/F1", "all six pieces stand on one edge"),
        ("C3/A6/B5/D5/E6/F5", "C3 is on no edge"),
        ("Z9/A6/B5/D5/E6/F5", "'Z9' is not a cell"),
        ("E", "'E' is not a cell"),
    ],
)
def test_a_placement_of_the_opponent_that_is_none_ends_the_game(game, move, why):
    steps = [LINE, f"Blanc\nJOUEUR Noir\nMOUVEMENT {move}\n".encode()]
    sentence = refused(game, steps)
    assert sentence.startswith(f"the referee announces {move!r}: ") and why in sentence


class FirstAction:
    """Plays the first legal action: as Black it places A1, B1, ..., F1."""

    name = "first"

    def choose(self, sight):
        return [legal[0] for legal in sight.actions]


@pytest.mark.parametrize("move", ["A1-A2", "E", BLACK, "x"])
def test_a_move_of_the_opponent_that_is_not_legal_ends_the_game(move):
    script = Script(
        [
            *(LINE, b"Noir\nJOUEUR Noir\n", LINE),
            b"JOUEUR Blanc\nMOUVEMENT A6/B6/C6/D6/E6/F6\n",
            f"JOUEUR Blanc\nMOUVEMENT {move}\n".encode(),
        ]
    )
    with pytest.raises(RefereeError, match=f"the referee announces '{move}': escampe, seat 0"):
        play(script, FirstAction())
    assert script.heard[1] == "A1/B1/C1/D1/E1/F1"


def test_a_referee_that_leaves_in_the_middle_ends_the_game(game):
    steps = [LINE, b"Noir\nJOUEUR Noir\n", LINE, b"JOUEUR Blanc\nMOUV"]
    assert "says 'MOUV'" in refused(game, steps)
    assert "closed the connection" in refused(game, steps[:3])


@pytest.mark.parametrize("steps", [[], [LINE, b"Noir\n"], [LINE, b"Noir\nJOUEUR"]])
def test_a_referee_that_is_silent_is_not_waited_for_for_ever(game, steps):
    began = time.monotonic()
    sentence = refused(game, steps, patience=0.3, stays=True)
    assert sentence == "the referee has said nothing for 0.3 seconds"
    assert time.monotonic() - began < 10


def test_a_referee_that_only_sends_blanks_is_not_waited_for_for_ever(game):
    steps = [LINE, *[step for _ in range(30) for step in (b" \0\n", 0.05)]]
    assert "has said nothing" in refused(game, steps, patience=0.3)


def test_an_opponent_may_take_its_time(game):
    steps = [LINE, b"Blanc\nJOUEUR Noir\n", 0.5, b"FIN! Blanc\n"]
    assert play(Script(steps), player("greedy", game), patience=5.0).result == "white"


def test_a_game_that_never_ends_is_left(game, monkeypatch):
    monkeypatch.setattr(referee, "MOST_PLIES", 20)
    server = Referee((True, False), seed=3)
    with pytest.raises(RefereeError, match="has not ended the game after 20 plies"):
        play(server, player("random", game))


# Where the referee is -----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "::1"])
def test_a_referee_on_this_machine_is_welcome(host):
    assert addresses_of(host, 1234)


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "2001:db8::1"])
def test_another_machine_needs_permission(host):
    with pytest.raises(RefereeError, match="is another machine; to play there, add --anywhere"):
        addresses_of(host, 1234)
    assert addresses_of(host, 1234, anywhere=True) == [(host, 1234)]


def test_a_referee_that_is_not_there_is_one_sentence():
    script = Script([])
    script.server.close()
    with pytest.raises(RefereeError, match=r"no referee answers at .*: connection refused"):
        Connection(addresses_of("127.0.0.1", script.port), 1.0)


@pytest.mark.parametrize("host", ["", "no such host", "x" * 300, "a..b"])
def test_a_host_that_is_none_is_one_sentence(host):
    with pytest.raises(RefereeError, match="there is no machine called"):
        addresses_of(host, 1234)


# The command --------------------------------------------------------------------------------------


def test_the_command_plays_a_game_and_reports_it_as_json():
    server = Referee((False, True), ending=b"\0\n")
    server.start()
    done = kibitz("referee", "localhost", str(server.port), "--player", "greedy", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["colour"] == "black" and report["moves"] == server.moves[2:]
    assert server.sides[1].name == "kibitz"


def test_the_command_shows_the_game_to_a_person():
    script = Script([LINE, b"Noir\nJOUEUR Noir\n", LINE, b"FIN! Blanc\n"])
    script.start()
    words = ["--player", "greedy", "--name", "Guest Two", "--clock", "5"]
    done = kibitz("referee", "127.0.0.1", str(script.port), *words)
    assert done.returncode == 0, done.stderr
    assert script.heard[0] == "Guest Two"
    first, move, last = done.stdout.splitlines()
    assert first == "We play Black."
    assert move.startswith("Black: ") and move.endswith(" s left)")
    assert last.startswith("White wins: the referee has ended the game. We played black and used")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["192.0.2.1", "1234", "--player", "greedy"], "is another machine"),
        (["localhost", "0", "--player", "greedy"], "'PORT'"),
        (["localhost", "1234", "--player", "nobody"], "no player 'nobody'"),
        (["localhost", "1234", "--player", "greedy", "--clock", "0"], "'--clock'"),
        (["localhost", "1234", "--player", "greedy", "--clock", "nan"], "clock"),
        (["localhost", "1234", "--player", "greedy", "--name", "a\nb"], "a name is one line"),
        (["localhost", "1", "--player", "greedy"], "no referee answers"),
        (["localhost", "1234"], "--player"),
    ],
)
def test_the_command_refuses_bad_input_with_a_sentence_and_status_2(words, sentence):
    done = kibitz("referee", *words)
    assert done.returncode == 2, done.stderr
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_command_ends_with_status_2_when_the_referee_talks_nonsense():
    script = Script([LINE, b"Noir\nQUOI\n"])
    script.start()
    done = kibitz("referee", "localhost", str(script.port), "--player", "greedy")
    assert done.returncode == 2
    assert "the referee says 'QUOI', which means nothing here" in done.stderr

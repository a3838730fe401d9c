"""Escampe in words and in files; section 12 of its specification says what is refused."""

import json
import random

import pytest
from escampe_book import GAME, MID, RULES

from kibitz.arena.table import Table, open_record
from kibitz.batch import IllegalAction
from kibitz.game import ONLOOKER, OVER, GameError, NotationError
from kibitz.games import load
from kibitz.games.escampe.board import PASS
from kibitz.games.escampe.files import game_text, parse_game, read_board, write_board
from kibitz.games.escampe.text import parse_placement, placement_text

FAIR = load("escampe", placing="fair")
PLACED = "C6/A6/B5/D5/E6/F5"


def after(game, notation, *moves):
    s = game.read(notation)
    for move in moves:
        game.play(s, game.read_action(s, move))
    return s


# Positions ---------------------------------------------------------------------------------------


def test_a_position_is_its_start_and_the_moves_since_then():
    s = after(GAME, MID, "F6-E5", "A1-A2", "C2-C1")
    assert GAME.text(s) == f"{MID} F6-E5 A1-A2 C2-C1"
    assert GAME.read(GAME.text(s)).tobytes() == s.tobytes()


def test_under_the_bare_rules_a_position_has_no_moves_but_they_are_read():
    s = RULES.read(f"{MID} F6-E5 A1-A2")
    assert RULES.text(s) == "-nN---/n-b---/-----b/b-nn--/--b-b-/n-B--- w 3"
    taken = RULES.read(f"{MID} F6-E5 A1-A2 C2-C1")
    assert RULES.text(taken) == "-nb---/n-----/-----b/b-nn--/--b-b-/n-B--- b 2"
    assert RULES.read(RULES.text(taken)).tobytes() == taken.tobytes()


def test_the_start_is_an_empty_board_with_black_to_place():
    assert GAME.text(GAME.fresh()) == "------/------/------/------/------/------ b 0"


@pytest.mark.parametrize(
    ("notation", "why"),
    [
        ("", "is not like 'bb----/"),
        ("nnN---/--b---", "is not like 'bb----/"),
        (MID.replace("w", "x"), "is not like 'bb----/"),
        (MID.replace(" 2", " 4"), "the required band is 0 to 3, not '4'"),
        (MID.replace(" 2", " -1"), "the required band is 0 to 3, not '-1'"),
        (MID.replace("/--b---", "", 1), "a board has 6 rows, not 5"),
        (MID.replace("--b---", "--b--", 1), "row 2 has 6 cells, not 5"),
        (MID.replace("--b---", "--q---", 1), "row 2 has 'q'; a cell is b, n, B, N or -"),
        (MID.replace("--b---", "--B---", 1), r"White has 1 unicorn \(B\), not 2"),
        (MID.replace("--b---", "b-b---", 1), r"White has 5 paladins \(b\), not 6"),
        (MID.replace("--b---", "------", 1), "fewer than twelve pieces are still being placed"),
        (MID.replace("n-B--b", "n----b").replace("w", "b"), "a unicorn is missing only if it was"),
        (MID.upper(), "White has 1 unicorn"),
        (f"{MID} F6-F1", "'F6-F1': a piece moves 2 steps from F6"),
        (f"{MID} F6-E5 A1-A2 C2-C1 C3-C2", "the game is over"),
        ("N-----/------/------/------/------/-----n b 0 A2", "still being placed"),
    ],
)
def test_a_text_that_is_no_position_is_refused_with_the_reason(notation, why):
    with pytest.raises(GameError, match=why):
        GAME.read(notation)


def test_a_position_without_a_unicorn_is_over():
    assert GAME.scores(GAME.read(MID.replace("n-B--b", "n----b"))) == [-1, 1]


# Moves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["F6-E5", "f6-e5", "  f6 - e5 ", "F6E5"])
def test_a_move_is_read_in_any_case_and_with_blanks(typed):
    s = GAME.read(MID)
    assert GAME.action_text(s, GAME.read_action(s, typed)) == "F6-E5"


def test_a_pass_is_an_e():
    s = GAME.read("nnNb--/nnb---/nb----/b-----/b-----/-----B b 0")
    assert GAME.choices(s) == "E"
    assert {GAME.read_action(s, typed) for typed in ("E", " e ", "pass")} == {PASS}


BAD_MOVES = [
    (MID, "", "'' is not a move such as B1-D1, or E to pass"),
    (MID, "A4", "'A4' is not a move such as B1-D1"),
    (MID, PLACED, "is not a move such as B1-D1"),
    (MID, "G1-A1", "'G1' is not a cell; cells are A1 to F6"),
    (MID, "A4-A7", "'A7' is not a cell"),
    (MID, "B6-B4", "'B6-B4': B6 is empty"),
    (MID, "B1-B3", "'B1-B3': the piece on B1 is not White's"),
    (MID, "C2-C5", "White must move from a cell of band 2, and C2 has band 3"),
    (MID, "A4-A5", "a piece moves 2 steps from A4, and that does not lead to A5"),
    (MID, "A4-C4", "'A4-C4': C4 is occupied; only the enemy unicorn can be taken"),
    (MID, "C6-C4", "'C6-C4': C4 is occupied"),
    (MID, "E", "'E': White can move, so it must not pass"),
    ("b-B---/--n---/--N---/------/-bb-bb/nn-nn- w 2", "C1-C3", "a unicorn takes nothing"),
    ("bbB---/--n---/--N---/------/--b-bb/nn-nn- w 2", "B1-D1", "from B1 to D1 is blocked"),
    (f"{MID} F6-E5 A1-A2 C2-C1", "A2-A1", "'A2-A1': the game is over"),
]


@pytest.mark.parametrize(("notation", "typed", "why"), BAD_MOVES)
def test_a_move_that_cannot_be_made_is_refused_with_the_reason(notation, typed, why):
    s = GAME.read(notation)
    before = s.tobytes()
    with pytest.raises(NotationError, match=why):
        GAME.read_action(s, typed)
    assert s.tobytes() == before


def test_every_move_that_is_not_legal_is_refused_and_every_legal_one_is_read():
    s = GAME.read(MID)
    legal = [GAME.action_text(s, a) for a in GAME.legal(s)]
    cells = [f"{column}{row}" for row in range(1, 7) for column in "ABCDEF"]
    for move in (f"{start}-{end}" for start in cells for end in cells):
        if move in legal:
            assert GAME.action_text(s, GAME.read_action(s, move)) == move
        else:
            with pytest.raises(NotationError):
                GAME.read_action(s, move)


def test_everybody_hears_of_a_capture_and_of_a_pass():
    s = after(GAME, MID, "F6-E5", "A1-A2")
    for seat in (0, 1, ONLOOKER):
        assert GAME.news_text(s, seat, GAME.read_action(s, "C2-C1")) == "C2-C1 takes the unicorn"
    s = GAME.read("nnNb--/nnb---/nb----/b-----/b-----/-----B b 0")
    assert GAME.news_text(s, 0, PASS) == "E (Black cannot move)"


# Placing -----------------------------------------------------------------------------------------


def placing(*cells):
    """The table after these pieces were placed."""
    s = GAME.fresh()
    for cell in cells:
        GAME.play(s, GAME.read_action(s, cell))
    return s


def test_pieces_are_placed_by_cells():
    s = GAME.fresh()
    assert GAME.action_text(s, GAME.read_action(s, " c6 ")) == "unicorn C6"
    assert GAME.read_action(s, "unicorn c6") == GAME.read_action(s, "C6")
    s = placing("C6")
    assert GAME.action_text(s, GAME.read_action(s, "paladin a5")) == "A5"
    assert GAME.choices(s) == "A5, B5, C5, D5, E5, F5, A6"


@pytest.mark.parametrize(
    ("cells", "typed", "why"),
    [
        ((), "C7", "'C7' is not a cell"),
        ((), "unicorn", "'' is not a cell"),
        ((), "C3", "'C3': Black places on rows 1 and 2, or on rows 5 and 6"),
        ((), "B1-D1", "'B1-D1' is not a cell"),
        (("C6",), "C6", "'C6': C6 is occupied"),
        (("C6",), "A1", "'A1': Black places on rows 5 and 6"),
        (("C6", "C5"), "A5", "paladins are placed in ascending order.* can go to D5, E5, F5, A6"),
        (("C6",), "F6", "so that all find room"),
        (("C6", "A5", "B5", "C5", "D5", "E5"), "C6", "'C6': White places on rows 1 and 2"),
    ],
)
def test_a_cell_that_cannot_be_placed_on_is_refused_with_the_reason(cells, typed, why):
    s = placing(*cells)
    before = s.tobytes()
    with pytest.raises(NotationError, match=why):
        GAME.read_action(s, typed)
    assert s.tobytes() == before


def test_a_whole_placement_is_written_in_the_order_of_cells():
    assert placement_text(*parse_placement(" c6/f5/a6/b5/e6/d5 ")) == "C6/B5/D5/F5/A6/E6"


BAD_PLACEMENTS = [
    ("", "'' is not a cell"),
    ("C6/A6/B5/D5/E6", "a placement has 6 cells, not 5"),
    (f"{PLACED}/A5", "a placement has 6 cells, not 7"),
    ("C6/A6/B5/D5/E6/A6", "A6 stands there more than once"),
    ("C6/A6/B5/D5/E6/F7", "'F7' is not a cell"),
    ("C6/A6/B5/D5/E6/F4", "F4 is on no edge"),
    ("C6/A6/B5/D5/E6/F1", "all six pieces stand on one edge, not on both"),
]


@pytest.mark.parametrize(("notation", "why"), BAD_PLACEMENTS)
def test_a_placement_that_is_none_is_refused_with_the_reason(notation, why):
    with pytest.raises(NotationError, match=why):
        parse_placement(notation)


def test_a_fair_pair_is_told_by_its_placements():
    s = FAIR.fresh()
    for outcome in (0, 77, 4095):
        words = FAIR.action_text(s, outcome)
        black, white = words.split()
        assert FAIR.read_action(s, words.lower()) == outcome
        t = FAIR.copy(s)
        FAIR.play(t, outcome)
        for side, placed in ((1, black), (0, white)):
            assert parse_placement(placed) == (t.unicorn[side], t.paladins[side])


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (PLACED, "is not two placements"),
        (f"{PLACED} {PLACED}", "that is Black's edge; White places on rows 1 and 2"),
        (f"{PLACED} A1/B1/C1/D1/E1/Z1", "'Z1' is not a cell"),
    ],
)
def test_a_pair_that_is_none_is_refused_with_the_reason(typed, why):
    with pytest.raises(NotationError, match=why):
        FAIR.read_action(FAIR.fresh(), typed)


# The board in the terminal -----------------------------------------------------------------------


def test_the_seat_to_move_sees_where_its_pieces_can_go():
    assert GAME.sight_text(GAME.read(MID), 0).splitlines() == [
        "     A    B    C    D    E    F",
        "1   n1   n2   N2    3    1    2",
        "2    3*   1   b3    1    3    2",
        "3    2    3*   1    2    1   b3",
        "4   b2    1   n3   n2    3    1*",
        "5    1    3*  b1    3*   1*   2",
        "6   n3    2   B2    1*   3*  b2",
        "White (you): B unicorn, b paladins",
        "Black: N unicorn, n paladins",
        "White moves from a cell with 2 rings (* marks where its pieces can go)",
        "  A4 to A2, B3, B5",
        "  C6 to B5, D5, E6",
        "  F6 to F4, E5, D6",
    ]


def test_the_others_see_the_same_board_without_marks():
    s = GAME.read(MID)
    for seat in (1, ONLOOKER):
        lines = GAME.sight_text(s, seat).splitlines()
        assert lines[2] == "2    3    1   b3    1    3    2"
        assert lines[-1] == "White moves from a cell with 2 rings"


def test_the_board_says_what_is_placed_next_and_how_a_game_ended():
    assert "Black places its unicorn, on rows 1 and 2, or" in GAME.sight_text(GAME.fresh(), 0)
    assert "Black places a paladin, on rows 5 and 6" in GAME.sight_text(placing("C6"), 1)
    s = GAME.read(f"{MID} F6-E5 A1-A2 C2-C1")
    assert GAME.sight_text(s, 1).endswith("White has taken the unicorn")
    s = load("escampe", max_plies=2).read(f"{MID} F6-E5 A1-A2")
    assert GAME.seen(s, 1).endswith("Drawn: 2 plies")
    s = GAME.read("nnNb--/nnb---/nb----/b-----/b-----/-----B b 0")
    assert GAME.sight_text(s, 1).endswith("no piece can move: E passes")


# Board files -------------------------------------------------------------------------------------

BOARD = """% the handout's middle game
%  ABCDEF
02 --b--- 02
01 nnN--- 01

03 -----b 03
04 b-nn-- 04
05 --b--- 05
06 n-B--b 06
% to_move=white
% required_band=2
"""


def test_a_board_file_is_read_row_by_row_whatever_their_order():
    assert GAME.text(read_board(GAME, BOARD)) == MID


def test_a_board_file_without_comments_means_white_from_any_band():
    rows = "\n".join(line for line in BOARD.splitlines() if not line.startswith("%"))
    assert GAME.text(read_board(GAME, rows)) == MID.replace("w 2", "w 0")


def test_what_is_written_to_a_board_file_is_read_back():
    game, dice = load("escampe", placing="drawn", adjudication=False), random.Random(1)
    s = game.fresh()
    while game.turn(s) != OVER:
        assert read_board(game, write_board(s)).tobytes() == s.tobytes()
        game.play(s, dice.choice(game.moves(s)))
    assert read_board(game, write_board(s)).tobytes() == s.tobytes()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("04 b-nn-- 04\n", "", "a board file has six rows; row 4 is missing"),
        ("04 b-nn-- 04", "03 b-nn-- 03", "line 7: row 3 is there twice"),
        ("04 b-nn-- 04", "04 b-nn- 04", "line 7: row 4 has 6 cells, not 5"),
        ("04 b-nn-- 04", "04 b-nnx- 04", "line 7: row 4 has 'x'; a cell is b, n, B, N or -"),
        ("04 b-nn-- 04", "04 b-nn-- 05", "line 7: '04 b-nn-- 05' is not a row such as"),
        ("04 b-nn-- 04", "07 b-nn-- 07", "line 7: '07 b-nn-- 07' is not a row such as"),
        ("04 b-nn-- 04", "b-nn--", "line 7: 'b-nn--' is not a row such as"),
        ("04 b-nn-- 04", "04 b-nnb- 04", r"White has 5 paladins \(b\), not 6"),
        ("to_move=white", "to_move=red", "to_move=red: White or Black is to move"),
        ("required_band=2", "required_band=7", "the required band is 0 to 3, not '7'"),
    ],
)
def test_a_board_file_that_is_none_is_refused_with_the_reason(old, new, why):
    with pytest.raises(NotationError, match=why):
        read_board(GAME, BOARD.replace(old, new))


# Games in JSON -----------------------------------------------------------------------------------

RECORD = {
    "placements": {"black": PLACED, "white": "B2/A1/B1/C2/E2/F2"},
    "moves": ["A1-A2", "B5-B4"],
    "result": None,
    "reason": None,
}


def recorded(**parts):
    return json.dumps({**RECORD, **parts})


def random_moves(game, seed):
    dice, s, moves = random.Random(seed), game.fresh(), []
    while game.turn(s) != OVER:
        moves.append(dice.choice(game.moves(s)))
        game.play(s, moves[-1])
    return s, moves


@pytest.mark.parametrize("placed", ["chosen", "drawn", "fair"])
def test_a_game_is_written_and_read_however_its_pieces_were_placed(placed):
    for seed in range(5):
        game = load("escampe", placing=placed)
        s, moves = random_moves(game, seed)
        content = game_text(game, moves)
        again = GAME.fresh()
        for action in parse_game(GAME, content):
            GAME.play(again, action)
        assert GAME.text(again) == game.text(s)
        record = json.loads(content)
        white = game.scores(s)[0]
        assert record["result"] == {1: "white", 0: "draw", -1: "black"}[white]
        assert record["reason"] and len(record["moves"]) == s.ply


def test_a_game_that_goes_on_has_no_result():
    actions = parse_game(GAME, recorded())
    written = json.loads(game_text(GAME, actions))
    assert (written["moves"], written["result"]) == (RECORD["moves"], None)
    assert written["placements"]["black"] == "C6/B5/D5/F5/A6/E6"
    assert parse_game(GAME, recorded(result="white", reason="time")) == actions


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "this is not JSON"),
        ("[]", "a game has placements, moves, result and reason; no 'placements' here"),
        ('{"placements": {}, "moves": [], "reason": ""}', "no 'result' here"),
        (recorded(placements=[PLACED]), "placements: an object with the texts of 'black'"),
        (recorded(placements={"white": PLACED}), "Black places, then White; black's text"),
        (recorded(placements={"black": PLACED}), "white's text is missing"),
        (recorded(placements={"black": PLACED, "white": 3}), "white's text is missing"),
        (recorded(placements={"black": PLACED, "white": PLACED}), "that is Black's edge; White"),
        (recorded(placements={"black": "A1", "white": PLACED}), "a placement has 6 cells, not 1"),
        (recorded(moves="E"), "moves: a list of texts such as 'B1-D1'"),
        (recorded(moves=[3]), "moves: a list of texts such as 'B1-D1'"),
        (recorded(moves=["A1-A2", "E"]), "move 2: 'E': Black can move, so it must not pass"),
        (recorded(result="nobody"), "result: 'white', 'black' or 'draw', or null, not 'nobody'"),
    ],
)
def test_a_game_that_is_none_is_refused_with_the_reason(content, why):
    with pytest.raises(NotationError, match=why):
        parse_game(GAME, content)


@pytest.mark.parametrize(("notation", "why"), BAD_PLACEMENTS)
def test_a_game_with_a_bad_placement_is_refused_with_the_reason(notation, why):
    with pytest.raises(NotationError, match=why):
        parse_game(GAME, recorded(placements={"black": notation, "white": PLACED}))


def test_a_result_that_contradicts_the_moves_is_refused():
    content = json.loads(game_text(GAME, random_moves(GAME, 0)[1]))
    assert content["result"] in ("white", "black")
    content["result"] = "draw"
    with pytest.raises(NotationError, match=r"the result is (white|black) after these moves"):
        parse_game(GAME, json.dumps(content))


def test_moves_after_the_end_are_refused():
    content = json.loads(game_text(GAME, random_moves(GAME, 0)[1]))
    content["moves"].append("A1-A2")
    with pytest.raises(NotationError, match=r"move \d+: 'A1-A2': the game is over"):
        parse_game(GAME, json.dumps(content))


def test_games_are_read_where_players_place():
    with pytest.raises(NotationError, match="with placing=chosen"):
        parse_game(FAIR, recorded())


def test_a_game_cannot_be_written_before_all_pieces_are_placed():
    with pytest.raises(NotationError, match="once all pieces are placed"):
        game_text(GAME, GAME.legal(GAME.fresh())[:1])


# At the table ------------------------------------------------------------------------------------


@pytest.fixture
def table():
    table, dice = Table(GAME, seed=1), random.Random(1)
    while not table.over:
        table.play(dice.choice(table.actions))
    return table


def test_a_table_is_saved_as_json_and_opened_again(table, tmp_path):
    file = tmp_path / "game.json"
    table.save(file)
    assert json.loads(file.read_text())["game"] == "escampe"
    assert open_record(file).text() == table.text() == open_record(file, "escampe").text()
    assert open_record(file, ply=12).text() == table.text().partition(" w 0")[0] + " w 0"
    with pytest.raises(NotationError, match="this record has the plies 0 to"):
        open_record(file, ply=999)


def test_a_table_is_saved_as_a_record_to_any_other_file(table, tmp_path):
    table.save(tmp_path / "game.txt")
    assert open_record(tmp_path / "game.txt").text() == table.text()


@pytest.mark.parametrize(
    ("content", "game", "why"),
    [
        ("{", None, "it is not the JSON that it begins like"),
        ("{}", None, "does not say which game was played; say it: kibitz replay GAME"),
        ('{"game": "chess"}', None, "a record of 'chess', which is not a game of the package"),
        ('{"game": []}', None, "which is not a game of the package"),
        ("{}", "kuhn", "kuhn has no JSON format of its own"),
        ("{}", "escampe", "a game has placements"),
    ],
)
def test_json_that_is_no_game_is_refused_with_the_reason(content, game, why, tmp_path):
    (tmp_path / "game.json").write_text(content)
    with pytest.raises(NotationError, match=why):
        open_record(tmp_path / "game.json", game)


def test_the_table_says_why_a_move_is_not_legal_and_stays_as_it_is(table):
    before = table.record()
    with pytest.raises(IllegalAction, match="the game is over"):
        table.play("A1-A2")
    assert table.record() == before
    new = Table(GAME, seed=1)
    with pytest.raises(IllegalAction, match="Black places on rows 1 and 2, or on rows 5 and 6"):
        new.play("C3")
    assert new.record() == Table(GAME, seed=1).record()

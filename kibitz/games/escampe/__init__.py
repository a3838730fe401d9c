"""Escampe: two unicorns on a board of rings. Where you stop decides what the other may move.

The board has 6 x 6 cells, and each carries a band of one, two or three rings:

        A B C D E F
    1   1 2 2 3 1 2
    2   3 1 3 1 3 2
    3   2 3 1 2 1 3
    4   2 1 3 2 3 1
    5   1 3 1 3 1 2
    6   3 2 2 1 3 2

Each side has a unicorn and five paladins. Black places its six pieces on rows 1 and 2 or on rows 5
and 6, then White places on the two rows of the opposite edge, and White moves first.

A piece travels as many orthogonal steps as its cell has rings. It may turn at every step, but it
visits no cell twice and passes over empty cells only. It must start from a cell of the band on
which the opponent's piece has just arrived. Who cannot move passes, and then the other side is free
to move from any band. A paladin that ends on the enemy unicorn takes it and wins; nothing else is
ever taken.

Actions: the 222 pairs of start and end that the board allows, the pass, then placing on 36 cells,
piece by piece: the unicorn, then the paladins in ascending order.
"""

from __future__ import annotations

from ...game import Game, Shape
from .board import MOST_MOVES, NUM_ACTIONS
from .fair_pairs import FAIR_PAIRS
from .files import game_text, parse_game
from .judges import OPEN_RULES
from .laws import FLAWS, flaw
from .options import EscampeOptions
from .players import greedy
from .positions import COLUMNS
from .rules import actions, known, odds, play, roll, score, start, state, turn
from .text import action_text, news, parse, parse_action, seen, text
from .view import PIECES_VIEW, REACH_VIEW, VIEW, observe, observe_pieces, observe_reach

OUTCOMES = {"chosen": 1, "drawn": 36, "fair": len(FAIR_PAIRS)}


def shape(options: EscampeOptions) -> Shape:
    return Shape(
        seats=2,
        num_actions=NUM_ACTIONS,
        num_outcomes=OUTCOMES[options.placing],
        state=state(options),
        view=VIEW,
        views={"banddper-16-reach": REACH_VIEW, "pieces": PIECES_VIEW},
        max_legal=MOST_MOVES,
        repeats=not options.adjudication,
    )


GAME = Game(
    name="escampe",
    version=1,
    options=EscampeOptions(),
    presets={"rules": {"adjudication": False}},
    tried=({"placing": "drawn"}, {"placing": "fair", "max_plies": 30}),
    shape=shape,
    start=start,
    turn=turn,
    odds=odds,
    roll=roll,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    observers={"banddper-16-reach": observe_reach, "pieces": observe_pieces},
    known=known,
    flaw=flaw,
    flaws=FLAWS,
    text=text,
    parse=parse,
    open_rules=OPEN_RULES,
    columns=COLUMNS,
    seen=seen,
    action_text=action_text,
    parse_action=parse_action,
    news=news,
    game_text=game_text,
    parse_game=parse_game,
    case_matters=True,
    onlookers=True,
    players={"greedy": greedy},
)

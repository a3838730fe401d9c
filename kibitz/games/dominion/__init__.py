"""Dominion: everybody builds a deck of their own out of the same piles of cards.

Two to six seats begin with seven Coppers and three Estates and draw five cards. In its Action
phase a seat may play one Action card from hand, and more if cards give +Actions. In its Buy phase
it plays Treasures, whose coins buy one card, and more with +Buys; bought and gained cards go to the
discard pile. At Clean-up all cards of the turn are discarded and five are drawn; if the deck is
empty, the discard pile is shuffled into a new one. The game ends after a turn if no Province is
left or three piles are empty (four with five or six seats). Most points win; at equal points fewer
turns.

    cost   0 Copper $1, Curse -1 point    3 Silver $2            6 Gold $3
           2 Estate 1 point               5 Duchy 3 points       8 Province 6 points

Ten more piles are the kingdom, drawn at random from the base set unless an option names it. What
the cards do is written on them; at a table, `rules` shows it. What lies on the table is public:
only hands, decks and cards that a seat looks at alone are secret.

An action is 512 * family + card: play, buy, select from hand, gain, pick, name, reveal; the last
family holds words such as "end buys", "finish" and "yes". Drawing a card whose place nobody knows
is a chance move, and so is drawing a kingdom and a first seat. The outcome is the id of the card,
or the seat.

Source: Donald X. Vaccarino, "Dominion", second edition, Rio Grande Games 2016.
"""

from __future__ import annotations

from ...game import Game, Shape
from .catalogue import TREASURES
from .knowledge import known, redeal
from .laws import FLAWS, flaw
from .options import KINGDOMS, DominionOptions
from .players import STRATEGIES
from .resolve import CONTROL
from .rules import IDS, actions, margin, odds, play, roll, score, start, turn
from .text import about, action_text, news, seen
from .view import observe, view
from .zones import SLOTS, state


def shape(options: DominionOptions) -> Shape:
    return Shape(
        seats=options.players,
        num_actions=IDS * (CONTROL + 1),
        num_outcomes=IDS,
        state=state(options.players),
        view=view(options.players),
        # The Buy phase has the most: buy any card, play any Treasure or all, or end the phase.
        max_legal=SLOTS + TREASURES + 2,
    )


GAME = Game(
    name="dominion",
    version=1,
    options=DominionOptions(),
    presets={name: {"kingdom": name} for name in KINGDOMS},
    tried=(
        {"players": 3, "kingdom": "sleight_of_hand"},
        {"kingdom": "deck_top", "auto_single": False, "auto_treasures": False, "first": "0"},
        {"kingdom": "size_distortion", "auto_treasures": False, "auto_single_phase": False},
    ),
    shape=shape,
    start=start,
    turn=turn,
    odds=odds,
    roll=roll,
    actions=actions,
    play=play,
    score=score,
    margin=margin,
    observe=observe,
    redeal=redeal,
    known=known,
    flaw=flaw,
    flaws=FLAWS,
    seen=seen,
    about=about,
    action_text=action_text,
    news=news,
    onlookers=True,
    players=STRATEGIES,
    # A seat that skips its Action phase without being asked has no Action card; re-deals may give
    # it one.
    deduces=False,
)

"""Beasty Bar: animals push and trick their way along a queue, and the first two get in.

Two to four seats own the same twelve animals each and hold four of them. In turn a seat plays one
to the back of the queue, where it does its trick. Then the hippos, crocodiles and giraffes that
were there before act once more, gate first. If five are in the queue now, the two at the gate enter
the bar and the last one is thrown out: THAT'S IT. The seat draws a card while its pile lasts. When
all cards are played, the seat with the most points in the bar wins.

    12  lion       2  sends all monkeys away and takes the gate; a second lion is sent away itself
    11  hippo      2  pushes past all weaker animals; recurs
    10  crocodile  3  eats all weaker animals on its way ahead; recurs
     9  snake      2  sorts the queue, strongest at the gate
     8  giraffe    3  steps past one weaker animal; recurs
     7  zebra      4  does nothing, and no hippo or crocodile gets past it
     6  seal       2  turns the queue round
     5  chameleon  3  does what an animal in the queue would do, as strong as that one
     4  monkey     3  joined by another one: hippos and crocodiles go, monkeys take the gate
     3  kangaroo   4  jumps over the last one or two
     2  parrot     4  sends one animal away
     1  skunk      4  sends the two strongest species away, but never skunks

(strength, animal, points, trick)

An action is a slot of the hand and one of the 31 ways to play a card: 4 x 31 = 124. Piles are sets,
because nobody knows their order; dealing and drawing are chance moves, 12 outcomes by strength.

Source: Stefan Kloß, "Beasty Bar", Zoch 2014, with the points of the later editions.
"""

from __future__ import annotations

from ...game import Game, Shape
from .cards import HAND
from .laws import FLAWS, flaw
from .players import greedy, outcome
from .rules import (
    WAYS,
    BeastyBarOptions,
    actions,
    margin,
    odds,
    play,
    roll,
    score,
    start,
    state,
    turn,
)
from .text import action_text, news, parse, seen, text
from .view import known, label, observe, redeal, view


def shape(options: BeastyBarOptions) -> Shape:
    return Shape(
        seats=options.players,
        num_actions=HAND * WAYS,
        num_outcomes=12,
        state=state(options.players),
        view=view(options.players),
        max_legal=32,  # two, three and four seats need 15, 19 and 21 of them
    )


GAME = Game(
    name="beasty_bar",
    version=1,
    options=BeastyBarOptions(),
    presets={
        "training": {"early_stop": True},
        "published": {"early_stop": True, "recurring": "moving_index"},
        "first_edition": {"scoring": "animals"},
    },
    tried=(
        {"players": 3},
        {"players": 4, "start": 3},
        {"empty_plays": "forbid", "scoring": "animals", "tie": "points"},
        {"early_stop": True, "recurring": "moving_index", "tie": "low_strength"},
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
    label=label,
    flaw=flaw,
    flaws=FLAWS,
    text=text,
    parse=parse,
    seen=seen,
    action_text=action_text,
    news=news,
    onlookers=True,
    players={"outcome": outcome, "greedy": greedy},
)

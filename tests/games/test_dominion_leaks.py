"""What a seat sees of Dominion gives no secret away: section 7 of specs/dominion.md.

Many games of random play on random kingdoms go on side by side. At every decision what a seat
cannot know is dealt anew, or one card of it is exchanged, and the seat must not notice.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from test_dominion_view import used

from kibitz import games
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import OVER

TABLES, REDEALS = 40, 5
PLIES = 700  # random games are over by then, but for a few
GAME = games.load("dominion")
USED = np.flatnonzero(used())  # all other places are always 0
ZONES = ("hand", "deck", "discards", "in_play", "aside")


def seats(seat):
    return np.full(TABLES, seat)


@dataclass
class Sighted:
    """What one seat sees at every table."""

    views: np.ndarray
    known: np.ndarray
    actions: np.ndarray

    @classmethod
    def to(cls, seat, batch, room):
        actions, counts = batch.actions()
        mine = (batch.turns() == seat)[:, None] & (np.arange(actions.shape[1]) < counts[:, None])
        views = batch.observe(seats(seat), room)[:, USED]
        return cls(views, batch.known(seats(seat)), np.where(mine, actions, -1))

    def differ(self, other):
        """Tables where the two differ. bool [TABLES]"""
        views = (self.views != other.views).any(1)
        return views | (self.known != other.known) | (self.actions != other.actions).any(1)


@pytest.fixture(scope="module")
def room():
    """Memory for views, zero when made."""
    return np.zeros((TABLES, GAME.view_size), np.float32)


def decisions(seed):
    """Tables at their decisions, step by step, and which of them still play."""
    batch = Batch(GAME, TABLES, seed=seed)
    dice = np.random.default_rng(seed)
    for _ in range(PLIES):
        batch.settle()
        playing = batch.turns() != OVER
        if not playing.any():
            return
        yield batch, playing
        actions, counts = batch.actions()
        chosen = actions[np.arange(TABLES), dice.integers(np.maximum(counts, 1))].astype(np.int64)
        batch.play(np.where(playing, chosen, -1), check=False)


def unknown_kinds(s, opponent):
    """Kinds of cards in hand and deck of a seat together."""
    cards = s.hand[opponent].astype(int) + s.deck[opponent]
    for slot in s.top[opponent, : s.tops[opponent]]:
        cards[slot] += 1
    return (cards > 0).sum()


def sizes(states):
    """How many cards are where, by table."""
    sums = [states[name].astype(int).sum(2) for name in ZONES]
    counts = [states[name] for name in ("hand_size", "deck_size", "discards_size", "tops")]
    return np.concatenate([*sums, *counts, states["in_limbo"][:, None]], 1)


def all_cards(states, seat):
    """The cards of a seat in all zones, counted one by one. [TABLES, 17]"""
    cards = sum(states[name][:, seat].astype(int) for name in ZONES)
    for i, s in enumerate(states):
        np.add.at(cards[i], s.top[seat, : s.tops[seat]].astype(int), 1)
        if s.limbo_of == seat:
            np.add.at(cards[i], s.limbo[: s.in_limbo].astype(int), 1)
    return cards


@dataclass
class Tally:
    """Re-deals by table: how many there were, and what became of them."""

    decisions: np.ndarray
    draws: np.ndarray  # where the opponent's hand and deck are not all of one kind
    changed: np.ndarray  # of these, with another hand of the opponent
    noticed: np.ndarray  # where the seat sees something else
    lost: np.ndarray  # where a zone has another size, or a seat other cards


@pytest.fixture(scope="module")
def tally(room):
    tally = Tally(*(np.zeros(TABLES, int) for _ in range(5)))
    rngs = streams(5, "search", TABLES)
    for batch, playing in decisions(seed=1):
        truth = batch.states.copy()
        tally.decisions += playing
        for seat in range(2):
            other = 1 - seat
            before, owned = Sighted.to(seat, batch, room), all_cards(truth, other)
            hidden = playing & [unknown_kinds(s, other) > 1 for s in truth]
            for _ in range(REDEALS):
                batch.redeal(seats(seat), rngs)
                dealt = batch.states
                tally.draws += hidden
                tally.changed += hidden & (dealt["hand"] != truth["hand"])[:, other].any(1)
                tally.noticed += playing & Sighted.to(seat, batch, room).differ(before)
                tally.lost += (sizes(dealt) != sizes(truth)).any(1)
                tally.lost += (all_cards(dealt, other) != owned).any(1)
                batch.states[:] = truth
    return tally


def test_no_seat_notices_a_redeal(tally):
    """Neither in its view nor in what it knows nor, where it is to move, in its actions."""
    assert tally.decisions.sum() > 100 * TABLES
    assert not tally.noticed.any()


def test_a_redeal_keeps_what_is_owned_and_how_much_is_where(tally):
    assert tally.draws.sum() > 500 * TABLES
    assert not tally.lost.any()


def test_redeals_change_the_hand_of_the_opponent(tally):
    """Else all of this would show nothing."""
    long = tally.decisions >= 200
    assert long.sum() >= 5
    assert (tally.changed[long] >= 0.3 * tally.draws[long]).all()


# One card for another ----------------------------------------------------------------------------


def exchange(s, owner, seat, dice):
    """Swap a card of the owner's hand with another of its deck, both unknown to the other seat."""
    hand = np.flatnonzero(s.hand[owner] > s.shown[owner])
    unseen = [i for i in range(s.tops[owner]) if not int(s.top_seen[owner, i]) >> seat & 1]
    places = [("deck", slot) for slot in np.flatnonzero(s.deck[owner])]
    places += [("top", i) for i in unseen]
    dice.shuffle(places)
    for zone, place in places:
        lies = place if zone == "deck" else int(s.top[owner, place])
        others = hand[hand != lies]
        if others.size:
            held = dice.choice(others)
            s.hand[owner, held] -= 1
            s.hand[owner, lies] += 1
            if zone == "deck":
                s.deck[owner, lies] -= 1
                s.deck[owner, held] += 1
            else:
                s.top[owner, place] = held
            return True
    return False


def test_an_exchange_of_two_unknown_cards_is_seen_by_their_owner_only(room):
    dice, exchanged = np.random.default_rng(3), 0
    for batch, playing in decisions(seed=2):
        truth = batch.states.copy()
        for seat in range(2):
            owner = 1 - seat
            before, mine = Sighted.to(seat, batch, room), Sighted.to(owner, batch, room)
            done = np.array([exchange(s, owner, seat, dice) for s in batch.states]) & playing
            after, now = Sighted.to(seat, batch, room), Sighted.to(owner, batch, room)
            assert not (after.differ(before) & done).any()
            assert (now.views != mine.views).any(1)[done].all()
            exchanged += done.sum()
            batch.states[:] = truth
    assert exchanged > 100 * TABLES

"""Goofspiel: everybody bids in secret for one prize after the other.

Each seat holds the cards 1 to `cards`, and so does the deck of prizes. A prize is turned up at
random. All seats bid one card for it, in secret; then the bids are shown and put away. The highest
bid takes the prize and scores its value. If the highest bid is tied, nobody gets the prize. The
last round plays itself. The seats with the most points share the win.

Seats bid one after the other, but nobody sees a bid before all have bid: that is what `news` and
`redeal` say. Action and outcome `k` are the card `k + 1`.

Source: OpenSpiel's `goofspiel` with bids shown after each round, prizes in random order, and
returns by win and loss.
"""

from dataclasses import dataclass

import numpy as np

from kibitz.chance import below, mix
from kibitz.game import (
    CHANCE,
    ONLOOKER,
    OVER,
    Game,
    OptionError,
    Options,
    Shape,
    layout,
    record,
    rule,
)

NO_CARD = 0


@dataclass(frozen=True)
class GoofspielOptions(Options):
    """How many sit at the table, and how long they play."""

    players: int = 2
    """Seats, 2 to 4."""
    cards: int = 8
    """Cards of each seat and prizes, 4 to 13."""

    def check(self):
        if not 2 <= self.players <= 4:
            raise OptionError(f"players={self.players}: Goofspiel is for 2 to 4 players")
        if not 4 <= self.cards <= 13:
            raise OptionError(f"cards={self.cards}: each seat has 4 to 13 cards")


def shape(options):
    players, cards = options.players, options.cards
    state = record(
        "goofspiel",
        ("points", np.int16, players),
        ("hand", np.int8, (players, cards)),  # by seat and card: 1 if held, also while it is bid
        ("deck", np.int8, cards),  # by prize: 1 if nobody has seen it yet
        ("bid", np.int8, players),  # in this round, or NO_CARD
        ("prize", np.int8),  # on the table, or NO_CARD
        ("rounds", np.int8),  # that are over
    )
    view = layout(
        ("hand", (players, cards)),  # by seat, own first and then round the table
        ("deck", cards),
        ("prize", cards),  # one-hot
        ("bid", cards),  # one-hot: the own one in this round
        ("has_bid", players),  # by seat, own first
        ("points", players),  # by seat, own first, as shares of all prizes
    )
    return Shape(seats=players, num_actions=cards, num_outcomes=cards, state=state, view=view)


# The rules, in the order they happen --------------------------------------------------------------


@rule
def start(s, options):
    for seat in range(s.points.shape[0]):
        s.points[seat] = 0
        s.bid[seat] = NO_CARD
        for card in range(s.deck.shape[0]):
            s.hand[seat, card] = 1
    for card in range(s.deck.shape[0]):
        s.deck[card] = 1
    s.prize = NO_CARD
    s.rounds = 0


@rule
def turn(s):
    if s.rounds == s.deck.shape[0]:
        return OVER
    if s.prize == NO_CARD:
        return CHANCE
    seat = 0
    while s.bid[seat] != NO_CARD:
        seat += 1
    return seat


@rule
def odds(s, out):
    for card in range(s.deck.shape[0]):
        out[card] = int(s.deck[card]) / (s.deck.shape[0] - int(s.rounds))


@rule
def actions(s, out):
    seat, n = turn(s), 0
    for card in range(s.deck.shape[0]):
        if s.hand[seat, card]:
            out[n] = card
            n += 1
    return n


@rule
def play(s, action):
    if s.prize == NO_CARD:
        turn_up(s, action)
        return
    seat = turn(s)
    s.bid[seat] = action + 1
    if seat == s.bid.shape[0] - 1:
        for who in range(s.bid.shape[0]):
            s.hand[who, int(s.bid[who]) - 1] = 0
        award(s)
        if s.rounds == s.deck.shape[0] - 1:
            play_last_round(s)


@rule
def turn_up(s, card):
    s.deck[card] = 0
    s.prize = card + 1


@rule
def award(s):
    """The prize goes to the highest bid, if there is only one."""
    best, winner = 0, -1
    for seat in range(s.bid.shape[0]):
        if s.bid[seat] > best:
            best, winner = int(s.bid[seat]), seat
        elif s.bid[seat] == best:
            winner = -1
        s.bid[seat] = NO_CARD
    if winner >= 0:
        s.points[winner] += int(s.prize)
    s.prize = NO_CARD
    s.rounds += 1


@rule
def play_last_round(s):
    """One prize and one card each are left. The cards stay in sight, so that all bids are known."""
    for card in range(s.deck.shape[0]):
        if s.deck[card]:
            turn_up(s, card)
        for seat in range(s.bid.shape[0]):
            if s.hand[seat, card]:
                s.bid[seat] = card + 1
    award(s)


@rule
def score(s, out):
    """The winners share 1, the others share -1; if all have won, nobody has."""
    seats, best, winners = s.points.shape[0], 0, 0
    for seat in range(seats):
        best = max(best, int(s.points[seat]))
    for seat in range(seats):
        winners += 1 if s.points[seat] == best else 0
    for seat in range(seats):
        if winners == seats:
            out[seat] = 0
        else:
            out[seat] = 1 / winners if s.points[seat] == best else -1 / (seats - winners)


@rule
def margin(s, out):
    """Own points less the mean of the others', as a share of all prizes."""
    seats, cards, total = s.points.shape[0], s.deck.shape[0], 0
    for seat in range(seats):
        total += int(s.points[seat])
    for seat in range(seats):
        ahead = seats * int(s.points[seat]) - total
        out[seat] = 2 * ahead / ((seats - 1) * cards * (cards + 1))


# What a seat may see ------------------------------------------------------------------------------


@rule
def observe(s, seat, view):
    seats, cards = s.hand.shape[0], s.hand.shape[1]
    for k in range(seats):
        who = (seat + k) % seats
        view.has_bid[k] = 1 if s.bid[who] != NO_CARD else 0
        view.points[k] = 2 * int(s.points[who]) / (cards * (cards + 1))
        for card in range(cards):
            view.hand[k, card] = s.hand[who, card]
    for card in range(cards):
        view.deck[card] = s.deck[card]
        view.prize[card] = 1 if s.prize == card + 1 else 0
        view.bid[card] = 1 if s.bid[seat] == card + 1 else 0


@rule
def redeal(s, seat, rng):
    """Hidden is which of its cards another seat has bid in this round."""
    for who in range(s.bid.shape[0]):
        if who != seat and s.bid[who] != NO_CARD:
            skipped = below(rng, s.deck.shape[0] - int(s.rounds))
            card = 0
            while not s.hand[who, card] or skipped > 0:
                skipped -= int(s.hand[who, card])
                card += 1
            s.bid[who] = card + 1


@rule
def known(s, seat):
    hashed = mix(1, 16 * seat + int(s.bid[seat]))
    for who in range(s.hand.shape[0]):
        number = 2 * int(s.points[who]) + (1 if s.bid[who] != NO_CARD else 0)
        for card in range(s.hand.shape[1]):
            number = 2 * number + int(s.hand[who, card])
        hashed = mix(hashed, number)
    number = int(s.prize)
    for card in range(s.deck.shape[0]):
        number = 2 * number + int(s.deck[card])
    return mix(hashed, number) | np.uint64(1)  # never 0


# Players ------------------------------------------------------------------------------------------


@rule
def matching(s, seat, rng):
    """Bids the value of the prize or, without that card, the next higher one or the highest."""
    chosen = 0
    for card in range(s.deck.shape[0]):
        if s.hand[seat, card]:
            chosen = card
            if card + 1 >= s.prize:
                return chosen
    return chosen


# In words -----------------------------------------------------------------------------------------


def action_text(s, action):
    return f"prize {action + 1}" if turn(s) == CHANCE else f"bid {action + 1}"


def news(s, seat, move):
    """Prizes are public. Bids are shown when the last one is made."""
    who = turn(s)
    if who == CHANCE:
        return action_text(s, move)
    if who == len(s.bid) - 1:
        bids = [*s.bid[:who], move + 1]
        return "bids: " + ", ".join(f"seat {k} {bid}" for k, bid in enumerate(bids))
    return action_text(s, move) if who == seat else f"seat {who} has bid"


def seen(s, seat):
    lines = [f"prize {s.prize}" if s.prize else "no prize on the table"]
    lines.append(f"prizes to come: {cards_text(s.deck)}")
    for who in range(len(s.points)):
        name = "you" if who == seat else f"seat {who}"
        bid = f", bid {s.bid[who]}" if who == seat != ONLOOKER and s.bid[who] else ""
        lines.append(f"{name}: {s.points[who]} points, cards {cards_text(s.hand[who])}{bid}")
    return "\n".join(lines)


def cards_text(held):
    return " ".join(str(card + 1) for card in np.flatnonzero(held)) or "none"


def open_spiel(options):
    rules = "num_turns=-1,points_order=random,imp_info=False,returns_type=win_loss"
    sizes = f"players={options.players},num_cards={options.cards}"
    return f"turn_based_simultaneous_game(game=goofspiel({sizes},{rules}))"


GAME = Game(
    name="goofspiel",
    version=1,
    options=GoofspielOptions(),
    tried=({"players": 3, "cards": 5}, {"players": 4, "cards": 4}, {"cards": 13}),
    shape=shape,
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    margin=margin,
    observe=observe,
    redeal=redeal,
    known=known,
    action_text=action_text,
    news=news,
    seen=seen,
    onlookers=True,
    secret_moves=True,
    players={"matching": matching},
    open_spiel=open_spiel,
)

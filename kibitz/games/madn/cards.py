"""The rules of the games with cards (DOG)."""

from __future__ import annotations

import numpy as np

from ...chance import below
from ...game import room, rule
from .board import (
    DEAL,
    DRAW_STARTER,
    EXCHANGE,
    HOME,
    MOST_CARDS,
    NO_CARD,
    PINS,
    PLAY,
    SHOW_HANDS,
    START,
    controlled,
    on_ring,
    partner,
    ring_place,
    set_board,
)
from .moves import (
    NOWHERE,
    count_ply,
    foe_stands,
    forward,
    four_back,
    free_run,
    may_come_out,
    move_to,
)
from .options import DISTRIBUTIONS, DRAWN, KINDS, PER_MILLE, STEP_VALUES
from .seven import SEVEN, list_sevens, play_seven

JOKER, JACK, ACE, KING = 0, 1, 11, 13
OF_A_KIND, JOKERS = 8, 6
LEAST_CARDS = 2  # everybody gets 6, 5, 4, 3, 2 cards, then 6 again
BACK = STEP_VALUES + 1  # the bit of a set of steps that stands for four back

room_for_targets = room(np.int16, lambda game: PINS * (game.seats - 1))


# Dealing -----------------------------------------------------------------------------------------


@rule
def start(s, options):
    set_board(s, options)
    forward_steps = STEP_VALUES - int(s.hot_seven)
    s.plain_actions = forward_steps + int(s.back_four) + int(s.swaps) * int(s.ring)
    s.pin_actions = (1 + int(s.joker)) * int(s.plain_actions) + 2 + int(s.joker)
    s.hidden_per_mille = options.reveal
    for player in range(s.pins.shape[0]):
        s.shown[player] = 1 if options.reveal == 0 else 0
        s.held[player] = 0
        for kind in range(KINDS):
            s.hands[player, kind] = 0
    shuffle(s)
    s.shows_drawn = 0
    s.last = NO_CARD
    s.round_starter = s.mover
    s.dealt_size = 0
    s.to_deal = 0
    begin_round(s)
    if 0 < options.reveal < PER_MILLE:
        s.phase = SHOW_HANDS
    if options.starter == DRAWN:
        s.phase = DRAW_STARTER


@rule
def shuffle(s):
    """Put all cards into the deck; nobody holds any now."""
    s.in_deck = 0
    for kind in range(KINDS):
        s.deck[kind] = OF_A_KIND
        s.played[kind] = 0
        for player in range(s.pins.shape[0]):
            s.thrown[player, kind] = 0
    s.deck[JOKER] = JOKERS if s.joker else 0
    s.deck[JACK] = OF_A_KIND if s.swaps else 0
    for kind in range(KINDS):
        s.in_deck += s.deck[kind]


@rule
def begin_round(s):
    """The next deal: its size, its starter, and a shuffle if too few cards are left."""
    players = s.pins.shape[0]
    if s.dealt_size > 0:
        s.round_starter = (int(s.round_starter) + 1) % players
    s.dealt_size = MOST_CARDS if s.dealt_size <= LEAST_CARDS else s.dealt_size - 1
    if s.in_deck < int(s.dealt_size) * players:
        shuffle(s)
    for player in range(players):
        s.given[player] = NO_CARD
        for i in range(MOST_CARDS):
            s.laid[player, i] = NO_CARD
    s.to_deal = int(s.dealt_size) * players
    s.mover = s.round_starter
    s.phase = DEAL


@rule
def receiver(s):
    """Who gets the next card: everybody all of theirs, from the round's starter on."""
    players, size = s.pins.shape[0], int(s.dealt_size)
    return (int(s.round_starter) + (size * players - int(s.to_deal)) // size) % players


@rule
def odds(s, out):
    players = s.pins.shape[0]
    for outcome in range(KINDS):
        if s.phase == DRAW_STARTER:
            out[outcome] = 1 / players if outcome < players else 0.0
        elif s.phase == DEAL:
            out[outcome] = int(s.deck[outcome]) / int(s.in_deck)
        else:
            out[outcome] = 0.0
    if s.phase == SHOW_HANDS:
        out[0] = int(s.hidden_per_mille) / PER_MILLE
        out[1] = 1 - int(s.hidden_per_mille) / PER_MILLE


@rule
def roll(s, rng):
    if s.phase == DRAW_STARTER:
        outcome = below(rng, s.pins.shape[0])
    elif s.phase == SHOW_HANDS:
        outcome = 0 if below(rng, PER_MILLE) < s.hidden_per_mille else 1
    else:
        outcome = drawn(s.deck, int(s.in_deck), rng)
    settle(s, outcome)
    return outcome


@rule
def drawn(cards, count, rng):
    """A kind, every one of `count` cards equally likely."""
    kind, left = 0, below(rng, count)
    while left >= cards[kind]:
        left -= int(cards[kind])
        kind += 1
    return kind


@rule
def settle(s, outcome):
    """What chance decides: who begins, whether a hand is shown, a card."""
    players = s.pins.shape[0]
    if s.phase == DRAW_STARTER:
        s.mover = s.round_starter = outcome
        s.phase = SHOW_HANDS if 0 < s.hidden_per_mille < PER_MILLE else DEAL
    elif s.phase == SHOW_HANDS:
        s.shown[s.shows_drawn] = outcome
        s.shows_drawn += 1
        s.phase = SHOW_HANDS if s.shows_drawn < players else DEAL
    else:
        player = receiver(s)
        s.deck[outcome] -= 1
        s.in_deck -= 1
        s.hands[player, outcome] += 1
        s.held[player] += 1
        s.to_deal -= 1
        if s.to_deal == 0:
            s.phase = EXCHANGE if s.teams else PLAY


# Actions -----------------------------------------------------------------------------------------


@rule
def kinds_held(s, player):
    kinds = 0
    for kind in range(KINDS):
        if s.hands[player, kind] > 0:
            kinds |= 1 << kind
    return kinds


@rule
def steps_by(s, kinds):
    """The steps that cards give, a bit per number of steps and BACK; jokers and sevens aside."""
    steps = kinds & ~3
    if kinds >> ACE & 1:
        steps |= 1 << 1
    if s.back_four and kinds >> 4 & 1:
        steps |= 1 << BACK
    return steps & ~(1 << SEVEN) if s.hot_seven else steps


@rule
def possible_steps(s, player, place, wanted, only_attacks):
    """Those of the wanted steps that a pin in play can go."""
    steps, run = 0, free_run(s, player, place) if on_ring(s, place) else 0
    for step in range(1, BACK + 1):
        if wanted >> step & 1:
            if step == BACK:
                to = four_back(s, player, place)
            else:
                to = forward(s, player, place, step, run)
            if to != NOWHERE and (not only_attacks or foe_stands(s, player, to)):
                steps |= 1 << step
    return steps


@rule
def step_number(s, step):
    """The place of a step among the actions of a pin."""
    if step == BACK:
        return STEP_VALUES - int(s.hot_seven)
    return step - 2 if s.hot_seven and step > SEVEN else step - 1


@rule
def find_targets(s, player, out):
    """The ring cells of pins to swap with, ascending, as the player to move counts them from 0."""
    n = 0
    for owner in range(s.pins.shape[0]):
        for pin in range(PINS if owner != player else 0):
            place = int(s.pins[owner, pin])
            if on_ring(s, place) and not (s.start_block and place == START):
                cell = ring_place(s, owner, place, int(s.mover)) - 1
                i = n
                while i > 0 and out[i - 1] > cell:
                    out[i] = out[i - 1]
                    i -= 1
                out[i] = cell
                n += 1
    return n


@rule
def list_pin(s, first, place, steps, targets, swaps, out, n):
    """Write what a pin in play can do with a card, or with a joker, from its first action on."""
    for step in range(1, BACK + 1):
        if steps >> step & 1:
            out[n] = first + step_number(s, step)
            n += 1
    if swaps and on_ring(s, place) and not (s.start_block and place == START):
        before = first + STEP_VALUES - int(s.hot_seven) + int(s.back_four)
        for i in range(swaps):
            out[n] = before + int(targets[i])
            n += 1
    return n


@rule
def list_plays(s, only_attacks, only_first, out):
    """Write what can be played; only what sends a foe home, if asked; returns how many."""
    mover = int(s.mover)
    player, kinds, n, n_targets = controlled(s, mover), kinds_held(s, mover), 0, 0
    targets, joker = room_for_targets(s), kinds & 1
    if s.swaps and kinds & 3 and not only_attacks:
        n_targets = find_targets(s, player, targets)
    every = steps_by(s, (1 << KINDS) - 1)
    by_card, by_joker = steps_by(s, kinds), every if joker else 0
    comes_out = may_come_out(s, player) and (not only_attacks or foe_stands(s, player, START))
    for pin in range(PINS):
        place, first = int(s.pins[player, pin]), pin * int(s.pin_actions)
        if place == HOME:
            if comes_out:
                n = list_starts(s, first, kinds, out, n)
                comes_out = not only_first
            continue
        steps = possible_steps(s, player, place, by_card | by_joker, only_attacks)
        swaps = n_targets if kinds >> JACK & 1 else 0
        n = list_pin(s, first, place, steps & by_card, targets, swaps, out, n)
        if joker:
            first += int(s.plain_actions)
            n = list_pin(s, first, place, steps & by_joker, targets, n_targets, out, n)
    return list_all_sevens(s, player, kinds, only_attacks, out, n)


@rule
def list_starts(s, first, kinds, out, n):
    """Write the ways to bring a pin out: with an ace, a king, a joker."""
    first += (1 + int(s.joker)) * int(s.plain_actions)
    for i in range(2 + int(s.joker)):
        if kinds >> (ACE if i == 0 else KING if i == 1 else JOKER) & 1:
            out[n] = first + i
            n += 1
    return n


@rule
def list_all_sevens(s, player, kinds, only_attacks, out, n):
    """Write the distributions of a seven and, once more, of a joker that acts as one."""
    first = PINS * int(s.pin_actions)
    has_seven, joker = kinds >> SEVEN & 1, kinds & 1
    if not s.hot_seven or not (has_seven or joker):
        return n
    before = n
    n = list_sevens(s, player, first if has_seven else first + DISTRIBUTIONS, only_attacks, out, n)
    if has_seven and joker:
        for i in range(before, n):
            out[n + i - before] = out[i] + DISTRIBUTIONS
        n += n - before
    return n


@rule
def exchange_from(s):
    """The first action of the exchange; passing follows the last one, or stands in its place."""
    return PINS * int(s.pin_actions) + (1 + int(s.joker)) * DISTRIBUTIONS * int(s.hot_seven)


@rule
def passing(s):
    return exchange_from(s) + (KINDS if s.teams else 0)


@rule
def list_actions(s, only_first, out):
    n, mover = 0, int(s.mover)
    if s.phase == EXCHANGE:
        for kind in range(KINDS):
            if s.hands[mover, kind] > 0:
                out[n] = exchange_from(s) + kind
                n += 1
        return n
    if s.forced_attack:
        n = list_plays(s, 1, only_first, out)
    if n == 0:
        n = list_plays(s, 0, only_first, out)
    if n == 0:
        out[0] = passing(s)
        n = 1
    return n


@rule
def actions(s, out):
    return list_actions(s, 0, out)


@rule
def candidates(s, out):
    """The actions worth a search: of several pins at home only the first comes out."""
    return list_actions(s, 1, out)


# A ply -------------------------------------------------------------------------------------------


@rule
def card_of(s, action):
    """The kind of card that an action of the play phase uses up."""
    if action >= PINS * int(s.pin_actions):
        return SEVEN if action < PINS * int(s.pin_actions) + DISTRIBUTIONS else JOKER
    way = action % int(s.pin_actions)
    starts = way - (1 + int(s.joker)) * int(s.plain_actions)
    if starts >= 0:
        return ACE if starts == 0 else KING if starts == 1 else JOKER
    if way >= s.plain_actions:
        return JOKER
    forward_steps = STEP_VALUES - int(s.hot_seven)
    if way >= forward_steps:
        return 4 if s.back_four and way == forward_steps else JACK
    step = step_of(s, way)
    return ACE if step == 1 else step


@rule
def step_of(s, number):
    """The inverse of `step_number`, forwards."""
    return number + 2 if s.hot_seven and number + 1 >= SEVEN else number + 1


@rule
def play(s, action):
    if s.phase <= DEAL:
        settle(s, action)
    elif s.phase == EXCHANGE:
        give(s, action - exchange_from(s))
    elif action == passing(s):
        mover = int(s.mover)
        for kind in range(KINDS):
            s.thrown[mover, kind] += s.hands[mover, kind]
            s.hands[mover, kind] = 0
        s.held[mover] = 0
        s.last = NO_CARD
        if not count_ply(s, controlled(s, mover)):
            pass_on(s)
    else:
        player = controlled(s, int(s.mover))
        lay(s, card_of(s, action))
        carry_out(s, player, action)
        if not count_ply(s, player):
            pass_on(s)


@rule
def lay(s, kind):
    """Put a card on the table."""
    mover = int(s.mover)
    s.hands[mover, kind] -= 1
    s.played[kind] += 1
    s.last = kind
    s.laid[mover, int(s.dealt_size) - int(s.held[mover])] = kind
    s.held[mover] -= 1


@rule
def carry_out(s, player, action):
    """Move the pins of a player as an action says."""
    seven = action - PINS * int(s.pin_actions)
    if seven >= 0:
        play_seven(s, player, seven % DISTRIBUTIONS)
        return
    pin, way = action // int(s.pin_actions), action % int(s.pin_actions)
    place = int(s.pins[player, pin])
    if place == HOME:
        move_to(s, player, pin, START)
        return
    way = way % int(s.plain_actions)
    forward_steps = STEP_VALUES - int(s.hot_seven)
    if way < forward_steps:
        run = free_run(s, player, place) if on_ring(s, place) else 0
        move_to(s, player, pin, forward(s, player, place, step_of(s, way), run))
    elif s.back_four and way == forward_steps:
        move_to(s, player, pin, four_back(s, player, place))
    else:
        swap(s, player, pin, way - forward_steps - int(s.back_four) + 1)


@rule
def swap(s, player, pin, target):
    """Exchange a pin with another player's. target: its place, as the player to move counts."""
    mine = int(s.pins[player, pin])
    for owner in range(s.pins.shape[0]):
        for k in range(PINS if owner != player else 0):
            place = int(s.pins[owner, k])
            if on_ring(s, place) and ring_place(s, owner, place, int(s.mover)) == target:
                s.pins[owner, k] = ring_place(s, player, mine, owner)
                s.pins[player, pin] = ring_place(s, owner, place, player)
                return


@rule
def give(s, kind):
    """Put a card aside for the partner. When everybody has, the cards change hands."""
    mover, players = int(s.mover), s.pins.shape[0]
    s.hands[mover, kind] -= 1
    s.held[mover] -= 1
    s.given[mover] = kind
    s.last = NO_CARD
    after = (mover + 1) % players
    if after == s.round_starter:
        for player in range(players):
            s.hands[partner(s, player), s.given[player]] += 1
            s.held[player] += 1
        s.phase = PLAY
    if not count_ply(s, mover):
        s.mover = after


@rule
def pass_on(s):
    """The next player with cards is to move; without one, cards are dealt."""
    players = s.pins.shape[0]
    for k in range(1, players + 1):
        player = (int(s.mover) + k) % players
        if s.held[player] > 0:
            s.mover = player
            return
    begin_round(s)

"""Which positions are possible, and what is wrong with the others."""

from __future__ import annotations

from ...game import rule
from .board import (
    DEAL,
    DIE,
    DRAW_STARTER,
    ENDED,
    EXCHANGE,
    HOME,
    MOST_CARDS,
    NO_CARD,
    NOBODY,
    PINS,
    PLAY,
    SHOW_HANDS,
    STOCK,
    STOCK_OF_EACH,
    THROW,
    on_ring,
    partner,
    ring_place,
    side,
)
from .cards import LEAST_CARDS
from .knowledge import cards_laid, delivered
from .moves import has_won
from .options import KINDS, PER_MILLE
from .rules import FACES

FLAWS = (
    "the board and the rules are those of the options",
    "every pin is at home, on the ring or in its own lane, and no two share a cell",
    "a player is to move, and fewer plies have been played than the options allow",
    "the game ends when a team has all its pins in the lanes, or with the last ply",
    "the die shows 1 to 6 when a player is to move, and has not been thrown before",
    "a stock holds up to four of each step, and is never empty",
    "every card of the deck is in one place: the deck, a hand, on the table or thrown away",
    "hands, cards laid and cards given are those of the round",
)
OTHER_RULES, PINS_MISPLACED, NO_TURN, NO_END, WRONG_DIE, WRONG_STOCK, NO_DECK, NO_ROUND = range(
    1, 9
)


# What all games have -----------------------------------------------------------------------------


@rule
def board_flaw(s, fresh):
    if rules_differ(s, fresh):
        return OTHER_RULES
    if pins_are_misplaced(s):
        return PINS_MISPLACED
    if not (0 <= s.mover < s.pins.shape[0] and DRAW_STARTER <= s.phase <= ENDED):
        return NO_TURN
    if not 0 <= s.plies <= s.max_plies or (s.phase <= SHOW_HANDS and s.plies > 0):
        return NO_TURN
    if s.phase == DRAW_STARTER and fresh.phase != DRAW_STARTER:
        return NO_TURN
    return NO_END if end_is_wrong(s) else 0


@rule
def rules_differ(s, fresh):
    for player in range(s.pins.shape[0]):
        if s.first[player] != fresh.first[player]:
            return True
    if s.ring != fresh.ring or s.gate != fresh.gate or s.max_plies != fresh.max_plies:
        return True
    if s.mode != fresh.mode or s.joker != fresh.joker or s.hot_seven != fresh.hot_seven:
        return True
    if s.swaps != fresh.swaps or s.back_four != fresh.back_four or s.teams != fresh.teams:
        return True
    if s.start_block != fresh.start_block or s.jumping != fresh.jumping:
        return True
    if s.again_on_six != fresh.again_on_six or s.one_starts != fresh.one_starts:
        return True
    if s.rethrow != fresh.rethrow or s.forced_start != fresh.forced_start:
        return True
    if s.forced_attack != fresh.forced_attack or s.circular != fresh.circular:
        return True
    return s.friendly_fire != fresh.friendly_fire


@rule
def pins_are_misplaced(s):
    players = s.pins.shape[0]
    for player in range(players):
        for pin in range(PINS):
            place = int(s.pins[player, pin])
            if not HOME <= place <= int(s.ring) + PINS:
                return True
            for k in range(pin):
                if place != HOME and s.pins[player, k] == place:
                    return True
            for other in range(player if on_ring(s, place) else 0):
                there = ring_place(s, player, place, other)
                for k in range(PINS):
                    if s.pins[other, k] == there:
                        return True
    return False


@rule
def end_is_wrong(s):
    """Whether the game should have ended, or should not have, or somebody else has won."""
    winner = NOBODY
    for player in range(s.pins.shape[0]):
        if has_won(s, player):
            if winner != NOBODY and winner != side(s, player):
                return True
            winner = side(s, player)
    over = winner != NOBODY or s.plies >= s.max_plies
    return s.winner != winner or (s.phase == ENDED) != over


# Die and stock -----------------------------------------------------------------------------------


@rule
def step_flaw(s, fresh):
    wrong = board_flaw(s, fresh)
    if wrong:
        return wrong
    if s.mode == DIE and s.phase not in (DRAW_STARTER, THROW, PLAY, ENDED):
        return NO_TURN
    if s.mode == STOCK and s.phase not in (DRAW_STARTER, PLAY, ENDED):
        return NO_TURN
    thrown = s.mode == DIE and s.phase == PLAY
    if not (1 <= s.die <= FACES if thrown else s.die == 0):
        return WRONG_DIE
    for player in range(s.stock.shape[0]):
        steps = 0
        for value in range(FACES):
            if not 0 <= s.stock[player, value] <= STOCK_OF_EACH:
                return WRONG_STOCK
            steps += int(s.stock[player, value])
        if (steps > 0) != (s.mode == STOCK):
            return WRONG_STOCK
    return 0


# Cards -------------------------------------------------------------------------------------------


@rule
def card_flaw(s, fresh):
    wrong = board_flaw(s, fresh)
    if wrong:
        return wrong
    if s.plain_actions != fresh.plain_actions or s.pin_actions != fresh.pin_actions:
        return OTHER_RULES
    if s.phase == THROW:
        return OTHER_RULES
    if kinds_are_wrong(s) or shows_are_wrong(s):
        return NO_ROUND
    if deck_is_wrong(s, fresh):
        return NO_DECK
    return NO_ROUND if round_is_wrong(s) else 0


@rule
def kinds_are_wrong(s):
    """Whether a number that stands for a kind, or for a size, is out of range."""
    for player in range(s.pins.shape[0]):
        if not NO_CARD <= s.given[player] < KINDS:
            return True
        for i in range(MOST_CARDS):
            kind = s.laid[player, i]
            if not NO_CARD <= kind < KINDS or (kind != NO_CARD and i >= cards_laid(s, player)):
                return True
    return not (LEAST_CARDS <= s.dealt_size <= MOST_CARDS and NO_CARD <= s.last < KINDS)


@rule
def shows_are_wrong(s):
    """Whether hands are shown that were not drawn to be, or the other way round.

    By the probability that the position itself has: training raises it from game to game, and
    games that began before are positions of the same rules.
    """
    players, drawn, hidden = s.pins.shape[0], 0, int(s.hidden_per_mille)
    if not 0 <= hidden <= PER_MILLE:
        return True
    if 0 < hidden < PER_MILLE:
        drawn = players if s.phase > SHOW_HANDS else int(s.shows_drawn)
        if s.phase == DRAW_STARTER:
            drawn = 0
        if not 0 <= drawn < players + (1 if s.phase > SHOW_HANDS else 0):
            return True
    elif s.phase == SHOW_HANDS:
        return True
    if s.shows_drawn != drawn:
        return True
    for player in range(players):
        if not 0 <= s.shown[player] <= 1:
            return True
        if player >= drawn and s.shown[player] != (1 if hidden == 0 else 0):
            return True
    return False


@rule
def deck_is_wrong(s, fresh):
    players, in_deck = s.pins.shape[0], 0
    for kind in range(KINDS):
        if s.deck[kind] < 0 or s.played[kind] < 0:
            return True
        cards = int(s.deck[kind]) + int(s.played[kind])
        in_deck += int(s.deck[kind])
        for player in range(players):
            if s.hands[player, kind] < 0 or s.thrown[player, kind] < 0:
                return True
            cards += int(s.hands[player, kind]) + int(s.thrown[player, kind])
            cards += 1 if s.given[player] == kind and not delivered(s) else 0
        if cards != fresh.deck[kind]:  # nothing has been dealt there
            return True
    for player in range(players):
        held = 0
        for kind in range(KINDS):
            held += int(s.hands[player, kind])
        if held != s.held[player]:
            return True
    return s.in_deck != in_deck


@rule
def round_is_wrong(s):
    players, size = s.pins.shape[0], int(s.dealt_size)
    if not (0 <= s.round_starter < players and 0 <= s.to_deal <= size * players):
        return True
    if s.phase <= DEAL and s.mover != s.round_starter:
        return True
    if (s.to_deal > 0) != (s.phase <= DEAL) or s.to_deal > s.in_deck:
        return True
    if s.phase <= SHOW_HANDS and s.to_deal < size * players:
        return True
    if s.phase == EXCHANGE and not s.teams:
        return True
    if s.phase == PLAY and (s.held[s.mover] == 0 or (s.teams != 0) != delivered(s)):
        return True
    return laid_is_wrong(s) or hands_are_wrong(s)


@rule
def laid_is_wrong(s):
    """Whether more cards were laid in this round than have been played."""
    players = s.pins.shape[0]
    for kind in range(KINDS):
        laid = 0
        for player in range(players):
            for i in range(MOST_CARDS):
                laid += 1 if s.laid[player, i] == kind else 0
        if laid > s.played[kind]:
            return True
    return False


@rule
def hands_are_wrong(s):
    """Whether a player has other cards than the round has brought."""
    players, size = s.pins.shape[0], int(s.dealt_size)
    dealt = size * players - int(s.to_deal)
    for player in range(players):
        order = (player - int(s.round_starter) + players) % players
        held, laid = int(s.held[player]), cards_laid(s, player)
        if s.phase <= DEAL:
            due = min(max(dealt - size * order, 0), size)
        else:
            due = size
            if s.phase == EXCHANGE:
                before = (int(s.mover) - int(s.round_starter) + players) % players
                if (s.given[player] != NO_CARD) != (order < before):
                    return True
            if s.given[player] != NO_CARD and not delivered(s):
                due -= 1
        if s.phase <= EXCHANGE and (held != due or laid > 0):
            return True
        if s.phase <= DEAL and s.given[player] != NO_CARD:
            return True
        if s.phase >= PLAY and hand_is_wrong(s, player, held, laid, due):
            return True
    return False


@rule
def hand_is_wrong(s, player, held, laid, due):
    """In play a hand shrinks by what is laid; or it was thrown away. A gift is in one of them."""
    away = 0
    for kind in range(KINDS):
        away += int(s.thrown[player, kind])
    if held + laid != due and (held > 0 or laid + away < due or laid > due):
        return True
    if not s.teams or not delivered(s):
        return not s.teams and s.given[player] != NO_CARD
    kind = s.given[partner(s, player)]
    for i in range(MOST_CARDS):
        if s.laid[player, i] == kind:
            return False
    return s.hands[player, kind] == 0 and (held + laid == due or s.thrown[player, kind] == 0)

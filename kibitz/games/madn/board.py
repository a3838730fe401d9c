"""The board of the race games: places, and the record of a position.

A pin is at a *place*, counted by its owner: HOME, then 1 on the own start field up to the length of
the ring, then the four cells of the own goal lane, outermost first. So most rules add and compare.
On paper cells have numbers that all players share; `cell_of` and `place_of` translate.
"""

from __future__ import annotations

import numpy as np

from ...game import record, rule
from ...records import Field, RecordType
from .options import DRAWN, KINDS, LANE, MadnOptions

HOME, START = 0, 1  # places
PINS = LANE
NOBODY = -1
DIE, STOCK, CARDS = range(3)
# What happens next. Up to DEAL it is chance that decides.
DRAW_STARTER, SHOW_HANDS, THROW, DEAL, EXCHANGE, PLAY, ENDED = range(7)
STOCK_OF_EACH = 4
MOST_CARDS = 6  # in a hand
NO_CARD = -1

FLAGS = {  # by their names in the record: the options
    "joker": "joker_enabled",
    "hot_seven": "hot_7_enabled",
    "swaps": "swap_enabled",
    "back_four": "neg_4_enabled",
    "start_block": "enable_start_block",
    "teams": "enable_teams",
    "jumping": "enable_jumping_in_goal",
    "again_on_six": "enable_extra_move_on_6",
    "one_starts": "enable_start_on_1_and_6",
    "rethrow": "enable_rethrow",
    "forced_start": "enable_forced_start",
    "forced_attack": "enable_forced_attack",
    "friendly_fire": "enable_friendly_fire",
    "circular": "enable_circular_board",
}


def state(options: MadnOptions) -> RecordType:
    """One record for every number of players, with cards or without."""
    players = options.num_players
    shared: list[Field] = [
        ("plies", np.int32),
        ("max_plies", np.int32),
        ("pins", np.int16, (players, PINS)),  # by player and pin: a place
        ("first", np.int16, players),  # by player: the cell of its start field
        ("ring", np.int16),  # cells of the ring
        ("gate", np.int16),  # a pin at this place would enter its lane with the next step
        ("mover", np.int8),  # the player to move, at the end the last one
        ("phase", np.int8),
        ("winner", np.int8),  # the team that has won, or NOBODY
        ("mode", np.int8),  # DIE, STOCK or CARDS
        *((flag, np.int8) for flag in FLAGS),
    ]
    if not options.enable_cards:
        die: list[Field] = [
            ("die", np.int8),  # 1 to 6, or 0 before it is thrown
            ("stock", np.int8, (players, 6)),  # by player: how many of the steps 1 to 6 are left
        ]
        return record("madn", *shared, *die)
    cards: list[Field] = [
        ("plain_actions", np.int16),  # see the options of these names
        ("pin_actions", np.int16),
        ("hidden_per_mille", np.int16),
        ("hands", np.int8, (players, KINDS)),  # by player and kind: cards
        ("thrown", np.int8, (players, KINDS)),  # thrown away face down since the last shuffle
        ("laid", np.int8, (players, MOST_CARDS)),  # kinds played in this round, then NO_CARD
        ("deck", np.int8, KINDS),
        ("played", np.int8, KINDS),  # openly since the last shuffle
        ("given", np.int8, players),  # the kind given to the partner in this round, or NO_CARD
        ("last", np.int8),  # the kind played by the last action, or NO_CARD
        ("held", np.int8, players),  # cards in each hand
        ("in_deck", np.int8),
        ("shown", np.int8, players),  # by player: whether everybody sees the hand
        ("shows_drawn", np.int8),  # hands of which it has been drawn
        ("round_starter", np.int8),
        ("dealt_size", np.int8),  # cards that everybody gets in this round
        ("to_deal", np.int8),  # cards of this round not yet dealt
    ]
    return record("madn_cards", *shared, *cards)


@rule
def set_board(s, options):
    """Everything that all games have in common, before anything happened."""
    players, ring = s.pins.shape[0], options.distance * options.sectors
    s.plies, s.max_plies = 0, options.max_plies
    for player in range(players):
        s.first[player] = options.distance * options.layout[player]
        for pin in range(PINS):
            s.pins[player, pin] = START if options.enable_initial_free_pin and pin == 0 else HOME
    s.ring, s.gate = ring, ring + options.must_traverse_start
    s.mover = 0 if options.starter == DRAWN else options.starter
    s.winner = NOBODY
    s.mode = CARDS if options.enable_cards else DIE if options.enable_dice else STOCK
    s.joker, s.hot_seven = options.joker_enabled, options.hot_7_enabled
    s.swaps, s.back_four = options.swap_enabled, options.neg_4_enabled
    s.start_block, s.teams = options.enable_start_block, options.enable_teams
    s.jumping = options.enable_jumping_in_goal
    s.again_on_six, s.one_starts = options.enable_extra_move_on_6, options.enable_start_on_1_and_6
    s.rethrow, s.forced_start = options.enable_rethrow, options.enable_forced_start
    s.forced_attack, s.friendly_fire = options.enable_forced_attack, options.enable_friendly_fire
    s.circular = options.enable_circular_board


@rule
def ring_place(s, owner, place, other):
    """The ring cell that `owner` counts as `place`, as `other` counts it."""
    ring, there = int(s.ring), place + int(s.first[owner]) - int(s.first[other])
    if there < START:
        return there + ring
    return there - ring if there > ring else there


@rule
def on_ring(s, place):
    return START <= place <= s.ring


@rule
def partner(s, player):
    """The partner, or the player itself if there are no teams."""
    players = s.pins.shape[0]
    return (player + players // 2) % players if s.teams else player


@rule
def side(s, player):
    """The team of a player, or the player itself."""
    return player % (s.pins.shape[0] // 2) if s.teams else player


@rule
def all_in_lane(s, player):
    for pin in range(PINS):
        if s.pins[player, pin] <= s.ring:
            return False
    return True


@rule
def controlled(s, player):
    """Whose pins a player moves: its own, or the partner's once its own are all in the lane."""
    return partner(s, player) if s.teams and all_in_lane(s, player) else player


@rule
def stands(s, player, place):
    """Whether a pin of the player is at a place, as the player counts it."""
    for pin in range(PINS):
        if s.pins[player, pin] == place:
            return True
    return False


@rule
def cell_of(s, player, place):
    """The number of a place that all players share: -1 is home, lanes follow the ring."""
    ring = int(s.ring)
    if place == HOME:
        return -1
    if place > ring:
        return LANE * player + place - 1
    return (int(s.first[player]) + place - 1) % ring


def place_of(s, player, cell):
    """The inverse of `cell_of`; None if no pin of the player can be there."""
    ring, lane = int(s.ring), int(s.ring) + LANE * player
    if cell == -1:
        return HOME
    if 0 <= cell < ring:
        return (cell - int(s.first[player])) % ring + 1
    return cell - LANE * player + 1 if lane <= cell < lane + LANE else None

"""Liar's Dice in words, and positions from outside: from texts, hands and vectors."""

from __future__ import annotations

import re

import numpy as np

from ...game import CHANCE, ONLOOKER, OVER, GameError, NotationError, squeezed
from .options import NO_BID
from .rules import biddable, play, turn


def _dice_text(s, seat, join=","):
    return join.join(str(f + 1) for f, n in enumerate(s.hand[seat]) for _ in range(n)) or "-"


def _bid_text(s, bid):
    sides = s.hand.shape[1]
    return "liar" if bid == s.liar else f"{int(bid) // sides + 1}x{int(bid) % sides + 1}"


def history(s):
    """The bids so far, in order, and the call."""
    bids = [b for b in range(int(s.liar)) if int(s.bids) >> b & 1]
    return bids + [int(s.liar)] * int(s.called)


def text(s):
    hands = f"{_dice_text(s, 0)} / {_dice_text(s, 1)}"
    said = ", ".join(_bid_text(s, a) for a in history(s))
    return f"{hands} : {said}" if said else hands


def parse(s, notation):
    dice, _, said = squeezed(notation).partition(":")
    if not re.fullmatch(r"(-|\d+(,\d+)*)/(-|\d+(,\d+)*)", dice):
        raise NotationError(f"{notation!r} is not like '2,3 / 1,4 : 1x3, 2x4, liar'")
    hands = [[int(f) for f in part.split(",") if f != "-"] for part in dice.split("/")]
    for seat, hand in enumerate(hands):
        check_hand(s, seat, hand)
        if len(hand) > s.dice[seat]:
            raise NotationError(f"{notation!r}: seat {seat} has only {s.dice[seat]} dice")
    unfinished = len(hands[0]) + len(hands[1]) < s.dice[0] + s.dice[1]
    if unfinished and (said or (hands[1] and len(hands[0]) < s.dice[0])):
        raise NotationError(f"{notation!r}: seat 0 rolls first, then seat 1, then come the bids")
    for face in (*hands[0], *hands[1]):
        play(s, face - 1)
    for word in said.split(",") if said else ():
        play(s, parse_action(s, word))


def seen(s, seat):
    lines = [] if seat == ONLOOKER else [f"Your dice: {_dice_text(s, seat, ' ')}"]
    others = {"seat 0": 0, "seat 1": 1} if seat == ONLOOKER else {"other seat": 1 - seat}
    for name, other in others.items():
        owner = name.capitalize() if seat == ONLOOKER else f"The {name}"
        if turn(s) == OVER:
            lines.append(f"{owner.removesuffix(' seat')} dice: {_dice_text(s, other, ' ')}")
        else:
            lines.append(f"{owner} has {s.dice[other]} dice")
    speakers = {0: ("you", "they"), 1: ("they", "you")}.get(seat, ("seat 0", "seat 1"))
    said = [f"{speakers[k % 2]} {_bid_text(s, a)}" for k, a in enumerate(history(s))]
    lines.append(f"Said so far: {', '.join(said) or 'nothing'}")
    return "\n".join(lines)


def action_text(s, action):
    return f"rolls {action + 1}" if turn(s) == CHANCE else _bid_text(s, action)


def news(s, seat, move):
    """Everybody hears a bid; only the seat that rolls a die sees it."""
    if turn(s) == CHANCE and seat != (0 if s.rolled < s.dice[0] else 1):
        return ""
    return action_text(s, move)


def parse_action(s, typed):
    clean = typed.strip().lower()
    if turn(s) == CHANCE:
        if die := re.fullmatch(r"(?:rolls)?\s*(\d+)", clean):
            check_hand(s, 0 if s.rolled < s.dice[0] else 1, [int(die[1])])
            return int(die[1]) - 1
        raise NotationError(f"{typed!r} is not a die such as 'rolls 4'")
    if squeezed(clean) in ("liar", "lie", "call"):
        action = int(s.liar)
    elif bid := re.fullmatch(r"(\d+)\s*[x\s]\s*(\d+)", clean):
        count, face, sides = int(bid[1]), int(bid[2]), s.hand.shape[1]
        if not (1 <= face <= sides and 1 <= count <= s.liar // sides):
            raise NotationError(f"{typed!r}: bid 1 to {s.liar // sides} dice of face 1 to {sides}")
        action = (count - 1) * sides + face - 1
    else:
        raise NotationError(f"{typed!r} is neither a bid such as 3x6 or '3 6' nor 'liar'")
    check_action(s, action)
    return action


def check_hand(s, seat, hand):
    for face in hand:
        if not isinstance(face, (int, np.integer)) or not 1 <= face <= s.hand.shape[1]:
            raise GameError(f"seat {seat}: a die of {s.hand.shape[1]} sides cannot show {face!r}")


def check_action(s, action):
    """Refuse an action that is not legal, and say why."""
    if not isinstance(action, (int, np.integer)) or not 0 <= action <= s.liar:
        raise GameError(f"action {action!r}: actions are the numbers 0 to {s.liar}")
    if s.called:
        raise GameError(f"action {action}: the call has been made, the round is over")
    if action == s.liar and s.last == NO_BID and not s.opening_call:
        raise GameError(f"action {action}: there is no bid to call yet")
    if action != s.liar and action <= s.last:
        raise GameError(
            f"action {action} ({_bid_text(s, action)}) is not above {_bid_text(s, s.last)}"
        )
    if action != s.liar and not biddable(s, int(action)):
        raise GameError(f"action {action} ({_bid_text(s, action)}): ones cannot be bid on here")


# Positions and encodings from outside ---------------------------------------------------------


def position(game, hands, history=()):
    """The state with these hands (faces from 1, in any order) after these actions.

    >>> from kibitz.games import load, liars_dice
    >>> s = liars_dice.position(load("liars_dice"), [(2, 2, 3, 5, 6), (1, 3, 4, 4, 6)], [17, 22])
    >>> liars_dice.text(s)
    '2,2,3,5,6 / 1,3,4,4,6 : 3x6, 4x5'
    """
    s = game.fresh()
    if len(hands) != 2:
        raise GameError(f"liars_dice has two hands, not {len(hands)}")
    for seat, hand in enumerate(hands):
        check_hand(s, seat, hand)
        if len(hand) != s.dice[seat]:
            raise GameError(
                f"seat {seat} has {s.dice[seat]} dice, not the {len(hand)} of {tuple(hand)}"
            )
    for face in (*hands[0], *hands[1]):
        play(s, int(face) - 1)
    for action in history:
        check_action(s, action)
        play(s, int(action))
    return s


def decode_private(game, priv):
    """The hand and the seat in a private vector: the inverse of `observe`."""
    sides, slots = game.options.sides, max(game.options.dice)
    ones = _zeros_and_ones("priv", priv, game.view["priv"].shape[0])
    unary, whose = ones[:-2].reshape(sides, slots), ones[-2:]
    if whose.sum() != 1:
        raise GameError(f"priv names {int(whose.sum())} seats in its last two entries, not one")
    seat = int(whose.argmax())
    if (np.diff(unary, axis=1) > 0).any():
        raise GameError("priv has a gap in the unary count of a face")
    if unary.sum() != game.options.dice[seat]:
        raise GameError(
            f"priv holds {int(unary.sum())} dice, seat {seat} has {game.options.dice[seat]}"
        )
    return tuple(face + 1 for face in range(sides) for _ in range(int(unary[face].sum()))), seat


def decode_public(game, pub):
    """The history and the seat to move in a public vector: the inverse of `observe`."""
    segments = _zeros_and_ones("pub", pub, game.view["pub"].shape[0]).reshape(2, -1)
    bids, calls, to_move = segments[:, :-2], segments[:, -2], segments[:, -1]
    if to_move.sum() != 1:
        raise GameError(f"pub has {int(to_move.sum())} to-move bits, not one")
    if (both := np.flatnonzero(bids[0] * bids[1])).size:
        raise GameError(f"pub has bid {both[0]} in both segments")
    history = [int(b) for b in np.flatnonzero(bids[0] + bids[1])]
    for k, bid in enumerate(history):
        if bids[k % 2, bid] != 1:
            raise GameError(f"pub: bid {bid} belongs to the wrong seat, bids do not alternate")
    if calls.sum() > 1 or (calls.sum() == 1 and calls[len(history) % 2] != 1):
        raise GameError("pub: the call belongs to the wrong seat")
    history += [bids.shape[1]] * int(calls.sum())
    if to_move[len(history) % 2] != 1:
        raise GameError(f"pub: the to-move bit contradicts {len(history)} actions")
    s = position(game, [(1,) * n for n in game.options.dice])
    for action in history:
        check_action(s, action)
        play(s, action)
    return history, len(history) % 2


def _zeros_and_ones(name, values, length):
    if not isinstance(values, np.ndarray) or values.dtype != np.float32:
        raise GameError(f"{name} is {getattr(values, 'dtype', type(values).__name__)}, not float32")
    if values.shape != (length,):
        raise GameError(f"{name} has shape {list(values.shape)}, not [{length}]")
    if not np.isfinite(values).all():
        raise GameError(f"{name} has the entry {values[~np.isfinite(values)][0]}, not 0 or 1")
    if not np.isin(values, (0, 1)).all():
        raise GameError(f"{name} has the entry {values[~np.isin(values, (0, 1))][0]}, not 0 or 1")
    return values

"""Dominion in words: the table as a seat sees it, and actions."""

from __future__ import annotations

from ...game import CHANCE, OVER
from . import jobs
from .cards import BASIC, TREASURE
from .catalogue import CARDS
from .resolve import (
    BUY_CARD,
    CONTROL,
    END_ACTIONS,
    END_BUY,
    FINISH,
    GAIN_CARD,
    NO,
    PLAY_ALL_TREASURES,
    PLAY_CARD,
    REVEAL,
    YES,
)
from .rules import IDS, points, turn
from .zones import (
    ACTION_PHASE,
    BUY_PHASE,
    CLEAN_UP,
    DEAL,
    DRAW_FIRST,
    DRAW_KINGDOM,
    SLOTS,
    TURN_ENDS,
)

PHASES = {
    DRAW_KINGDOM: "the kingdom is drawn",
    DRAW_FIRST: "the first seat is drawn",
    DEAL: "hands are dealt",
    ACTION_PHASE: "Action phase",
    BUY_PHASE: "Buy phase",
    CLEAN_UP: "Clean-up",
    TURN_ENDS: "Clean-up",
}

VERBS = {
    jobs.DISCARD: "discard",
    jobs.TRASH: "trash",
    jobs.TOPDECK: "top",
    jobs.TOPDECK_DISCARDED: "top",
    jobs.TRASH_LOOKED: "trash",
    jobs.DISCARD_LOOKED: "discard",
    jobs.ORDER_LOOKED: "top",
}

QUESTIONS = {
    jobs.DISCARD: "discards a card",
    jobs.TRASH: "trashes a card",
    jobs.GAIN: "gains a card",
    jobs.PLAY_FROM_HAND: "plays a card",
    jobs.TOPDECK: "puts a card on the deck",
    jobs.TOPDECK_DISCARDED: "puts a discarded card on the deck",
    jobs.YES_NO: "says yes or no",
    jobs.REACT: "may reveal a Reaction",
    jobs.TRASH_LOOKED: "trashes a card looked at",
    jobs.DISCARD_LOOKED: "discards a card looked at",
    jobs.ORDER_LOOKED: "says which card looked at comes on top",
}


def name(s, slot):
    return CARDS[int(s.card[slot])].name


def cards(s, zone):
    """ "3 Copper, Estate", or "-" for no cards."""
    held = [
        name(s, slot) if zone[slot] == 1 else f"{zone[slot]} {name(s, slot)}"
        for slot in range(SLOTS)
        if zone[slot]
    ]
    return ", ".join(held) or "-"


# The table ---------------------------------------------------------------------------------------


def seen(s, seat):
    if s.phase < DEAL:
        kingdom = [CARDS[int(card)].name for card in s.card[BASIC : BASIC + int(s.kingdom_size)]]
        return f"Kingdom: {', '.join(kingdom) or '-'}\nNow {PHASES[int(s.phase)]}."
    lines = [*_supply(s), f"Trash: {cards(s, s.trash)}"]
    first = max(seat, 0)
    for who in (*range(first, len(s.hand)), *range(first)):
        lines += _seat(s, who, seat)
    return "\n".join([*lines, *_limbo(s, seat), _now(s), *_pending(s, seat)])


def about(s):
    """What the cards of the kingdom do."""
    kingdom = [CARDS[int(card)] for card in s.card[BASIC : BASIC + int(s.kingdom_size)]]
    return "\n".join(f"{card.name}, ${card.cost}: {card.in_words()}" for card in kingdom)


def _supply(s):
    """The piles, cheapest first, four per line."""
    slots = sorted(range(SLOTS), key=lambda slot: (int(s.cost[slot]), name(s, slot)))
    piles = [f"${s.cost[slot]} {name(s, slot)} x{s.supply[slot]}" for slot in slots]
    wide = max(map(len, piles)) + 2
    rows = [piles[i : i + 4] for i in range(0, SLOTS, 4)]
    return ["Supply:", *("  " + "".join(p.ljust(wide) for p in row).rstrip() for row in rows)]


def _seat(s, who, seat):
    owner = f"seat {who} (you)" if who == seat else f"seat {who}"
    sizes = (
        f"{s.hand_size[who]} in hand, {int(s.deck_size[who]) + int(s.tops[who])} in the deck, "
        f"{points(s, who)} points, turn {s.turns[who]}"
    )
    lines = [f"{owner}: {sizes}"]
    if who == seat:
        lines.append(f"  Hand: {cards(s, s.hand[who])}")
    elif s.shown[who].any():
        lines.append(f"  Known in hand: {cards(s, s.shown[who])}")
    tops = [
        name(s, s.top[who, i]) if seat >= 0 and int(s.top_seen[who, i]) >> seat & 1 else "?"
        for i in reversed(range(s.tops[who]))
    ]
    zones = {"In play": s.in_play, "Set aside": s.aside, "Discards": s.discards}
    lines += [f"  {zone}: {cards(s, held[who])}" for zone, held in zones.items() if held[who].any()]
    return [*lines, *([f"  Top of the deck: {', '.join(tops)}"] if tops else [])]


def _limbo(s, seat):
    if not s.in_limbo:
        return []
    looked = [name(s, slot) for slot in s.limbo[: s.in_limbo]]
    if not s.limbo_open and s.limbo_of != seat:
        looked = ["?"] * len(looked)
    return [f"Seat {s.limbo_of} looks at: {', '.join(looked)}"]


def _now(s):
    if turn(s) == OVER:
        return "The game is over." if not s.truncated else "The game was stopped: too many turns."
    if s.phase == DEAL:
        return "Hands are dealt."
    left = f"actions {s.actions}, buys {s.buys}, ${s.coins}"
    return f"Turn of seat {s.player}, {PHASES[int(s.phase)]}: {left}"


def _pending(s, seat):
    """The question that a seat has to answer, in words."""
    if turn(s) < 0 or not s.depth:
        return []
    k = int(s.depth) - 1
    who, source = int(s.who[k]), name(s, s.source[k])
    question = f"{source}: seat {who} {QUESTIONS[int(s.job[k])]}"
    if s.job[k] == jobs.GAIN:
        question += f" of up to ${s.limit[k]}"
    elif s.job[k] == jobs.YES_NO and who == seat:
        question += f" to: {_asked(s, k)}"
    elif s.least[k] > 1 or s.most[k] > 1:
        question += f" ({s.done[k]} of {s.most[k]})"
    return [question + "."]


def _asked(s, k):
    """What a yes would do."""
    return CARDS[int(s.card[s.source[k]])].question.format(name(s, s.low[k]))


# Actions -----------------------------------------------------------------------------------------


def action_text(s, action):
    """ "play Smithy", "buy Province", "discard Copper", "yes: set Village aside", "draws Gold"."""
    family, card = divmod(action, IDS)
    if turn(s) == CHANCE:
        return _outcome_text(s, action)
    k = int(s.depth) - 1
    if family == CONTROL:
        return f"yes: {_asked(s, k)}" if card == YES else CONTROLS[card]
    verb = FAMILIES[family] if family in FAMILIES else VERBS[int(s.job[k])]
    return f"{verb} {CARDS[card].name}"


FAMILIES = {PLAY_CARD: "play", BUY_CARD: "buy", GAIN_CARD: "gain", REVEAL: "reveal"}
CONTROLS = {
    END_ACTIONS: "end actions",
    END_BUY: "end buys",
    FINISH: "finish",
    NO: "no",
    PLAY_ALL_TREASURES: "play all treasures",
}


def news(s, seat, move):
    """What a seat hears of a move: all, except cards put on a deck or drawn unseen."""
    k = int(s.depth) - 1
    if turn(s) == CHANCE and s.phase >= DEAL:
        who = int(s.who[k])
        if who == seat or s.open[k]:
            return action_text(s, move)
        return f"seat {who} {'draws' if s.job[k] == jobs.DRAW else 'looks at'} a card"
    family, choice = divmod(move, IDS)
    if not 0 <= turn(s) != seat:
        return action_text(s, move)
    if family == CONTROL and choice == PLAY_ALL_TREASURES:  # that these are all stays a secret
        treasures = [
            n if t & TREASURE else 0 for n, t in zip(s.hand[turn(s)], s.types, strict=True)
        ]
        return f"play {cards(s, treasures)}"
    if family != CONTROL and k >= 0 and s.job[k] == jobs.ORDER_LOOKED:
        return "puts the cards back"
    if family != CONTROL and k >= 0 and s.job[k] == jobs.TOPDECK and not s.open[k]:
        return "puts a card on the deck"
    return action_text(s, move)


def _outcome_text(s, outcome):
    if s.phase == DRAW_KINGDOM:
        return f"{CARDS[outcome].name} is in the kingdom"
    if s.phase == DRAW_FIRST:
        return f"seat {outcome} begins"
    return f"seat {s.who[s.depth - 1]} draws {CARDS[outcome].name}"

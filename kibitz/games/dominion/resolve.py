"""Carrying out the frame on top of the stack: it asks a seat, asks chance, or ends."""

from __future__ import annotations

from ...game import CHANCE, rule
from . import jobs
from .cards import ACTION, ATTACK
from .catalogue import SHIELDS, play_text, play_then
from .effects import draw, pop, push, to_the_left
from .zones import (
    ACTION_PHASE,
    ACTIONS,
    BUY_PHASE,
    BUYS,
    CARDS,
    COINS,
    DRAWN,
    NONE,
    PLAYED_ACTIONS,
    PLAYS,
    PUTS_ON_DECK,
    REVEALS,
    SLOTS,
    announce,
    discard,
    everybody,
    forget_hand,
    gain,
    into_play,
    leave_discards,
    leave_hand,
    leave_limbo,
    make_coins,
    put_on_deck,
    shuffle,
    take_top,
    to_hand,
    trash,
)

# Families of actions: an action is 512 * family + card id, or 512 * CONTROL + a control.
PLAY_CARD, BUY_CARD, SELECT, GAIN_CARD, PICK, NAME, REVEAL, CONTROL = range(8)
END_ACTIONS, END_BUY, FINISH, YES, NO, PLAY_ALL_TREASURES = range(6)

ANNOUNCED, GIVEN = 1, 2  # stages of a play


@rule
def resume(s):
    """Continue the top frame: 1 when a seat or chance is asked, 0 when it has done something."""
    k = int(s.depth) - 1
    job = int(s.job[k])
    if job in (jobs.DRAW, jobs.LOOK):
        return deal(s, k)
    if job == jobs.PLAY:
        continue_play(s, k)
        return 0
    return question(s, k, job)


@rule
def finish(s):
    """The top frame is over; its card may have more to say."""
    k = int(s.depth) - 1
    job, seat, source = int(s.job[k]), int(s.who[k]), int(s.source[k])
    slot, done = int(s.low[k]), int(s.done[k])
    pop(s)
    if done > 0:  # forget which cards they were, too: it may have been a secret
        for chosen in range(SLOTS):
            s.selected[chosen] = 0
    if job != jobs.REACT:  # that question is about the card, not asked by it
        play_then(s, seat, source, job, slot, done)


# Cards from the deck -----------------------------------------------------------------------------


@rule
def deal(s, k):
    """Draw or look at cards as long as they are known; chance deals the others."""
    seat = int(s.who[k])
    while s.most[k] > 0:
        if s.tops[seat] > 0:
            top = take_top(s, seat)
            arrive(s, k, top & 63, top >> 6)
        elif s.deck_size[seat] > 0:
            s.seat = CHANCE
            return 1
        elif s.discards_size[seat] > 0:
            shuffle(s, seat)
        else:
            break
    if s.job[k] == jobs.DRAW:
        pop(s)
    else:
        finish(s)
    return 0


@rule
def dealt(s, slot):
    """Take the card that chance has dealt: 1 when chance deals the next one, too."""
    k = int(s.depth) - 1
    seat = int(s.who[k])
    s.deck[seat, slot] -= 1
    s.deck_size[seat] -= 1
    arrive(s, k, slot, 0)
    return s.most[k] > 0 and s.tops[seat] == 0 and s.deck_size[seat] > 0


@rule
def arrive(s, k, slot, seen):
    """A card from the deck is drawn or looked at. seen: the seats that knew it was there."""
    seat = int(s.who[k])
    s.most[k] -= 1
    if s.job[k] == jobs.DRAW:
        to_hand(s, seat, slot)
        if seen == everybody(s):
            s.shown[seat, slot] += 1
        if ACTION_PHASE <= s.phase <= BUY_PHASE:
            s.stat[seat, DRAWN] += 1
    else:
        s.limbo[s.in_limbo] = slot
        s.in_limbo += 1
        s.limbo_of = seat
        s.limbo_open = s.open[k]


# Playing a card ----------------------------------------------------------------------------------


@rule
def continue_play(s, k):
    """Others may react, then the card gives what it gives, then comes its text."""
    me, card = int(s.who[k]), int(s.source[k])
    if s.done[k] == 0:
        s.done[k] = ANNOUNCED
        s.stat[me, PLAYED_ACTIONS] += 1 if s.types[card] & ACTION else 0
        announce(s, me, PLAYS, card, 0)
        if s.types[card] & ATTACK:
            for steps in range(s.hand.shape[0] - 1, 0, -1):
                # Every other seat is asked; one with nothing to reveal is passed over later.
                s.most[push(s, jobs.REACT, to_the_left(s, me, steps), card)] = 1
            return
    if s.done[k] == ANNOUNCED:
        s.done[k] = GIVEN
        give(s, me, card)
        if s.gives[card, CARDS] > 0:
            draw(s, me, card, s.gives[card, CARDS])
            return
    safe = int(s.safe[k])
    pop(s)
    play_text(s, me, card, safe)


@rule
def give(s, me, card):
    s.actions += s.gives[card, ACTIONS]
    s.buys += s.gives[card, BUYS]
    make_coins(s, me, s.gives[card, COINS])


# Questions ---------------------------------------------------------------------------------------


@rule
def offer(s, seat, family, slots, controls):
    """Let a seat choose a slot of a family or a control."""
    for other in range(CONTROL):
        s.can[other] = 0
    s.can[family] = slots
    s.can[CONTROL] = controls
    s.seat = seat


@rule
def question(s, k, job):
    """Ask the question of a frame; if there is nothing to choose, the frame is over."""
    if put_question(s, k, job):
        return 1
    if job == jobs.ORDER_LOOKED and s.in_limbo > 0:
        put_back(s, int(s.who[k]), int(s.limbo[0]))  # equal cards have no order
    finish(s)
    return 0


@rule
def put_question(s, k, job):
    """Let the seat of a frame choose: 1, or 0 if there is nothing to choose."""
    seat = int(s.who[k])
    if job == jobs.YES_NO:
        offer(s, seat, CONTROL, 0, 1 << YES | 1 << NO)
        return 1
    slots = choices(s, k, job)
    if slots == 0 or (job == jobs.ORDER_LOOKED and slots & slots - 1 == 0):
        return 0
    controls = 1 << FINISH if s.done[k] >= s.least[k] else 0
    offer(s, seat, family_of(job), slots, controls)
    return 1


@rule
def family_of(job):
    if job == jobs.PLAY_FROM_HAND:
        return PLAY_CARD
    if job == jobs.GAIN:
        return GAIN_CARD
    if job == jobs.REACT:
        return REVEAL
    return SELECT if job in (jobs.DISCARD, jobs.TRASH, jobs.TOPDECK) else PICK


@rule
def choices(s, k, job):
    """The slots that the top frame can choose now."""
    seat, wanted = int(s.who[k]), int(s.wanted[k])
    if job == jobs.GAIN:
        return gainable(s, int(s.limit[k]), wanted)
    if job == jobs.TOPDECK_DISCARDED:
        return at_least(s, s.discards[seat], 0, wanted, 1)
    if job == jobs.REACT:
        return shields_in_hand(s, seat)
    low, need = int(s.low[k]), int(s.least[k]) - int(s.done[k])
    if job in (jobs.TRASH_LOOKED, jobs.DISCARD_LOOKED, jobs.ORDER_LOOKED):
        slots = 0
        for i in range(s.in_limbo):
            slots |= 1 << int(s.limbo[i])
        return slots >> low << low
    return at_least(s, s.hand[seat], low, wanted, need)


@rule
def at_least(s, zone, low, wanted, need):
    """Slots of a zone from which `need` cards can still be chosen, in ascending order of slots."""
    slots, cards = 0, 0
    for slot in range(SLOTS - 1, low - 1, -1):
        if zone[slot] > 0 and (wanted == 0 or s.types[slot] & wanted):
            cards += int(zone[slot])
            if cards >= need:
                slots |= 1 << slot
    return slots


@rule
def gainable(s, limit, wanted):
    """Slots of piles that have a card of at most this cost."""
    slots = 0
    for slot in range(SLOTS):
        fits = wanted == 0 or s.types[slot] & wanted
        if fits and s.supply[slot] > 0 and s.cost[slot] <= limit:
            slots |= 1 << slot
    return slots


@rule
def shields_in_hand(s, seat):
    slots = 0
    for slot in range(SLOTS):
        if s.hand[seat, slot] > 0 and SHIELDS[s.card[slot]]:
            slots |= 1 << slot
    return slots


# Answers -----------------------------------------------------------------------------------------


@rule
def answer(s, family, choice):
    """Take a seat's answer to the top frame: a slot or a control."""
    k = int(s.depth) - 1
    if family == CONTROL:
        s.done[k] = 1 if choice == YES else s.done[k]
        finish(s)
        return
    move(s, k, int(s.job[k]), int(s.who[k]), choice)
    s.selected[choice] += 1
    s.low[k] = choice
    s.done[k] += 1
    if s.done[k] == s.most[k]:
        finish(s)


@rule
def move(s, k, job, seat, slot):
    """What happens to a chosen card."""
    if job == jobs.DISCARD:
        leave_hand(s, seat, slot)
        discard(s, seat, slot)
    elif job == jobs.TRASH:
        leave_hand(s, seat, slot)
        trash(s, seat, slot)
    elif job == jobs.GAIN:
        gain(s, seat, slot, s.to[k], 0)
    elif job == jobs.PLAY_FROM_HAND:
        into_play(s, seat, slot)
    elif job == jobs.TOPDECK:
        topdeck(s, seat, slot, s.open[k])
    elif job == jobs.TOPDECK_DISCARDED:
        leave_discards(s, seat, slot)
        put_on_deck(s, seat, slot, everybody(s))
        announce(s, seat, PUTS_ON_DECK, slot, 0)
    elif job == jobs.REACT:
        react(s, k, seat, slot)
    elif job == jobs.ORDER_LOOKED:
        put_back(s, seat, slot)
    else:
        leave_limbo(s, slot)
        if job == jobs.TRASH_LOOKED:
            trash(s, seat, slot)
        else:
            discard(s, seat, slot)


@rule
def topdeck(s, seat, slot, in_sight):
    leave_hand(s, seat, slot)
    if in_sight:
        put_on_deck(s, seat, slot, everybody(s))
        announce(s, seat, PUTS_ON_DECK, slot, 0)
    else:
        put_on_deck(s, seat, slot, 1 << seat)
        announce(s, seat, PUTS_ON_DECK, NONE, 0)
        forget_hand(s, seat)


@rule
def put_back(s, seat, slot):
    """Cards looked at go back on the deck, this one on top."""
    leave_limbo(s, slot)
    while s.in_limbo > 0:
        below = int(s.limbo[0])
        leave_limbo(s, below)
        put_on_deck(s, seat, below, 1 << seat)
    put_on_deck(s, seat, slot, 1 << seat)


@rule
def react(s, k, seat, slot):
    """A card revealed from hand keeps its owner safe from the Attack that waits below."""
    if s.shown[seat, slot] == 0:
        s.shown[seat, slot] = 1
    announce(s, seat, REVEALS, slot, 0)
    while s.job[k] != jobs.PLAY:
        k -= 1
    s.safe[k] = int(s.safe[k]) | 1 << seat

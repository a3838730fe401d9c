"""The base set, second edition: 33 cards, a row each, and a rule for every text.

`text(s, me, card, safe)` is what a play does after what the card gives. `card` is the slot of the
card, `safe` the set of seats that an Attack does not affect. It puts on the stack what is to be
done, so what comes first is pushed last. `then(s, me, card, job, slot, done)` follows when a
question of the card has been answered or cards have been looked at: the job, the slot chosen last,
and how many were chosen; a yes is done = 1. `worth(s, me, card)` are points that are not fixed.
The docstrings of `text` and `worth` are what people at the table read.
"""

from __future__ import annotations

from ...game import rule
from . import jobs
from .cards import (
    ACTION,
    ATTACK,
    COPPER,
    CURSE,
    CURSED,
    DUCHY,
    ESTATE,
    GOLD,
    PROVINCE,
    REACTION,
    SILVER,
    TREASURE,
    VICTORY,
    Card,
)
from .effects import NO_LIMIT, ask, choose, draw, gain_up_to, look, push, to_the_left
from .zones import (
    DRAWN,
    SLOTS,
    TO_DECK,
    TO_DISCARDS,
    TO_HAND,
    cards_owned,
    discard,
    empty_piles,
    gain,
    leave_discards,
    leave_hand,
    leave_limbo,
    make_coins,
    show_hand,
    to_hand,
    trash,
)


@rule
def silver(s, me, card, safe):
    if s.silvers == 0:
        make_coins(s, me, s.silver_bonus)
    s.silvers += 1


@rule
def artisan(s, me, card, safe):
    """Gain a card of up to $5 to your hand, then put a card from your hand on your deck."""
    choose(s, jobs.TOPDECK, me, card, 1, 1)
    s.to[gain_up_to(s, me, card, 5)] = TO_HAND


@rule
def bandit(s, me, card, safe):
    """Gain a Gold. Every other seat reveals its top two cards, trashes a Treasure among them other
    than Copper, and discards the rest.
    """
    gain(s, me, GOLD, TO_DISCARDS, 0)
    for steps in range(s.hand.shape[0] - 1, 0, -1):
        other = to_the_left(s, me, steps)
        if safe >> other & 1 == 0:
            look(s, other, card, 2, 1)


@rule
def bandit_then(s, me, card, job, slot, done):
    if job == jobs.LOOK:
        first, second = loot(s, 0), loot(s, 1)
        if first >= 0 and second >= 0 and first != second:
            choose(s, jobs.TRASH_LOOKED, me, card, 1, 1)
            return
        taken = first if first >= 0 else second
        if taken >= 0:
            leave_limbo(s, taken)
            trash(s, me, taken)
    while s.in_limbo > 0:
        rest = int(s.limbo[0])
        leave_limbo(s, rest)
        discard(s, me, rest)


@rule
def loot(s, i):
    """The slot of a revealed card, if a Bandit takes it: a Treasure other than Copper."""
    if i >= s.in_limbo or s.limbo[i] == COPPER:
        return -1
    slot = int(s.limbo[i])
    return slot if s.types[slot] & TREASURE else -1


@rule
def bureaucrat(s, me, card, safe):
    """Gain a Silver to the top of your deck. Every other seat puts a Victory card from its hand on
    its deck, or shows a hand without one.
    """
    gain(s, me, SILVER, TO_DECK, 0)
    for steps in range(s.hand.shape[0] - 1, 0, -1):
        other = to_the_left(s, me, steps)
        if safe >> other & 1 == 0:
            k = choose(s, jobs.TOPDECK, other, card, 1, 1)
            s.wanted[k] = VICTORY
            s.open[k] = 1


@rule
def bureaucrat_then(s, me, card, job, slot, done):
    if done == 0:
        show_hand(s, me)


@rule
def cellar(s, me, card, safe):
    """Discard any number of cards, then draw as many."""
    choose(s, jobs.DISCARD, me, card, 0, NO_LIMIT)


@rule
def cellar_then(s, me, card, job, slot, done):
    draw(s, me, card, done)


@rule
def chapel(s, me, card, safe):
    """Trash up to four cards from your hand."""
    choose(s, jobs.TRASH, me, card, 0, 4)


@rule
def council_room(s, me, card, safe):
    """Every other seat draws a card."""
    for steps in range(s.hand.shape[0] - 1, 0, -1):
        draw(s, to_the_left(s, me, steps), card, 1)


@rule
def gardens(s, me, card):
    """A point for every ten cards that you own."""
    return cards_owned(s, me) // 10


@rule
def harbinger(s, me, card, safe):
    """You may put a card from your discard pile on your deck."""
    choose(s, jobs.TOPDECK_DISCARDED, me, card, 0, 1)


@rule
def library(s, me, card, safe):
    """Draw until you hold seven cards. Actions may be set aside as you draw them; they are
    discarded in the end.
    """
    if s.hand_size[me] < 7:
        look(s, me, card, 1, 0)
    else:
        discard_aside(s, me)


@rule
def discard_aside(s, seat):
    for slot in range(SLOTS):
        while s.aside[seat, slot] > 0:
            s.aside[seat, slot] -= 1
            discard(s, seat, slot)


@rule
def library_then(s, me, card, job, slot, done):
    if s.in_limbo == 0:  # nothing is left to draw
        discard_aside(s, me)
        return
    drawn = int(s.limbo[0])
    if job == jobs.LOOK and s.types[drawn] & ACTION:
        ask(s, me, card, drawn)
        return
    leave_limbo(s, drawn)
    if done:
        s.aside[me, drawn] += 1
    else:
        to_hand(s, me, drawn)
        s.stat[me, DRAWN] += 1
    library(s, me, card, 0)


@rule
def merchant(s, me, card, safe):
    """The first Silver that you play this turn makes $1 more."""
    s.silver_bonus += 1


@rule
def militia(s, me, card, safe):
    """Every other seat discards down to three cards."""
    for steps in range(s.hand.shape[0] - 1, 0, -1):
        other = to_the_left(s, me, steps)
        too_many = int(s.hand_size[other]) - 3
        if safe >> other & 1 == 0 and too_many > 0:
            s.limit[choose(s, jobs.DISCARD, other, card, too_many, too_many)] = 3


@rule
def mine(s, me, card, safe):
    """You may trash a Treasure from your hand and gain one to it that costs up to $3 more."""
    s.wanted[choose(s, jobs.TRASH, me, card, 0, 1)] = TREASURE


@rule
def mine_then(s, me, card, job, slot, done):
    if job == jobs.TRASH and done:
        k = gain_up_to(s, me, card, int(s.cost[slot]) + 3)
        s.wanted[k] = TREASURE
        s.to[k] = TO_HAND
        s.paid[k] = s.cost[slot]


@rule
def moneylender(s, me, card, safe):
    """You may trash a Copper from your hand for +$3."""
    if s.hand[me, COPPER] > 0:
        ask(s, me, card, COPPER)


@rule
def moneylender_then(s, me, card, job, slot, done):
    if done:
        leave_hand(s, me, COPPER)
        trash(s, me, COPPER)
        make_coins(s, me, 3)


@rule
def poacher(s, me, card, safe):
    """Discard a card for every empty pile."""
    cards = min(empty_piles(s), int(s.hand_size[me]))
    if cards > 0:
        choose(s, jobs.DISCARD, me, card, cards, cards)


@rule
def remodel(s, me, card, safe):
    """Trash a card from your hand and gain one that costs up to $2 more."""
    choose(s, jobs.TRASH, me, card, 1, 1)


@rule
def remodel_then(s, me, card, job, slot, done):
    if job == jobs.TRASH and done:
        k = gain_up_to(s, me, card, int(s.cost[slot]) + 2)
        s.paid[k] = s.cost[slot]


@rule
def sentry(s, me, card, safe):
    """Look at your top two cards: trash or discard any, and put the others back in any order."""
    look(s, me, card, 2, 0)


@rule
def sentry_then(s, me, card, job, slot, done):
    if s.in_limbo == 0:
        return
    if job == jobs.LOOK:
        choose(s, jobs.TRASH_LOOKED, me, card, 0, NO_LIMIT)
    elif job == jobs.TRASH_LOOKED:
        choose(s, jobs.DISCARD_LOOKED, me, card, 0, NO_LIMIT)
    elif job == jobs.DISCARD_LOOKED:
        choose(s, jobs.ORDER_LOOKED, me, card, 1, 1)


@rule
def throne_room(s, me, card, safe):
    """You may play an Action from your hand twice."""
    s.wanted[choose(s, jobs.PLAY_FROM_HAND, me, card, 0, 1)] = ACTION


@rule
def throne_room_then(s, me, card, job, slot, done):
    if done:
        push(s, jobs.PLAY, me, slot)
        push(s, jobs.PLAY, me, slot)


@rule
def vassal(s, me, card, safe):
    """Discard the top card of your deck. If it is an Action, you may play it."""
    look(s, me, card, 1, 1)


@rule
def vassal_then(s, me, card, job, slot, done):
    if job == jobs.LOOK and s.in_limbo > 0:
        top = int(s.limbo[0])
        leave_limbo(s, top)
        discard(s, me, top)
        if s.types[top] & ACTION:
            ask(s, me, card, top)
    elif job == jobs.YES_NO and done:
        leave_discards(s, me, slot)
        s.in_play[me, slot] += 1
        push(s, jobs.PLAY, me, slot)


@rule
def witch(s, me, card, safe):
    """Every other seat gains a Curse."""
    for steps in range(1, s.hand.shape[0]):
        other = to_the_left(s, me, steps)
        if safe >> other & 1 == 0:
            gain(s, other, CURSE, TO_DISCARDS, 0)


@rule
def workshop(s, me, card, safe):
    """Gain a card of up to $4."""
    gain_up_to(s, me, card, 4)


CARDS = (
    Card(COPPER, "Copper", 0, TREASURE, coins=1),
    Card(SILVER, "Silver", 3, TREASURE, coins=2, text=silver),
    Card(GOLD, "Gold", 6, TREASURE, coins=3),
    Card(ESTATE, "Estate", 2, VICTORY, vp=1),
    Card(DUCHY, "Duchy", 5, VICTORY, vp=3),
    Card(PROVINCE, "Province", 8, VICTORY, vp=6),
    Card(CURSE, "Curse", 0, CURSED, vp=-1),
    Card(7, "Artisan", 6, ACTION, tags="u s G K", text=artisan),
    Card(8, "Bandit", 5, ACTION | ATTACK, tags="u s o D T! G R K", text=bandit, then=bandit_then),
    Card(
        9,
        "Bureaucrat",
        4,
        ACTION | ATTACK,
        tags="u s o G R K",
        text=bureaucrat,
        then=bureaucrat_then,
    ),
    Card(10, "Cellar", 2, ACTION, actions=1, tags="u s D W", text=cellar, then=cellar_then),
    Card(11, "Chapel", 2, ACTION, tags="u s T", text=chapel),
    Card(12, "Council Room", 5, ACTION, cards=4, buys=1, tags="u o W", text=council_room),
    Card(13, "Festival", 5, ACTION, actions=2, buys=1, coins=2),
    Card(14, "Gardens", 4, VICTORY, tags="v", worth=gardens),
    Card(15, "Harbinger", 3, ACTION, cards=1, actions=1, tags="u s W R K", text=harbinger),
    Card(16, "Laboratory", 5, ACTION, cards=2, actions=1, tags="W"),
    Card(
        17,
        "Library",
        5,
        ACTION,
        tags="u s D W a",
        text=library,
        then=library_then,
        question="set {} aside",
    ),
    Card(18, "Market", 5, ACTION, cards=1, actions=1, buys=1, coins=1, tags="W"),
    Card(19, "Merchant", 3, ACTION, cards=1, actions=1, tags="u s W m", text=merchant),
    Card(20, "Militia", 4, ACTION | ATTACK, coins=2, tags="u o D", text=militia),
    Card(21, "Mine", 5, ACTION, tags="u s T G m", text=mine, then=mine_then),
    Card(22, "Moat", 2, ACTION | REACTION, cards=2, tags="W R", shields=True),
    Card(
        23,
        "Moneylender",
        4,
        ACTION,
        tags="u s T m",
        text=moneylender,
        then=moneylender_then,
        question="trash {} for $3",
    ),
    Card(24, "Poacher", 4, ACTION, cards=1, actions=1, coins=1, tags="u s D W", text=poacher),
    Card(25, "Remodel", 4, ACTION, tags="u s T G", text=remodel, then=remodel_then),
    Card(
        26,
        "Sentry",
        5,
        ACTION,
        cards=1,
        actions=1,
        tags="u s D T W R K",
        text=sentry,
        then=sentry_then,
    ),
    Card(27, "Smithy", 4, ACTION, cards=3, tags="W"),
    Card(28, "Throne Room", 4, ACTION, tags="u s a", text=throne_room, then=throne_room_then),
    Card(
        29,
        "Vassal",
        3,
        ACTION,
        coins=2,
        tags="u s D K a",
        text=vassal,
        then=vassal_then,
        question="play {}",
    ),
    Card(30, "Village", 3, ACTION, cards=1, actions=2, tags="W"),
    Card(31, "Witch", 5, ACTION | ATTACK, cards=2, tags="u o G! W", text=witch),
    Card(32, "Workshop", 3, ACTION, tags="u s G", text=workshop),
)

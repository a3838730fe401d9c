"""The view of Dominion once more, for the tests: section 8 of specs/dominion.md, line by line."""

import numpy as np
from dominion_table import IDS

from kibitz import games
from kibitz.game import OVER
from kibitz.games.dominion.cards import ACTION, CURSED, TREASURE, VICTORY
from kibitz.games.dominion.catalogue import CARDS

GAME = games.load("dominion")
SLOTS = 17
FINISH = 3586
BY_SLOT = (16, *range(18, 24), 32, 44, 45, 56, 72, 88, 100, *range(104, 108), 112, 130)
BY_SLOT = (*BY_SLOT, *range(176, 226))
BY_PLACE = {
    **{0: 7, 1: 8, 2: 20, 34: 5, **dict.fromkeys(range(36, 44), 1), 58: 6},
    **{**dict.fromkeys(range(60, 64), 1), 74: 4, 76: 4, 90: 4, 96: 8, 98: 6, 114: 6, 118: 5},
    **{128: 5, 132: 5, 136: 4, 140: 3, 240: 16, 241: 16},
    **{**dict.fromkeys(range(248, 252), 2), 252: 3, **dict.fromkeys(range(272, 280), 6)},
    **{**dict.fromkeys(range(280, 284), 4), **dict.fromkeys(range(284, 288), 5)},
    **dict.fromkeys(range(288, 292), 6),
}
# What only other sets have: potions, debt, villagers, coffers, Colonies and Durations
NEVER = {(1, 4), (1, 5), (1, 6), (1, 7), (2, 1), (90, 3)}


def used():
    """Where a view of 17 slots can differ from 0. bool [300, 128]"""
    places = np.zeros((300, 128), bool)
    for channel in BY_SLOT:
        places[channel, :SLOTS] = True
    for channel, width in BY_PLACE.items():
        places[channel, :width] = True
    return places


def look(s, seat):
    return GAME.look(s, seat).reshape(300, 128)


# Section 8 once more -----------------------------------------------------------------------------


def divided(a, b):
    """0 / 0 = 0."""
    return a / b if b else 0.0 * a


class Cards:
    """The cards of a game by slot, as printed."""

    def __init__(self, s):
        self.printed = [CARDS[int(card)] for card in s.card]
        for what in ("id", "cost", "coins", "cards", "actions", "buys", "vp"):
            setattr(self, what, np.array([getattr(card, what) for card in self.printed]))
        self.treasure, self.action, self.victory, self.curse = (
            np.array([card.has(kind) for card in self.printed], int)
            for kind in (TREASURE, ACTION, VICTORY, CURSED)
        )

    def slot(self, name):
        return list(self.id).index(IDS[name]) if IDS[name] in self.id else None

    def owned(self, owned, name):
        return 0 if self.slot(name) is None else int(owned[self.slot(name)])


def expected(s, me):
    """The view of one of two seats, at a decision or at the end."""
    view, cards = np.zeros((300, 128)), Cards(s)
    _table(view, cards, s, me)
    _zones(view, cards, s, me)
    _frames(view, cards, s, me)
    _owned(view, cards, s, me)
    _histories(view, s, me)
    view[176:224, :SLOTS] = np.array([_features(card) for card in cards.printed]).T
    view[224, :SLOTS] = 1
    view[225, :SLOTS] = (cards.id + 1) / 512
    return view.clip(-2, 2)


def _features(card):
    """Section 10, by index."""
    tags, action = card.tags.split(), card.has(ACTION)
    pile = 12 if card.id < 3 else 8 if card.has(VICTORY) else 10
    numbers = {0: card.cost / 10, 3: card.coins / 5 * card.has(TREASURE), 4: card.vp / 10, 5: 1}
    numbers |= {6: card.id > 6, 7: pile / 12, 20: card.actions / 5, 21: card.cards / 5}
    numbers |= {8 + i: card.has(1 << i) for i in range(6)}
    numbers |= {22: card.buys / 3, 23: card.coins / 5, 34: "D" in tags, 38: "R" in tags}
    numbers |= {28: "u" in tags, 32: "s" in tags, 33: "o" in tags, 39: "K" in tags, 45: "m" in tags}
    numbers |= {35: bool({"T", "T!"} & {*tags}), 36: bool({"G", "G!"} & {*tags}), 46: "T" in tags}
    numbers |= {37: "W" in tags or card.cards > 0, 40: action and card.actions == 0}
    numbers |= {41: card.cards > 0 and card.actions > 0, 42: card.actions > 1, 43: card.cards > 2}
    numbers |= {44: "a" in tags or (numbers[40] and card.cards > 1)}
    numbers |= {47: card.buys > 0 or "G" in tags or "v" in tags}
    return [float(numbers.get(i, 0)) for i in range(48)]


def _table(view, cards, s, me):
    player, supply = int(s.player), s.supply.astype(int)
    over = GAME.turn(s) == OVER
    coins = int(s.coins)
    if player == me:
        coins += int((s.hand[me] * cards.coins * cards.treasure).sum())
        if s.hand[me, 1] and not s.silvers:
            coins += int(s.silver_bonus)
    view[0, 0 if player == me else 1] = 1
    if not over:
        view[0, 2 if s.phase == 3 else 3] = 1
    view[0, 4:7] = s.turns[player] / 100, (8 - supply[5]) / 8, (supply == 0).sum() / 10
    view[1, :4] = s.actions / 10, s.buys / 10, s.coins / 20, coins / 20
    view[2, :3] = supply[5] / 8, 0, over
    view[2, 3:20] = supply == 0
    starts = np.array([46, 40, 30, *(8 if v else 10 for v in cards.victory[3:])])
    view[16, :SLOTS] = supply / starts
    view[18, :SLOTS] = supply > 0
    view[19, :SLOTS] = (supply > 0) & (coins >= cards.cost)
    view[20, :SLOTS] = cards.cost / 10
    view[21:24, :SLOTS] = cards.action, cards.treasure, cards.victory
    in_play = s.in_play[player].astype(int)
    view[88, :SLOTS] = in_play / 10
    view[90, :3] = in_play.sum() / 20, s.stat[player, 0] / 10, s.stat[player, 1] / 10


def deck_of(s, seat):
    deck = s.deck[seat].astype(int)
    for slot in s.top[seat, : s.tops[seat]]:
        deck[slot] += 1
    return deck


def _zones(view, cards, s, me):
    hand, deck, discards = s.hand[me].astype(int), deck_of(s, me), s.discards[me].astype(int)
    view[32, :SLOTS] = hand / 10
    view[34, 0:3] = hand @ cards.treasure / 10, hand @ cards.action / 10, hand @ cards.victory / 5
    view[34, 3:5] = hand.sum() / 20, (hand > 0).sum() / 20
    gifts = hand @ cards.actions / 20, hand @ cards.cards / 20, hand @ cards.buys / 10
    view[36:40, 0] = hand @ cards.cost / 50, *gifts
    view[40:42, 0] = hand @ cards.coins / 30, divided(hand @ cards.cost, hand.sum()) / 10
    view[42, 0] = (hand * cards.action).any()
    view[43, 0] = (hand * cards.action * (cards.actions == 0)).any()

    n = deck.sum()
    view[56, :SLOTS] = divided(deck, n)
    kinds = (cards.treasure, cards.action, cards.victory)
    view[58, :4] = n / 60, *(divided(deck @ kind, n) for kind in kinds)
    view[58, 4:6] = divided(deck @ cards.cost, n) / 10, deck @ cards.vp / 50
    view[60:63, 0] = deck @ cards.actions / 30, deck @ cards.cards / 30, deck @ cards.coins / 50
    next_cards = deck if n else discards
    view[63, 0] = divided(next_cards @ cards.coins, next_cards.sum()) / 3

    view[72, :SLOTS] = divided(discards, discards.sum())
    view[74, :2] = discards.sum() / 60, discards @ cards.treasure / 20
    view[74, 2:4] = discards @ cards.action / 20, discards @ cards.victory / 10
    rest = s.owned[me] - deck
    view[76, :2] = n / 5 / 10, n / 20
    view[76, 2] = divided(rest @ cards.action, rest.sum())
    view[76, 3] = divided(rest @ cards.treasure, rest.sum())


def _frames(view, cards, s, me):
    depth = int(s.depth)
    kinds = [min(int(job), 15) for job in s.job[:depth]]
    view[96, 0], view[96, 1] = depth > 0, depth / 5
    view[240, kinds[-1] if kinds else 0] = 1
    view[241, kinds] = 1
    owed = [k for k in range(depth) if kinds[k] == 15 and s.done[k] == 0]
    view[98, 4] = view[252, 0] = len(owed) / 5
    if owed:
        view[252, 1:3] = 1 / 5, (s.source[owed[-1]] + 1) / 128
    legal = [] if GAME.turn(s) == OVER else GAME.legal(s)
    mine = GAME.turn(s) == me
    if mine:
        for action in legal:
            if action < 512:
                view[44, list(cards.id).index(action)] = 1
    if not depth:
        view[96, 2] = 1
        return
    kind, k = kinds[-1], depth - 1
    source, done, most = cards.printed[s.source[k]].name, int(s.done[k]), int(s.most[k])
    asked = {1: 3, 10: 3, 2: 4, 9: 4, 4: 5, 3: 6}.get(kind, 2)
    view[96, 5 if kind == 7 and source == "Vassal" else asked] = 1
    view[96, 7] = GAME.turn(s) != s.player
    view[98, 0] = view[251, 0] = 0.3 if source == "Militia" and kind == 1 else 0
    view[98, 1] = view[250, 0] = s.limit[k] / 10 if kind == 3 else 0
    view[98, 2] = done / 10 if kind in (1, 2) else 0
    view[98, 3], view[98, 5] = most / 10, FINISH in legal
    view[100, s.source[k]] = 1
    view[248, :2] = done / 10 if source == "Cellar" else 0
    view[249, :2] = (done / 4, 1) if source == "Chapel" else 0
    view[250, 1] = s.paid[k] / 10 if kind == 3 else 0
    view[251, 1] = done / 5 if source == "Militia" and kind == 1 else 0
    if mine:
        view[45, :SLOTS] = s.selected / 10
        row = {1: 104, 10: 104, 2: 105, 9: 105, 3: 106, 4: 107}.get(kind)
        for action in legal:
            if row and action < 3584:
                view[row, list(cards.id).index(action % 512)] = 1


def points_of(cards, owned):
    gardens = cards.owned(owned, "Gardens") * (owned.sum() // 10)
    return owned @ cards.vp + gardens, gardens


def _owned(view, cards, s, me):
    owned, n = s.owned[me].astype(int), s.owned[me].sum()
    points, gardens = points_of(cards, owned)
    view[112, :SLOTS] = owned / 10
    view[114, :3] = points / 50, gardens / 10, 3 * owned[4] / 15
    view[114, 3:6] = 6 * owned[5] / 30, n / 60, -owned[6] / 10
    view[118, 0] = divided(owned @ (cards.coins + cards.cards + cards.actions), n) / 5
    view[118, 1:3] = divided(owned @ cards.action, n), divided(owned @ cards.treasure, n)
    view[118, 3] = divided(owned @ ((cards.victory == 0) & (cards.curse == 0)), n)
    view[118, 4] = min(s.supply[5], sorted(s.supply.astype(int))[:3] @ np.ones(3)) / 20

    opp = 1 - me
    theirs, m = s.owned[opp].astype(int), s.owned[opp].sum()
    view[128, :2] = s.hand[opp].sum() / 20, deck_of(s, opp).sum() / 60
    view[128, 2:5] = s.discards[opp].sum() / 60, m / 60, s.in_play[opp].sum() / 10
    view[130, :SLOTS] = theirs / 10
    view[132, :2] = points_of(cards, theirs)[0] / 50, theirs[5] / 8
    view[132, 2:5] = theirs[4] / 8, theirs[6] / 10, cards.owned(theirs, "Gardens") / 10
    view[136, :2] = divided(theirs @ cards.treasure, m), divided(theirs @ cards.action, m)
    view[136, 2:4] = s.last_coins[opp] / 20, s.stat[opp, 4] / 5
    view[140, :3] = s.stat[opp, 0] / 10, s.stat[opp, 2] / 10, s.stat[opp, 3] / 5


def latest_first(ring, count):
    """Entries of a ring."""
    return [ring[i % len(ring)] for i in range(int(count) - 1, -1, -1)][: len(ring)]


def _histories(view, s, me):
    for channel, ring, count, scales in (
        (272, s.acted[me], s.acted_count[me], (10, 128, 128, 10, 100)),
        (280, s.gained[me], s.gained_count[me], (128, 10, 1, 100)),
        (284, s.past[me], s.past_count[me], (10, 10, 5, 20, 10)),
        (288, s.events[1 - me], s.events_count[1 - me], (10, 128, 128, 10, 100)),
    ):
        for i, entry in enumerate(latest_first(ring, count)):
            view[channel + i, : len(scales)] = entry / np.array(scales)
            if channel in (272, 288):
                view[channel + i, 5] = 1

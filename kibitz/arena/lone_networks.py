"""A network that does not search, against compiled players: all games stay on its device.

As a search with one simulation the network gets every position from the host, and that takes longer
than thinking. Here tables go to the device once, play whole games there, and come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..batch import NO_ACTION, Batch, illegal_choice
from ..compiled import Function
from ..devices import Array, Device, Gpu, device_named
from ..game import Game
from ..players import Player, Scripted, TreeSearch
from ..players.scripted import by_kind, tokens_of
from ..search.duels import (
    ENDED,
    NETWORK,
    Duels,
    answer_all,
    decide_all,
    duels_at,
    look_all,
    play_on_all,
)

if TYPE_CHECKING:
    from ..nets.evaluate import NetEvaluator

AT_ONCE = {"cpu": 512, "cuda": 16384}  # tables that a device does well with
FEWEST = {"cpu": 1, "cuda": 512}  # rows of views: a GPU hardly takes less time for fewer
TICKS = {"cpu": 1, "cuda": 16}  # until somebody looks which games go on: a GPU has to be waited for

Numbers = NDArray[np.int64]


def is_alone(who: Player) -> TypeGuard[TreeSearch]:
    """Whether this is a network whose search only asks it what it prefers."""
    if type(who) is not TreeSearch or isinstance(who.evaluator, str):
        return False
    from ..nets.evaluate import NetEvaluator

    settings = who.settings
    only_asks = settings.simulations == 1 and settings.root == "puct" and settings.noise == 0
    return only_asks and isinstance(who.evaluator, NetEvaluator)


def play_lone_networks(batch: Batch, players: Sequence[Player], who: Array, own: Array) -> None:
    """Play to the end whatever a network alone plays against one compiled player.

    Other games wait. See `match.play_on`, which would play these games to the same ends.
    """
    for number, me in enumerate(players):
        if not is_alone(me) or me.game.state != batch.game.state:
            continue
        rows, size = np.flatnonzero(_met(players, who, number)), AT_ONCE[me.device]
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            games, streams = Batch.of(batch.game, batch.states[part], batch.rngs[part]), own[part]
            _network(me).play(games, players, who[part], streams, number)
            batch.states[part], batch.rngs[part] = games.states, games.rngs
            own[part] = streams


def _met(players: Sequence[Player], who: Array, me: int) -> NDArray[np.bool_]:
    """Whether player `me` is in a game with one other player, which is a compiled one. [game]"""
    scripted = np.array([isinstance(other, Scripted) for other in players])
    other = _others(who, me)
    alone = ((who == me) | (who == other[:, None])).all(1) & (who == me).any(1)
    return np.asarray(alone & (other >= 0) & scripted[other])


def _others(who: Array, me: int) -> Numbers:
    """The last player in each game that is not player `me`; -1 if there is none. [game]"""
    return np.asarray(np.where(who == me, -1, who).max(1))


class Room(NamedTuple):
    """Where a network reads views."""

    memory: Array  # float32 [rows, view_size]
    views: Array  # the same memory as views [rows]
    device: Device  # where its answers come from: on a GPU, a stream


class LoneNetwork:
    """A network with its rooms, which are kept: on a GPU each has a recording of the network."""

    def __init__(self, me: TreeSearch) -> None:
        assert is_alone(me)
        self.game, self.device = me.game, device_named(me.device)
        self.evaluator: NetEvaluator = me.evaluator  # type: ignore[assignment]
        self._rooms: dict[tuple[int, int], Room] = {}

    def play(
        self, batch: Batch, players: Sequence[Player], who: Array, own: Array, me: int
    ) -> None:
        """Play games to their end; streams move on. me: the network's number among the players."""
        games, others, put = np.arange(len(who)), _others(who, me), self.device.put
        names = dict.fromkeys(players[other].name for other in np.unique(others))
        kinds = by_kind(batch.game, list(names))
        in_order = [name for kind in kinds for name in kind]
        numbers = [in_order.index(p.name) if p.name in names else NETWORK for p in players]
        numbers[me] = NETWORK
        seated = np.ascontiguousarray(np.array(numbers)[who])
        streams = batch.rngs, own[games, others], own[games, me]
        duels = duels_at(self.device, batch.states, *streams, seated)
        self._play_out(duels, [put(tokens_of(batch.game, kind)) for kind in kinds])
        self._check_choices(batch.game, in_order, duels)
        get = self.device.get
        batch.states[:], batch.rngs[:] = get(duels.states), get(duels.rngs)
        own[games, others], own[games, me] = get(duels.players), get(duels.networks)

    def _play_out(self, duels: Duels, tokens: Sequence[Array]) -> None:
        """tokens: of the compiled players, by kind."""
        tables = np.arange(len(duels.states))
        lanes = min(len(tables), 2 if isinstance(self.device, Gpu) else self.device.threads)
        parts = enumerate(np.array_split(tables, lanes))
        made = [Lane(self, number, duels, tokens, part) for number, part in parts]
        self.device.synchronize()  # lanes have streams of their own, which wait for nobody
        if isinstance(self.device, Gpu):
            play_together(made)
        else:
            self.device.each(made, lambda lane: play_together([lane]))

    def _check_choices(self, game: Game, names: Sequence[str], duels: Duels) -> None:
        """names: of the compiled players, by number."""
        get = self.device.get
        chosen = get(duels.illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            i, s = int(wrong[0]), get(duels.copies)[wrong[0]]
            who = names[get(duels.seated)[i, game.turn(s)]]
            raise illegal_choice(game, s, who, int(chosen[i]))

    def room(self, lane: int, tables: int) -> Room:
        """A lane's room for so many tables, of a size that will be used again."""
        rows = 1 << (max(tables, FEWEST[self.device.name]) - 1).bit_length()
        if (lane, rows) not in self._rooms:
            memory = self.evaluator.room(rows, self.game.view_size)
            views = self.device.put(memory).view(self.game.view).reshape(rows)
            on_gpu = isinstance(self.device, Gpu)
            device = Gpu(self.evaluator.stream(memory)) if on_gpu else self.device
            self._rooms[lane, rows] = Room(memory, views, device)
        return self._rooms[lane, rows]


_NETWORKS: WeakKeyDictionary[TreeSearch, LoneNetwork] = WeakKeyDictionary()


def _network(me: TreeSearch) -> LoneNetwork:
    """The same one every time, for as long as there is this player."""
    if me not in _NETWORKS:
        _NETWORKS[me] = LoneNetwork(me)
    return _NETWORKS[me]


class Lane:
    """Some of the tables: those that play go through one room."""

    def __init__(
        self,
        network: LoneNetwork,
        number: int,
        duels: Duels,
        tokens: Sequence[Array],
        tables: Numbers,
    ) -> None:
        self.network, self.number, self.duels, self.tokens = network, number, duels, tokens
        self._take(tables)

    def begin(self) -> None:
        """Play on to the network's first decisions."""
        self._launch(play_on_all)
        self._answer()

    def _take(self, tables: Numbers) -> None:
        self.tables, self.size = tables, len(tables)
        if self.size:
            self.room = self.network.room(self.number, self.size)
            self.which = self.room.device.put(tables)

    def tick(self) -> None:
        """The network decides, and everybody else until it is its turn again."""
        room = self.room
        self._launch(look_all, room.views)
        on_gpu = isinstance(room.device, Gpu)
        logits, _ = self.network.evaluator(room.memory if on_gpu else room.memory[: self.size])
        self._launch(decide_all, room.device.put(logits))
        self._answer()

    def _answer(self) -> None:
        """No table has compiled players of two kinds, so each kind is asked once."""
        number = 0
        for kind in self.tokens:
            self._launch(answer_all, kind, number)
            number += len(kind)

    def _launch(self, kernel: Function, *arrays: Array) -> None:
        self.room.device.launch(kernel, self.size, self.which, self.duels, *arrays)

    def leave_out_ended(self, status: Array) -> None:
        """Go on without games that are over.

        On a GPU only once that takes half the room: its recordings answer whole rooms.
        """
        going_on = self.tables[status[self.tables] != ENDED]
        half = len(self.room.memory) // 2
        if not (isinstance(self.room.device, Gpu) and len(going_on) > half):
            self._take(going_on)


def play_together(lanes: list[Lane]) -> None:
    """Play the games of lanes to their end, tick by tick."""
    device, duels = lanes[0].network.device, lanes[0].duels
    for lane in lanes:
        lane.begin()
    while lanes := [lane for lane in lanes if lane.size]:
        device.synchronize()  # new lists of tables are there, for whom the lanes would not wait
        for _ in range(TICKS[device.name]):
            for lane in lanes:
                lane.tick()
        device.synchronize()
        status = device.get(duels.status)
        for lane in lanes:
            lane.leave_out_ended(status)

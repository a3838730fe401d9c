"""How well a network that imagines a game (MuZero) knows its rules: ends, turns and odds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from ..batch import Batch
from ..chance import fresh_seed, streams
from ..game import OVER, Game, GameError
from ..nets.latent import LatentNet, codes_of, odds_of_codes
from ..options import whole_number
from ..players import Player, Sight, answers, player
from ..players.networks import loaded_network
from ..search.consequences import consequences

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Share:
    """How often a network was right."""

    right: int = 0
    moves: int = 0

    @property
    def share(self) -> float | None:
        return self.right / self.moves if self.moves else None

    def with_more(self, right: NDArray[np.bool_]) -> Share:
        return Share(self.right + int(right.sum()), self.moves + len(right))


@dataclass
class Agreement:
    """Sums from which a correlation follows."""

    count: int = 0
    imagined: float = 0.0
    true: float = 0.0
    both: float = 0.0

    @property
    def correlation(self) -> float | None:
        size = (self.imagined * self.true) ** 0.5
        return self.both / size if size > 0 else None

    def add(self, imagined: NDArray[np.float64], true: NDArray[np.float64]) -> None:
        self.count += len(true)
        self.imagined += float((imagined**2).sum())
        self.true += float((true**2).sum())
        self.both += float((imagined * true).sum())


@dataclass
class ModelQuality:
    """What a network imagines of moves, beside what the rules say of them.

    Moves are from games that the network plays with itself without a search, drawing from its
    policy: at every decision one legal action, whichever, and all that could end the game; values
    are compared after all actions. After a move with several outcomes of chance before the next
    decision nothing is compared.
    """

    game: str
    games: int
    seed: int
    ends: Share = field(default_factory=Share)
    """Of moves that end the game."""
    goes_on: Share = field(default_factory=Share)
    """Of moves that do not."""
    turns: dict[int, Share] = field(default_factory=dict)
    """Whose turn it is then, by who it is by the rules: 0 is who has moved, 1 the next seat."""
    throws: int = 0
    """Moves after which chance comes."""
    chance_kl: float = 0.0
    """How far its odds of chance are from those of the rules: divergence in nats, the mean."""
    moves: Agreement = field(default_factory=Agreement)
    """Whether it knows what moves do: values after all moves of a position, as it imagines them
    and as it judges the true positions, around their mean."""

    def as_json(self) -> dict[str, object]:
        shares = {"ends": self.ends, "goes_on": self.goes_on}
        shares |= {f"turn_{who}": share for who, share in sorted(self.turns.items())}
        others = "ends", "goes_on", "turns", "moves"
        facts = {k: v for k, v in asdict(self).items() if k not in others}
        facts |= {"moves": self.moves.count, "moves_correlation": self.moves.correlation}
        return facts | {name: {**asdict(s), "share": s.share} for name, s in shares.items()}


@dataclass(frozen=True)
class Moves:
    """Moves with one outcome of chance at most, and what came of them."""

    tables: Whole  # of the sight
    actions: Whole
    outcomes: Whole  # -1 where none came
    odds: NDArray[np.float64]  # of the outcomes [moves, num_outcomes]
    turns: Whole  # counted from who has moved, or OVER
    states: NDArray[np.void]  # after chance
    taken: NDArray[np.bool_]  # one of every table, whichever

    def __getitem__(self, rows: NDArray[np.bool_]) -> Moves:
        return Moves(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def model_quality(
    game: Game, file: str, *, games: int = 50, seed: int | None = None, device: str = "cpu"
) -> ModelQuality:
    """Compare what the network in a file imagines with the rules."""
    games = whole_number("the games to compare", games, least=1)
    net, kind, game = loaded_network(file, game)
    if kind.model is None:
        raise GameError(f"{file} imagines nothing: only MuZero has a model of the game")
    seed = fresh_seed() if seed is None else seed
    found = ModelQuality(game.name, games, seed)
    who = player(f"net:{file},mode=sample,device={device}", game)
    _play_and_compare(who, game, net.to(device).float().eval(), found)
    return found


def _play_and_compare(who: Player, game: Game, net: LatentNet, found: ModelQuality) -> None:
    rng = np.random.default_rng(found.seed)
    batch = Batch(game, found.games, seed=found.seed)
    own = streams(found.seed, "player", found.games)
    batch.settle()
    while (asked := np.flatnonzero(batch.turns() >= 0)).size:
        sight = Sight(game, batch.states[asked], batch.turns()[asked], own[asked])
        moves = _moves(game, sight, batch.states[asked], rng)
        _compare(net, sight, moves[moves.taken | (moves.turns == OVER)], found)
        _compare_values(net, sight, moves[moves.turns != OVER], found)
        chosen = np.full(batch.size, -1, np.int64)
        chosen[asked] = answers(who, sight)
        own[asked] = sight.rngs
        batch.play(chosen, check=False)  # `answers` has checked them
        batch.settle()


def _moves(game: Game, sight: Sight, states: NDArray[np.void], rng: np.random.Generator) -> Moves:
    """All legal actions at every table; chance is drawn once per table, and the same for all."""
    legal, counts = sight.legal
    tables, places = (np.arange(legal.shape[1]) < counts[:, None]).nonzero()
    actions = legal[tables, places].astype(np.int64)
    after = consequences(game, states[tables], actions)
    sums, draw = after.odds.cumsum(1), rng.random((len(legal), 1))[tables]
    came = np.where(sums[:, -1] > 0, (sums <= draw * sums[:, -1:]).sum(1), -1)
    batch = Batch.of(game, after.states, streams(0, "table", len(tables)))
    batch.play(came, check=False)
    turns = batch.turns()
    onward = np.where(turns == OVER, OVER, (turns - sight.seats[tables]) % game.seats)
    taken = places == rng.integers(0, counts)[tables]
    found = Moves(tables, actions, came, after.odds, onward, np.asarray(batch.states), taken)
    return found[after.exact]


@torch.inference_mode()
def _compare(net: LatentNet, sight: Sight, moves: Moves, found: ModelQuality) -> None:
    if not len(moves.tables):
        return
    codes = net.config.codes
    device = next(net.parameters()).device
    given = sight.views[moves.tables], moves.actions, codes_of(moves.outcomes, codes)
    views, actions, came = (torch.from_numpy(np.asarray(array)).to(device) for array in given)
    latents = net.represent(views)
    afterstates = net.act(latents, actions)
    outlook = net.judge(net.settle(latents, afterstates, came))
    over, ended = moves.turns == OVER, (outlook.ends > 0).cpu().numpy()
    found.ends = found.ends.with_more(ended[over])
    found.goes_on = found.goes_on.with_more(~ended[~over])
    onward = outlook.turns.argmax(1).cpu().numpy()
    for who in np.unique(moves.turns[~over]).tolist():
        right = onward[moves.turns == who] == who
        found.turns[who] = found.turns.get(who, Share()).with_more(right)
    thrown = moves.outcomes >= 0
    if codes > 1 and thrown.any():
        guess = net.odds(afterstates).log_softmax(1).double().cpu().numpy()[thrown]
        _add_divergence(found, odds_of_codes(moves.odds[thrown], codes), guess)


@torch.inference_mode()
def _compare_values(net: LatentNet, sight: Sight, moves: Moves, found: ModelQuality) -> None:
    """Add the values of the mover after its moves, around their mean at every table."""
    if not len(moves.tables):
        return
    game, seats = sight.game, sight.seats[moves.tables]
    device = next(net.parameters()).device
    views = Batch.of(game, moves.states, streams(0, "table", len(seats))).observe(
        (seats + moves.turns) % game.seats
    )
    given = sight.views[moves.tables], moves.actions, codes_of(moves.outcomes, net.config.codes)
    before, actions, came = (torch.from_numpy(np.asarray(array)).to(device) for array in given)
    latents = net.represent(before)
    imagined = net.judge(net.settle(latents, net.act(latents, actions), came))
    true = net.judge(net.represent(torch.from_numpy(np.asarray(views)).to(device)))
    # Values begin with the next mover; who has moved sits so many seats on from there.
    mover = torch.from_numpy((-moves.turns) % game.seats).to(device)[:, None]
    values = [net.values(o.scores).gather(1, mover)[:, 0].double().cpu() for o in (imagined, true)]
    found.moves.add(*(_around_mean(v.numpy(), moves.tables) for v in values))


def _around_mean(values: NDArray[np.float64], tables: Whole) -> NDArray[np.float64]:
    counts = np.bincount(tables).clip(min=1)
    return np.asarray(values - (np.bincount(tables, values) / counts)[tables])


def _add_divergence(
    found: ModelQuality, odds: NDArray[np.float64], log_guess: NDArray[np.float64]
) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):  # what cannot come adds nothing
        parts = np.where(odds > 0, odds * (np.log(odds) - log_guess), 0.0)
    total = found.throws + len(odds)
    found.chance_kl += (float(parts.sum()) - len(odds) * found.chance_kl) / total
    found.throws = total

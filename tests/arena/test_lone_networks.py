"""Networks that do not search meet compiled players on their own device, in the same games."""

from pathlib import Path

import numpy as np
import pytest
from simulator import simulated

from kibitz.arena import lone_networks
from kibitz.arena import match as module
from kibitz.arena.gauntlet import gauntlet
from kibitz.arena.match import line_up_groups, match, play_on
from kibitz.batch import Batch, IllegalAction
from kibitz.games import kuhn, load
from kibitz.nets import save_net
from kibitz.nets.card_set import CardSetConfig, CardSetNet
from kibitz.nets.evaluate import NetEvaluator
from kibitz.nets.kinds import all_kinds
from kibitz.players import player


def small_network(game):
    kind = all_kinds()["residual"]
    return kind.net(kind.config(**kind.fitted(game) | {"width": 16, "blocks": 1}), 3).eval()


def saved(folder, game, net):
    save_net(folder / "net.safetensors", net, {"game": game.describe()})
    return f"net:{folder / 'net.safetensors'},sims=1"


def wait(*_):
    """In place of `play_lone_networks`: all games go the way of those with a search."""


def begun(tables, groups):
    """Games of all tables one after another, the same number of each; who begins takes turns."""
    lined_up = [line_up_groups(game, 2, seed, 0, groups) for seed, game in enumerate(tables)]
    owners, rngs, own = (np.concatenate(arrays) for arrays in zip(*lined_up, strict=True))
    states = np.concatenate([np.array([game.fresh()] * 2 * groups) for game in tables])
    return Batch.of(tables[0], states, rngs), owners, own


def test_games_move_by_move_are_those_that_a_search_would_have_played(tmp_path, monkeypatch):
    """All that is left of a game, down to how far everybody's streams have moved."""
    first = load("beasty_bar")
    text = saved(tmp_path, first, small_network(first))
    names = [text, "greedy", "random", "outcome", "net:" + text[4:].split(",")[0]]
    players = [player(name, first) for name in names]
    opponent = np.arange(120) % 3 + 1
    opponent[::10] = 4  # a player that is no compiled one: these games wait

    def played():
        batch, owners, own = begun([first, load("beasty_bar", start=1, scoring="animals")], 30)
        own = own[:, [0, 1, 1, 1, 1]]
        play_on(batch, players, owners * opponent[:, None], own)
        assert (batch.turns() < 0).all()
        return batch.states.tobytes(), batch.rngs.tobytes(), own.tobytes()

    monkeypatch.setitem(lone_networks.AT_ONCE, "cpu", 50)
    on_the_device = played()
    monkeypatch.setattr(module, "play_lone_networks", wait)
    assert on_the_device == played()


def test_a_gauntlet_of_several_kingdoms_keeps_the_same_chunks(tmp_path, monkeypatch):
    tables = {name: load("dominion", kingdom=name) for name in ("first_game", "improvements")}
    net = CardSetNet(CardSetConfig(slots=17, width=8, attention_heads=2, layers=1)).eval()
    text = saved(tmp_path, tables["first_game"], net)
    met = {"bmu": list(tables), "random": ["improvements"], "smithy1": ["first_game"]}
    with monkeypatch.context() as only:
        only.setattr(module, "answers", None)  # nobody is asked on the host
        found = gauntlet(tmp_path / "r", tables, [text], met, games=8, seed=3)
    monkeypatch.setattr(module, "play_lone_networks", wait)
    as_before = gauntlet(tmp_path / "other", tables, [text], met, games=8, seed=3)
    assert found.results == as_before.results and len(found.results) == 4
    assert gauntlet(tmp_path / "r", tables, [text], met, games=8, seed=3).results == found.results


def test_only_networks_that_are_asked_once_are_alone(tmp_path):
    game = load("kuhn")
    text = saved(tmp_path, game, small_network(game))
    assert lone_networks.is_alone(player(text, game))
    others = (text.replace("=1", "=2"), text.split(",")[0], "mcts:sims=1", "random")
    assert not any(lone_networks.is_alone(player(other, game)) for other in others)


def test_an_illegal_choice_of_a_compiled_player_is_told_in_the_same_words(tmp_path, monkeypatch):
    source = Path(kuhn.__file__).read_text().replace("from ..", "from kibitz.")
    careless = "@rule\ndef careless(s, seat, rng):\n    return 7 * seat\n\n\nGAME = "
    source = source.replace("GAME = ", careless)
    players = '    news=news,\n    players={"careless": careless},\n'
    (tmp_path / "reckless_kuhn.py").write_text(source.replace("    news=news,\n", players))
    game, said = load(tmp_path / "reckless_kuhn.py"), []
    text = saved(tmp_path, game, small_network(game))
    for way in (module.play_lone_networks, wait):
        monkeypatch.setattr(module, "play_lone_networks", way)
        with pytest.raises(IllegalAction, match="careless chose 7, which is not") as refusal:
            match(game, text, "careless", games=2, seed=1)
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_the_simulated_gpu_plays_the_same_games():
    assert simulated(__file__) == ["alike"]


class OnTheDevice(NetEvaluator):
    """A network whose rooms are the simulator's: torch has no GPU there."""

    def room(self, size, view_size):
        return self.where.empty((size, view_size), np.float32)

    def stream(self, views):
        return 0

    def __call__(self, views):
        logits, values = super().__call__(self._tensor(views))
        return self.where.put(logits), self.where.put(values)

    def _tensor(self, views):
        import torch

        return torch.tensor(self.where.get(views))


def simulate():
    """Kuhn poker on both devices; on the simulated one in rooms that get smaller."""
    from kibitz import devices

    devices.WARP = devices.PACKED = 8
    lone_networks.FEWEST["cuda"] = lone_networks.TICKS["cuda"] = 1
    game, ends = load("kuhn"), []
    for device in ("cpu", "cuda"):
        evaluator = OnTheDevice(small_network(game))
        evaluator.where = devices.device_named(device)
        me = player("mcts:sims=1", game)
        me.evaluator, me.device = evaluator, device
        batch, owners, own = begun([game], 6)
        play_on(batch, [me, player("random", game)], owners, own)
        ends.append([a.tobytes() for a in (batch.states, batch.rngs, own)])
    assert ends[0] == ends[1]
    rooms = lone_networks._network(me)._rooms
    assert {lane for lane, _ in rooms} == {0, 1} and len(rooms) > 2
    print("alike")


@pytest.mark.gpu
def test_a_gpu_wins_as_often_as_the_cpu(tmp_path):
    """Their networks differ in precision, so games may, too."""
    game = load("beasty_bar")
    text = saved(tmp_path, game, small_network(game))
    here, there = (
        match(game, f"{text},device={device}", "greedy", games=2000, seed=1)
        for device in ("cpu", "cuda")
    )
    error = np.hypot(here.standard_error, there.standard_error)
    assert abs(here.win_rate - there.win_rate) < 4 * error


if __name__ == "__main__":
    simulate()

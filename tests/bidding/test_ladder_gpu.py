"""Rising bids solved on a GPU as on the CPU: pytest -m gpu tests/bidding/test_ladder_gpu.py

Without one, numba's simulator shows that the launches are right, in a process of its own: it is
chosen when numba is imported.
"""

import numpy as np
import pytest
from simulator import simulated

from kibitz import devices, games
from kibitz.arena.exploitability import exploit, policy_of, table_of_policy
from kibitz.bidding.exact import form_of
from kibitz.game import GameError
from kibitz.players import player
from kibitz.search.best_response import respond
from kibitz.search.matching import VARIANTS
from kibitz.search.regret import solve

DEVICES = ("cpu", "cuda")


def test_the_simulated_gpu_learns_and_answers_like_the_cpu():
    assert simulated(__file__) == [*VARIANTS, "kuhn"]


def simulate():
    devices.WARP = 8
    game = games.load("liars_dice", dice=(1, 1), sides=2)
    cpu, gpu = (form_of(game, device) for device in DEVICES)
    assert (cpu.blocks, gpu.blocks) == (1, 16)
    for variant in VARIANTS:
        here, there = solve(cpu, 2, variant), solve(gpu, 2, variant)
        assert np.array_equal(here.average, gpu.device.get(there.average)), variant
        assert here.response == there.response, variant
        print(variant, flush=True)
    try:
        form_of(games.load("kuhn"), "cuda")
    except GameError as error:
        assert str(error).startswith("kuhn is not a game of rising bids; a GPU"), error
        print("kuhn")


# On a GPU ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forms():
    """One die against two, on both devices."""
    game = games.load("liars_dice", dice=(1, 2))
    return [form_of(game, device) for device in DEVICES]


def check_responses(forms, table):
    here, there = (respond(form, form.device.put(table)) for form in forms)
    assert here == there
    return here


def check_solutions(forms, iterations, variant):
    here, there = (solve(form, iterations, variant) for form in forms)
    assert np.array_equal(here.average, forms[1].device.get(there.average))
    assert here.response == there.response
    return there.response


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["random", "honest"])
def test_a_player_is_exploited_alike(forms, name):
    cpu = forms[0]
    table = table_of_policy(cpu, policy_of(player(name, cpu.game)))
    assert check_responses(forms, table).exploitability > 0.1


@pytest.mark.gpu
def test_the_average_of_a_solver_is_exploited_alike(forms):
    solution = solve(forms[0], 30)
    response = check_responses(forms, solution.average)
    assert response == solution.response and 0 < response.exploitability < 0.1


@pytest.mark.gpu
def test_a_player_is_looked_through_alike():
    game = games.load("liars_dice", dice=(1, 1))
    here, there = (exploit(game, "honest", 10, device=device) for device in DEVICES)
    assert here == there


@pytest.mark.gpu
@pytest.mark.parametrize("variant", ["joker", "normal", "high", "stairs"])
def test_other_variants_are_solved_alike(variant):
    game = games.load("liars_dice", dice=(2, 1), sides=4, variant=variant)
    check_solutions([form_of(game, device) for device in DEVICES], 10, "cfr+")


@pytest.mark.gpu
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_method_learns_alike(forms, variant):
    check_solutions(forms, 30, variant)


@pytest.mark.gpu
def test_cfr_plus_brackets_the_value_alike(forms):
    low, high = check_solutions(forms, 200, "cfr+").bracket
    assert low < high < low + 2e-3


if __name__ == "__main__":
    simulate()

"""What the tests share: oracles, published networks, and a small game from outside the package.

It imports neither kibitz nor anything optional, so that it also works where little is installed.
"""

import gc
import os
from pathlib import Path

import pytest
from oracle_files import ORACLES, oracle_list
from small_games import COIN

HERE = Path(__file__).parent

# Thousands of tests are kept until the end. Looking through them again and again for garbage takes
# a tenth of compiling, so it is not done while they are collected, and leaves them out afterwards.
gc.disable()
gc.set_threshold(20_000, 20, 20)  # compiling makes many objects, and little garbage

# Sample games are loaded by path, as a user would; `support` is imported by tests.
collect_ignore = ["sample_games", "contract/faults", "support"]


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def oracles():
    """The folder with what independent engines say: KIBITZ_ORACLES, or our copy."""
    assert ORACLES.is_dir(), f"there is no folder of oracles {ORACLES}"
    return ORACLES


@pytest.fixture(scope="session")
def models():
    """The folder of published networks: KIBITZ_MODELS. They are not ours to ship."""
    folder = os.environ.get("KIBITZ_MODELS")
    if not folder:
        pytest.skip("KIBITZ_MODELS is not set: it names the folder of the published networks")
    assert Path(folder).is_dir(), f"KIBITZ_MODELS={folder} is not a folder"
    return Path(folder)


@pytest.fixture(scope="module")
def one_thread():
    """Small networks on a busy machine lose more by threads of torch than they win."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kibitz.training.lanes", lambda: 1)  # what a run would give torch
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def coin():
    """A game of one file outside the package that writes no more than it must."""
    from kibitz import games

    return games.load(COIN)


def pytest_generate_tests(metafunc):
    """A test marked oracle("liars_dice", "cases") that takes `oracle_case` gets them one by one."""
    if "oracle_case" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("oracle")
        file, part = mark.args
        try:
            cases = oracle_list(file, part)
        except (pytest.skip.Exception, Exception) as reason:  # one that says so is better than none
            cases = [reason]
        ids = [f"{file}-{_case_id(i, case)}" for i, case in enumerate(cases)]
        metafunc.parametrize("oracle_case", cases, ids=ids, indirect=True)


def _case_id(i, case):
    return case.get("id", i) if isinstance(case, dict) else type(case).__name__


@pytest.fixture
def oracle_case(request):
    if isinstance(request.param, pytest.skip.Exception):
        raise request.param
    if isinstance(request.param, Exception):
        pytest.fail(f"no oracle cases: {type(request.param).__name__}: {request.param}")
    return request.param

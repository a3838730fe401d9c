"""Threads that stay awake for a moment between two tasks."""

import threading
import time

import numpy as np
import pytest

from kibitz.search.team import Team


def note_part(first, end, step, parts, threads):
    parts[first] += 1
    threads[first] = threading.get_ident()


def test_every_part_is_done_once_by_a_thread_of_its_own():
    team, parts, threads = Team(3), np.zeros(3, int), np.zeros(3, np.uint64)
    for _ in range(200):
        team.run(note_part, parts, threads)
    assert parts.tolist() == [200] * 3
    assert len(set(threads.tolist())) == 3 and threads[0] == threading.get_ident()


def test_helpers_that_have_gone_to_sleep_are_woken():
    team, parts, threads = Team(2), np.zeros(2, int), np.zeros(2, np.uint64)
    for _ in range(3):
        time.sleep(0.2)
        team.run(note_part, parts, threads)
    assert parts.tolist() == [3, 3]


def test_what_goes_wrong_in_a_helper_reaches_the_caller():
    def fail(first, end, step):
        if first == 1:
            raise ValueError("in the second part")

    team, parts, threads = Team(2), np.zeros(2, int), np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="in the second part"):
        team.run(fail)
    team.run(note_part, parts, threads)
    assert parts.tolist() == [1, 1]


def test_callers_in_several_threads_take_turns():
    team, parts, threads = Team(2), np.zeros(2, int), np.zeros(2, np.uint64)

    def repeat():
        for _ in range(50):
            team.run(note_part, parts, threads)

    callers = [threading.Thread(target=repeat) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert parts.tolist() == [200, 200]

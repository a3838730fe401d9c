"""Promises of games without secrets to the searches that use more of them than their rules."""

from __future__ import annotations

import numpy as np

from ..game import OVER, Game
from ..open_rules import Judge, OpenRules
from ..search.deepening import stripped, without_history
from ..search.judging import (
    EVEN,
    NOBODY,
    begin,
    count,
    decisive,
    follow,
    judge_token,
    judged,
    key,
    urges,
)
from .trial import Broken, NotTried, State, Trial

TRIED = 100  # positions
MOST_URGE = 255


def _rules(trial: Trial) -> OpenRules:
    if trial.hides:
        raise NotTried("something is hidden: alpha-beta is not for this game")
    return trial.game.open_rules


def decisive_actions_win(trial: Trial) -> None:
    """`decisive` names an action that wins at once, and is -1 only where there is none."""
    if _rules(trial).decisive is None:
        raise NotTried("the game has no `decisive`")
    for s in trial.decisions:
        seat, action = trial.turn(s), int(decisive(s))
        winning = [a for a in trial.legal(s) if _wins(trial, trial.after(s, a), seat)]
        if action not in (winning or [-1]):
            raise Broken(f"{trial.at(s)}: `decisive` says {action}, but {winning or 'none'} win")


def _wins(trial: Trial, s: State, seat: int) -> bool:
    if trial.turn(s) != OVER:
        return False
    out = np.zeros(trial.game.seats, np.float32)
    trial.rules.score(s, out)
    return bool(out[seat] > 0)


def keys_name_positions(trial: Trial) -> None:
    """Positions have one `key` if they are the same but for their history, and else different ones.

    A position without its history has the actions that it had, and they lead to the same keys.
    """
    if _rules(trial).key is None:
        raise NotTried("the game has no `key`: what a seat knows is taken for it")
    bare, met = stripped(trial.game), dict[int, State]()
    for s in trial.decisions:
        alone, _, _ = without_history(bare, s)
        before: State = met.setdefault(int(key(s)), alone)
        if before.tobytes() != alone.tobytes():
            differ = f"{bare.text(before)!r} and {bare.text(alone)!r}"
            raise Broken(f"{trial.game.name}: two positions have one `key`: {differ}")
        if int(key(alone)) != int(key(s)) or bare.legal(alone) != trial.legal(s):
            raise Broken(f"{trial.at(s)}: without its history the position is another one")
        for action in trial.legal(s):
            after = bare.copy(alone)
            bare.play(after, action)
            if int(key(after)) != int(key(trial.after(s, action))):
                raise Broken(f"{trial.at(s)}: action {action} leads to another `key` there")


def judges_keep_their_word(trial: Trial) -> None:
    """Judges stay within their bounds, and notes that follow moves are those begun anew.

    `count` counts what `actions` lists, and `urges` are from 0 to 255. With features, changes lead
    from one list to the next.
    """
    rules = _rules(trial)
    bare = stripped(trial.game)
    for s in trial.thinned(trial.decisions, TRIED):
        alone, _, _ = without_history(bare, s)
        _check_count(trial, alone)
        _check_urges(trial, alone)
        if rules.features is not None:
            _check_features(trial, bare, alone)
        for name, judge in {**rules.judges, "nobody": NOBODY}.items():
            _check_judge(trial, bare, alone, name, judge)


def _check_count(trial: Trial, s: State) -> None:
    if (counted := int(count(s))) != (listed := len(trial.game.legal(s))):
        raise Broken(f"{trial.at(s)}: `count` says {counted}, and there are {listed} actions")


def _check_urges(trial: Trial, s: State) -> None:
    legal = np.array(trial.game.legal(s), np.int16)
    out = np.zeros(len(legal), np.int32)
    urges(s, legal, len(legal), out)
    if out.min() < 0 or out.max() > MOST_URGE:
        raise Broken(f"{trial.at(s)}: `urges` are from 0 to {MOST_URGE}, not {out.tolist()}")


def _check_judge(trial: Trial, game: Game, s: State, name: str, judge: Judge) -> None:
    token, notes = judge_token(game, judge), np.zeros(3, judge.note)
    begin(token, s, notes[0])
    value = judged(token, s, notes[0])
    if not -EVEN < value < EVEN:
        raise Broken(f"{trial.at(s)}: judge {name!r} says {value}, not within {EVEN - 1}")
    for action in game.legal(s):
        after = game.copy(s)
        game.play(after, action)
        if game.turn(after) == OVER:
            continue
        follow(token, s, action, notes[0], notes[1])
        begin(token, after, notes[2])
        if judged(token, after, notes[1]) != judged(token, after, notes[2]):
            raise Broken(f"{trial.at(s)}: the note of judge {name!r} does not follow {action}")


def _check_features(trial: Trial, game: Game, s: State) -> None:
    features = game.open_rules.features
    assert features is not None
    out = np.zeros(features.most, np.int16)

    def listed(t: State, seat: int) -> set[int]:
        found = out[: features.present(t, seat, out)].tolist()
        if len(set(found)) < len(found) or not set(found) <= set(range(features.size)):
            raise Broken(f"{trial.at(t)}: features are different numbers below {features.size}")
        return set(found)

    for action in game.legal(s):
        after = game.copy(s)
        game.play(after, action)
        for seat in range(game.seats):
            expected = listed(s, seat)
            for change in out[: features.changes(s, action, seat, out)].tolist():
                expected ^= {abs(change) - 1}
            if expected != listed(after, seat):
                raise Broken(f"{trial.at(s)}: features of seat {seat} do not follow {action}")

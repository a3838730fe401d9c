"""Promises of the rules: chance, actions, notation, scores, and that nothing else plays a part."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..game import OVER
from .trial import UNWRITTEN, Broken, NotTried, State, Trial, some

ROLLS = 4000  # at each chance move put to the test
ROLLED_AT = 12  # chance moves with different odds
WORDED = 40  # actions of a position whose texts are read
PLAYED_ON = 100  # copies played to the end
SIGMAS = 4.5
SLACK = 3  # counts: keeps rare outcomes, which are not normally distributed, from false alarms


def odds_sum_to_one(trial: Trial) -> None:
    """Odds are not negative and sum to 1, and every outcome that has odds can be played."""
    for s in trial.chances:
        odds = trial.odds(s)
        if not (np.isfinite(odds).all() and odds.min() >= 0 and abs(odds.sum() - 1) < 1e-9):
            raise Broken(f"{trial.at(s)}: the odds are {odds.tolist()}, their sum {odds.sum()}")
        for outcome in trial.moves(s):
            t = trial.after(s, outcome)
            if t.tobytes() == s.tobytes() or (trial.turn(t) != OVER and not trial.moves(t)):
                raise Broken(f"{trial.at(s)}: after outcome {outcome} the game cannot go on")


def roll_follows_odds(trial: Trial) -> None:
    """`roll` plays the outcome it returns, and rolls each as often as `odds` says."""
    for number, s in enumerate(_different_odds(trial)):
        odds, rng = trial.odds(s), trial.rng(number)
        after = {outcome: trial.after(s, outcome).tobytes() for outcome in trial.moves(s)}
        counts = np.zeros(len(odds))
        for _ in range(ROLLS):
            t = trial.game.copy(s)
            outcome = int(trial.game.roll(t, rng))
            if outcome not in after:
                raise Broken(f"{trial.at(s)}: rolled {outcome}, which has no odds")
            if t.tobytes() != after[outcome]:
                raise Broken(f"{trial.at(s)}: rolled {outcome} but did not play it")
            counts[outcome] += 1
        far = SIGMAS * np.sqrt(ROLLS * odds * (1 - odds)) + SLACK
        for outcome in np.flatnonzero(abs(counts - ROLLS * odds) > far).tolist():
            often = f"{counts[outcome]:.0f} of {ROLLS} times"
            raise Broken(
                f"{trial.at(s)}: rolled {outcome} {often}, its odds are {odds[outcome]:.4f}"
            )


def _different_odds(trial: Trial) -> list[State]:
    found = {trial.odds(s).tobytes(): s for s in reversed(trial.chances)}
    return list(found.values())[:ROLLED_AT]


def actions_ascend(trial: Trial) -> None:
    """A seat to move has a legal action; they ascend, and are at most `max_legal`."""
    game = trial.game
    for s in trial.decisions:
        out, n = trial.written(s)
        legal = out[: max(n, 0)].tolist()
        if not 1 <= n <= game.max_legal:
            raise Broken(f"{trial.at(s)}: {n} legal actions, there are 1 to {game.max_legal}")
        if sorted(set(legal)) != legal or legal[0] < 0 or legal[-1] >= game.num_actions:
            raise Broken(f"{trial.at(s)}: {legal} does not ascend from 0 to {game.num_actions - 1}")
        if (out[game.max_legal :] != UNWRITTEN).any():
            raise Broken(f"{trial.at(s)}: `actions` wrote behind its {game.max_legal} entries")


def labels_tell_actions_apart(trial: Trial) -> None:
    """Legal actions have different labels, and a re-deal for the seat to move keeps each."""
    rng = trial.rng()
    for s in trial.decisions:
        labels = {a: int(trial.game.label(s, a)) for a in trial.legal(s)}
        if len(set(labels.values())) < len(labels):
            raise Broken(f"{trial.at(s)}: actions share a label: {labels}")
        t = trial.redealt(s, trial.turn(s), rng)
        for a in set(trial.legal(t)) & set(labels):
            if (now := int(trial.game.label(t, a))) != labels[a]:
                raise Broken(
                    f"{trial.at(s)}: the label of action {a} is {labels[a]}, re-dealt {now}"
                )


def texts_parse_back(trial: Trial) -> None:
    """The text of a position reads back as the same bytes, in any case and with blanks around."""
    for s in trial.chances + trial.decisions + trial.ends:
        told = trial.game.text(s)
        for typed in (told, told.upper(), f"  {told} \t"):
            if (t := trial.game.read(typed)).tobytes() != s.tobytes():
                raise Broken(f"{trial.at(s)}: {typed!r} reads as {trial.differences(s, t)}")


def action_texts_parse_back(trial: Trial) -> None:
    """Texts of actions and outcomes differ, and each reads back as the action it tells."""
    for s in trial.chances + trial.decisions:
        moves = some(trial.moves(s), WORDED)
        texts = [trial.game.action_text(s, move) for move in moves]
        if len({told.lower() for told in texts}) < len(texts):
            raise Broken(f"{trial.at(s)}: moves share a text: {texts}")
        for move, told in zip(moves, texts, strict=True):
            for typed in (told, told.upper(), f"  {told} \t"):
                if (read := trial.game.read_action(s, typed)) != move:
                    raise Broken(f"{trial.at(s)}: {typed!r} reads as {read}, not as {move}")


def scores_stay_in_bounds(trial: Trial) -> None:
    """Every seat has a score within `score_range`; those of teams sum to 0 if the game says so."""
    game = trial.game
    low, high = game.score_range
    for s in trial.ends:
        out = np.full(game.seats, np.nan, np.float32)
        game.score(s, out)
        if not np.isfinite(out).all() or out.min() < low or out.max() > high:
            raise Broken(f"{trial.at(s)}: the scores are {out.tolist()}, not within {low}..{high}")
        if game.zero_sum and abs(float(out[game.captains].sum(dtype=np.float64))) > 1e-5:
            raise Broken(f"{trial.at(s)}: the scores {out.tolist()} do not sum to 0")


def partners_score_the_same(trial: Trial) -> None:
    """The seats of a team have the same score at the end."""
    game = trial.game
    if len(game.captains) == game.seats:
        raise NotTried("every seat is a team of its own")
    for s in trial.ends:
        scores = game.scores(s)
        for seat, team in enumerate(game.teams):
            if scores[seat] != scores[game.captains[team]]:
                raise Broken(f"{trial.at(s)}: the scores of teams {game.teams} are {scores}")


def every_game_ends(trial: Trial) -> None:
    """Random play comes to an end."""
    for playout in trial.playouts:
        if not playout.ended:
            moves = len(playout.moves)
            raise Broken(f"{trial.at(playout.states[-1])}: no end after {moves} moves")


def looking_changes_nothing(trial: Trial) -> None:
    """Only `start`, `play`, `roll` and `redeal` write to a state."""
    game = trial.game
    out = np.zeros(game.seats, np.float32)
    for s in trial.chances + trial.decisions + trial.ends:
        t, who = game.copy(s), trial.turn(s)
        game.text(t)
        game.about(t)
        for seat in range(game.seats):
            game.look(t, seat)
            game.known(t, seat)
            game.seen(t, seat)
        if who == OVER:
            game.score(t, out)
        for move in trial.moves(t)[:5] if who != OVER else []:
            game.action_text(t, move)
        for move in trial.legal(t)[:5] if who >= 0 else []:
            game.label(t, move)
        for choose in game.players.values() if who >= 0 else ():
            choose(t, who, trial.rng())
        if t.tobytes() != s.tobytes():
            raise Broken(f"{trial.at(s)}: looking changed {trial.differences(s, t)}")


def copies_are_independent(trial: Trial) -> None:
    """Play on a copy never changes the original."""
    for s in some(trial.chances + trial.decisions, PLAYED_ON):
        before = s.tobytes()
        trial.play_on(trial.game.copy(s), trial.rng())
        if s.tobytes() != before:
            raise Broken(f"{trial.at(s)}: changed by play on a copy of it")


def replay_is_exact(trial: Trial) -> None:
    """The same moves from the start give the same bytes, at every step."""
    for playout in trial.playouts:
        s = trial.game.fresh()
        for step, move in enumerate(playout.moves):
            trial.game.play(s, move)
            if s.tobytes() != playout.states[step + 1].tobytes():
                told = trial.differences(playout.states[step + 1], s)
                raise Broken(
                    f"{trial.at(playout.states[step])}: move {move} gave {told} played again"
                )


def start_forgets(trial: Trial) -> None:
    """`start` leaves nothing of what was in the record before."""
    game = trial.game
    fresh, options = game.fresh(), game.options.numbers()
    dice = np.random.default_rng(trial.seed)
    for used in [*trial.ends[:100], *(_noise(game.state, dice) for _ in range(20))]:
        s = game.copy(used)
        game.start(s, options)
        if s.tobytes() != fresh.tobytes():
            told = trial.differences(fresh, s)
            raise Broken(f"{game.name}: a new game after {trial.at(used)} begins with {told}")


def _noise(kind: np.dtype[Any], dice: np.random.Generator) -> State:
    """A record of random bytes; the tag and the tail are the house's and stay 0."""
    made = np.zeros(1, kind)
    for name in kind.names or ():
        if name != "tail" and not name.startswith("tag_"):
            field = kind[name]
            noise = np.frombuffer(dice.bytes(field.itemsize), field.base)
            made[name] = noise.reshape(field.shape)
    return made[0]

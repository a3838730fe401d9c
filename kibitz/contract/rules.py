"""Promises of the rules: chance, actions, notation, scores, and that nothing else plays a part."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..game import CHANCE, OVER, GameError
from ..notation import own_fields
from .trial import LONGEST, UNWRITTEN, Broken, NotTried, State, Trial, thinned

ROLLS = 4000  # at each chance move put to the test
ROLLED_AT = 12  # chance moves with different odds
WORDED = 40  # actions of a position whose texts are read
PLAYED_ON = 100  # copies played to the end
SIGMAS = 4.5
NOISE = 20  # records of random bytes that a new game begins in
SLACK = 3  # counts: keeps rare outcomes, which are not normally distributed, from false alarms


def odds_sum_to_one(trial: Trial) -> None:
    """Odds are not negative and sum to 1, and every outcome that has odds can be played."""
    for s in trial.chances:
        odds = trial.odds(s)
        if not (np.isfinite(odds).all() and odds.min() >= 0 and abs(odds.sum() - 1) < 1e-9):
            raise Broken(f"{trial.at(s)}: `odds` says {odds.tolist()}, their sum is {odds.sum()}")
        for outcome in trial.moves(s):
            t = trial.after(s, outcome)
            if t.tobytes() == s.tobytes() or (trial.turn(t) != OVER and not trial.moves(t)):
                raise Broken(f"{trial.at(s)}: after `play(s, {outcome})` the game cannot go on")


def roll_follows_odds(trial: Trial) -> None:
    """`roll` plays the outcome it returns, and rolls each as often as `odds` says."""
    for number, s in enumerate(_different_odds(trial)):
        odds, rng = trial.odds(s), trial.rng(number)
        after = {outcome: trial.after(s, outcome).tobytes() for outcome in trial.moves(s)}
        counts = np.zeros(len(odds))
        for _ in range(ROLLS):
            t = trial.game.copy(s)
            outcome = int(trial.rules.roll(t, rng))
            if outcome not in after:
                raise Broken(f"{trial.at(s)}: `roll` rolled {outcome}, which has no odds")
            if t.tobytes() != after[outcome]:
                raise Broken(f"{trial.at(s)}: `roll` returned {outcome} but did not play it")
            counts[outcome] += 1
        far = SIGMAS * np.sqrt(ROLLS * odds * (1 - odds)) + SLACK
        for outcome in np.flatnonzero(abs(counts - ROLLS * odds) > far).tolist():
            often = f"{counts[outcome]:.0f} of {ROLLS} times"
            raise Broken(
                f"{trial.at(s)}: `roll` rolled {outcome} {often}, `odds` says {odds[outcome]:.4f}"
            )


def _different_odds(trial: Trial) -> list[State]:
    found = {trial.odds(s).tobytes(): s for s in reversed(trial.chances)}
    return list(found.values())[:ROLLED_AT]


def actions_ascend(trial: Trial) -> None:
    """A seat to move has a legal action; they ascend, and are at most `max_legal`.

    So do the candidates for a search, which are among them.
    """
    game = trial.game
    for s in trial.decisions:
        out, n = trial.written(s)
        legal = out[: max(n, 0)].tolist()
        if not 1 <= n <= game.max_legal:
            raise Broken(f"{trial.at(s)}: `actions` returned {n}, not 1 to {game.max_legal}")
        if sorted(set(legal)) != legal or legal[0] < 0 or legal[-1] >= game.num_actions:
            last = game.num_actions - 1
            raise Broken(f"{trial.at(s)}: `actions` wrote {legal}, not ascending within 0..{last}")
        if (out[game.max_legal :] != UNWRITTEN).any():
            raise Broken(f"{trial.at(s)}: `actions` wrote behind its {game.max_legal} entries")
        out = np.full(len(out), UNWRITTEN, np.int16)
        searched = out[: max(int(trial.rules.candidates(s, out)), 0)].tolist()
        if not searched or searched != [a for a in legal if a in searched]:
            raise Broken(f"{trial.at(s)}: `candidates` wrote {searched}, legal are {legal}")


def labels_tell_actions_apart(trial: Trial) -> None:
    """Legal actions have different labels, and a re-deal for the seat to move keeps each."""
    rng = trial.rng()
    for s in trial.decisions:
        labels = {a: int(trial.rules.label(s, a)) for a in trial.legal(s)}
        if len(set(labels.values())) < len(labels):
            raise Broken(f"{trial.at(s)}: `label` names two actions alike: {labels}")
        t = trial.redealt(s, trial.turn(s), rng)
        for a in set(trial.legal(t)) & set(labels):
            if (now := int(trial.rules.label(t, a))) != labels[a]:
                raise Broken(
                    f"{trial.at(s)}: `label` of action {a} is {labels[a]}, but {now} re-dealt"
                )


def texts_parse_back(trial: Trial) -> None:
    """The text of a position reads back as the same bytes, in any case and with blanks around.

    Where case matters, upper case may be refused, but never read as another position.
    """
    for s in trial.chances + trial.decisions + trial.ends:
        text = trial.rules.text(s)
        for typed in (text, f"  {text} \t", *_in_upper_case(trial, text)):
            if (t := trial.read(typed)).tobytes() != s.tobytes():
                raise Broken(
                    f"{trial.at(s)}: `parse` reads {typed!r}, which `text` wrote, as another "
                    f"position; they differ in {trial.differences(s, t)}"
                )


def _in_upper_case(trial: Trial, text: str) -> list[str]:
    """The text in upper case, unless the game refuses that because case matters."""
    if trial.game.case_matters:
        try:
            trial.game.read(text.upper())
        except GameError:
            return []
    return [text.upper()]


def action_texts_parse_back(trial: Trial) -> None:
    """Texts of actions and outcomes differ, and each reads back as the action it tells."""
    for s in trial.chances + trial.decisions:
        moves = thinned(trial.moves(s), WORDED)
        texts = [trial.rules.action_text(s, move) for move in moves]
        if len({text.lower() for text in texts}) < len(texts):
            raise Broken(f"{trial.at(s)}: `action_text` gives two moves one text: {texts}")
        for move, text in zip(moves, texts, strict=True):
            for typed in (text, text.upper(), f"  {text} \t"):
                if (read := trial.rules.read_action(s, typed)) != move:
                    raise Broken(
                        f"{trial.at(s)}: `action_text` calls move {move} {text!r}, but {typed!r} "
                        f"reads as move {read}"
                    )


def scores_stay_in_bounds(trial: Trial) -> None:
    """Every seat has a score within `score_range`; those of teams sum to 0 if the game says so."""
    game = trial.game
    low, high = game.score_range
    for s in trial.ends:
        out = np.full(game.seats, np.nan, np.float32)
        trial.rules.score(s, out)
        if not np.isfinite(out).all() or out.min() < low or out.max() > high:
            raise Broken(f"{trial.at(s)}: `score` gives {out.tolist()}, not within {low}..{high}")
        if game.zero_sum and abs(float(out[game.captains].sum(dtype=np.float64))) > 1e-5:
            raise Broken(f"{trial.at(s)}: `score` gives {out.tolist()}, which do not sum to 0")


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
        s, moves = playout.states[-1], len(playout.moves)
        if not playout.ended and moves < LONGEST:
            raise Broken(f"{trial.at(s)}: seat {trial.turn(s)} is to move, no action is legal")
        if not playout.ended:
            raise Broken(
                f"{trial.at(s)}: no end after {moves} moves. Where play can go in circles, `turn` "
                f"ends the game after a number of moves: an option with a default"
            )


def rules_run_and_return(trial: Trial) -> None:
    """Every rule runs in every position without an error, and comes to an end."""
    rng = trial.rng()
    for s in trial.chances + trial.decisions + trial.ends:
        _ask_everything(trial, trial.game.copy(s))
        for seat in range(trial.game.seats) if trial.turn(s) != OVER else ():
            trial.redealt(s, seat, rng)


def looking_changes_nothing(trial: Trial) -> None:
    """Only `start`, `play`, `roll` and `redeal` write to a state."""
    for s in trial.chances + trial.decisions + trial.ends:
        t = trial.game.copy(s)
        _ask_everything(trial, t)
        if t.tobytes() != s.tobytes():
            raise Broken(f"{trial.at(s)}: a rule that only looks changed {trial.differences(s, t)}")


def _ask_everything(trial: Trial, s: State) -> None:
    """All that can be asked about a position without changing it."""
    rules, who = trial.rules, trial.turn(s)
    rules.text(s)
    rules.about(s)
    for seat in range(trial.game.seats):
        rules.look(s, seat)
        rules.known(s, seat)
        rules.seen(s, seat)
    if who == OVER:
        rules.score(s, np.zeros(trial.game.seats, np.float32))
        return
    for move in trial.moves(s)[:5]:
        rules.action_text(s, move)
    for move in trial.legal(s)[:5] if who != CHANCE else []:
        rules.label(s, move)
    for player in trial.game.players if who != CHANCE else ():
        trial.choice(player, s, who, trial.rng())


def copies_are_independent(trial: Trial) -> None:
    """Play on a copy never changes the original."""
    for s in trial.thinned(trial.chances + trial.decisions, PLAYED_ON):
        before = s.tobytes()
        trial.play_on(trial.game.copy(s), trial.rng())
        if s.tobytes() != before:
            raise Broken(f"{trial.at(s)}: changed by play on a copy of it")


def replay_is_exact(trial: Trial) -> None:
    """The same moves from the start give the same bytes, at every step."""
    for playout in trial.playouts:
        s = trial.rules.fresh()
        for step, move in enumerate(playout.moves):
            trial.rules.play(s, move)
            if s.tobytes() != playout.states[step + 1].tobytes():
                changed = trial.differences(playout.states[step + 1], s)
                raise Broken(
                    f"{trial.at(playout.states[step])}: `play(s, {move})` gave {changed} when it "
                    f"was played again"
                )


def start_sets_every_field(trial: Trial) -> None:
    """`start` leaves nothing of what was in the record before: records are used again."""
    options, dice = trial.game.options.numbers(), np.random.default_rng(trial.seed)
    fresh = trial.rules.fresh()
    for _ in range(NOISE):
        s = _noise(trial.game.state, dice)
        trial.rules.start(s, options)
        unset = [f"`{n}`" for n in own_fields(s) if s[n].tobytes() != fresh[n].tobytes()]
        if unset:
            raise Broken(f"{trial.game.name}: `start` does not set all of {', '.join(unset)}")


def _noise(kind: np.dtype[Any], dice: np.random.Generator) -> State:
    """A record of random bytes; the tag and the tail are the house's and stay 0."""
    noisy = np.zeros(1, kind)
    for name in kind.names or ():
        if name != "tail" and not name.startswith("tag_"):
            field = kind[name]
            noise = np.frombuffer(dice.bytes(field.itemsize), field.base)
            noisy[name] = noise.reshape(field.shape)
    return noisy[0]

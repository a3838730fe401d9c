"""Promises of what a seat may see: views, `known`, re-deals and players that do not peek."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..chance import stream, streams
from ..game import DEFAULT_VIEW, ONLOOKER, Game
from ..notation import own_fields, view_text
from ..players import Sight
from .trial import Broken, NotTried, State, Trial, thinned

REDEALS = 3  # of a position for a seat, where every one must hold
HEARD = 200  # positions of whose moves seats hear
PLAYED_ON = 60  # re-dealt positions played to the end
DEALS = 8000  # of each of two samples whose frequencies are compared
MOVERS = 200  # positions at which the re-deal of the seat to move is looked at
ASKED_AGAIN = 10  # times that a player has to choose the same
STUBBORN = 100  # re-deals until a secret counts as never re-dealt
REDEALT = 1500  # likewise, from one position
REDEALT_AT = 8  # positions
LABELLED = 100  # deals whose labels are compared: each is a call from Python
PLIES = 3  # decisions after the deal at which re-deals are still compared with the truth
SIGMAS = 4.5
THROWS = 200  # of a table, that a player tries to foretell
FORETOLD = 6.0  # sigmas
BUCKETS = 64
PROJECTIONS = 64  # bytes, and pairs of bytes, whose frequencies are compared


# Every re-deal must keep what the seat knows -----------------------------------------------------


def views_keep_secrets(trial: Trial) -> None:
    """Re-deal what a seat cannot know: all that it sees, and its actions, stay the same.

    Until the game is over: what is shown then is no secret any more.
    """
    rng = trial.rng()
    for s in trial.chances + trial.decisions:
        for seat in range(trial.game.seats):
            before = shown_to(trial, s, seat)
            for _ in range(REDEALS):
                t = trial.redealt(s, seat, rng)
                now = shown_to(trial, t, seat)
                if changed := [rule for rule in before if np.any(now[rule] != before[rule])]:
                    rule = changed[0]
                    raise Broken(
                        f"{trial.at(s)}: {_leak(trial, changed, seat)} when what it cannot know is "
                        f"re-dealt to {trial.game.text(t)!r}: `{rule}` says\n"
                        f"{_readable(trial, before[rule])} and then\n{_readable(trial, now[rule])}"
                    )


def shown_to(trial: Trial, s: State, seat: int) -> dict[str, Any]:
    """Everything that one seat sees of a position, by the rule that shows it."""
    who = trial.turn(s)
    views = {_observer(view): face.look(s, seat) for view, face in trial.faces.items()}
    shown = {
        **views,
        "known": trial.known(s, seat),
        "seen": trial.rules.seen(s, seat),
        "about": trial.rules.about(s),
        "turn": who,
        "actions": trial.legal(s) if who == seat else None,
    }
    if getattr(trial.game.seen, "func", None) is view_text:
        del shown["seen"]  # the view in words
    return shown


def _observer(view: str) -> str:
    """What the rule that writes a view is called in a message."""
    return "observe" if view == DEFAULT_VIEW else f"observers[{view!r}]"


def _leak(trial: Trial, changed: list[str], seat: int) -> str:
    """Whose fault it is: one rule that changes shows a secret; several, and it is `redeal`."""
    rules = ", ".join(f"`{rule}`" for rule in changed)
    if len(changed) == 1:
        return f"{rules} depends on what is hidden from seat {seat}: its answer changes"
    return f"`redeal` changes what seat {seat} knows ({rules} change)"


def _readable(trial: Trial, answer: Any) -> Any:
    if not isinstance(answer, np.ndarray):
        return answer
    game = next(face for face in trial.faces.values() if face.view_size == len(answer))
    return view_entries(game, answer.tobytes())


def view_entries(game: Game, view: bytes) -> dict[str, dict[str, float]]:
    """A view as its entries that are not zero, by field and by place."""
    entries: dict[str, dict[str, float]] = {}
    for name, values in zip(game.view.names or (), np.frombuffer(view, game.view)[0], strict=True):
        places = [",".join(map(str, at)) for at in np.argwhere(values)]
        entries[name] = dict(zip(places, values[values != 0].tolist(), strict=True))
    return entries


def news_keeps_secrets(trial: Trial) -> None:
    """Of moves after which a seat knows the same, it hears the same, whatever is hidden from it.

    Several public ways to one and the same position may have names of their own. But each name must
    be possible in every deal that the seat cannot tell apart, or it gives the deal away.
    """
    _check_news(trial, lambda seat: seat)


def onlookers_see_no_secrets(trial: Trial) -> None:
    """An onlooker sees and hears nothing that depends on what is hidden from any seat."""
    if not trial.game.onlookers:
        raise NotTried("the game shows onlookers nothing")
    rng = trial.rng(7)
    for s in trial.thinned(trial.chances + trial.decisions, HEARD):
        seen = trial.rules.seen(s, ONLOOKER)
        for seat in range(trial.game.seats):
            t = trial.redealt(s, seat, rng)
            if (now := trial.rules.seen(t, ONLOOKER)) != seen:
                raise Broken(
                    f"{trial.at(s)}: `seen` shows an onlooker what seat {seat} cannot know. "
                    f"Re-dealt to {trial.game.text(t)!r} it changes from\n{seen}\nto\n{now}"
                )
    _check_news(trial, lambda seat: ONLOOKER)


def _check_news(trial: Trial, hearer: Callable[[int], int]) -> None:
    """What `hearer(seat)` hears must follow from what the seat knows before and after."""
    rng = trial.rng(6)
    heard: dict[tuple[int, int, int], tuple[set[str], str]] = {}
    for s in trial.thinned(trial.chances + trial.decisions, HEARD):
        for seat in range(trial.game.seats):
            for t in (s, trial.redealt(s, seat, rng), trial.redealt(s, seat, rng)):
                for after, names in _names_by_knowledge(trial, t, seat, hearer(seat)).items():
                    key = seat, trial.known(t, seat), after
                    before, where = heard.setdefault(key, (names, trial.at(t)))
                    if names != before:
                        raise Broken(
                            f"{trial.at(t)}: `news` tells {_who(hearer(seat))} {_listed(names)}. "
                            f"At {where} seat {seat} knows the same, before and after, but "
                            f"{_listed(before)} is heard"
                        )


def _who(hearer: int) -> str:
    return "an onlooker" if hearer == ONLOOKER else f"seat {hearer}"


def _names_by_knowledge(trial: Trial, s: State, seat: int, hearer: int) -> dict[int, set[str]]:
    """All news that can be heard now, by what a seat knows afterwards."""
    names: dict[int, set[str]] = {}
    truths: dict[int, set[bytes]] = {}
    for move in trial.moves(s):
        t = trial.after(s, move)
        after = trial.known(t, seat)
        names.setdefault(after, set()).add(str(trial.rules.news(s, hearer, move)))
        truths.setdefault(after, set()).add(t.tobytes())
    for after in names if trial.turn(s) != seat else ():
        if len(names[after]) > 1 and len(truths[after]) > 1:
            raise Broken(
                f"{trial.at(s)}: `news` tells {_who(hearer)} moves apart after which seat {seat} "
                f"knows the same of a different truth: {_listed(names[after])} is heard"
            )
    return names


def _listed(names: set[str]) -> str:
    return " or ".join(map(repr, sorted(names)))


def laid_open_hides_nothing(trial: Trial) -> None:
    """Where a position is laid open, nothing is left to re-deal, and the same can be done."""
    game, rng = trial.game, trial.rng(9)
    if game.lay_open is None:
        raise NotTried("there is no `lay_open`: what is hidden stays so")
    for s in trial.thinned(trial.decisions, HEARD):
        states = np.array([s])
        game.lay_open(states)
        opened, seat = states[0], trial.turn(s)
        if trial.turn(opened) != seat or trial.legal(opened) != trial.legal(s):
            raise Broken(f"{trial.at(s)}: `lay_open` changes whose turn it is or what is legal")
        if game.flaw is not None and (wrong := game.wrong_with(opened)):
            raise Broken(f"{trial.at(s)}: laid open it is no position: {wrong}")
        for seat in range(game.seats):
            if trial.redealt(opened, seat, rng).tobytes() != opened.tobytes():
                raise Broken(f"{trial.at(s)}: laid open it still hides something from seat {seat}")


def redealt_games_go_on(trial: Trial) -> None:
    """A re-dealt position plays on to the end by the rules."""
    rng = trial.rng()
    for s in trial.thinned(trial.chances + trial.decisions, PLAYED_ON):
        for seat in range(trial.game.seats):
            trial.play_on(trial.redealt(s, seat, rng), rng)


# A re-deal must be a re-deal ---------------------------------------------------------------------


def redealing_changes_what_is_hidden(trial: Trial) -> None:
    """Where two deals look the same to a seat, re-dealing for it changes all that can differ."""
    for seat in range(trial.game.seats):
        changed = _changed_bytes(trial, seat)
        hidden = _hidden_from(trial, seat)
        if hidden is not None and not changed.any():
            s, one, other = hidden
            raise Broken(
                f"{trial.at(s)}: seat {seat} cannot tell move {one} from {other}, but `redeal` for "
                f"it changes no position where a seat is to move"
            )
        _check_every_secret(trial, seat, changed)
        for mover in set(range(trial.game.seats)) - {seat}:
            _check_mover(trial, seat, mover)


def _check_every_secret(trial: Trial, seat: int, changed: Any) -> None:
    """What differs between two positions that look the same to the seat is re-dealt, all of it."""
    met: dict[int, State] = {}
    rng = trial.rng(4)
    for s in trial.decisions:
        t = met.setdefault(trial.known(s, seat), s)
        kept = (_bytes([s]) != _bytes([t]))[0] & ~changed
        if not kept.any():
            continue
        for _ in range(STUBBORN):  # perhaps it is only rarely changed
            kept &= _bytes([trial.redealt(s, seat, rng)])[0] == _bytes([s])[0]
            kept &= _bytes([trial.redealt(t, seat, rng)])[0] == _bytes([t])[0]
        if kept.any():
            raise Broken(
                f"{trial.at(s)}: seat {seat} knows the same at {trial.game.text(t)!r}, but "
                f"`redeal` for it never changes all of {_fields(trial, kept)}"
            )


def _check_mover(trial: Trial, seat: int, mover: int) -> None:
    """What `seat` cannot know of another seat is re-dealt also where that seat is to move."""
    changed = {True: False, False: False}  # by whether the other seat was to move
    rng, last = trial.rng(5), None
    for s in trial.thinned(trial.decisions, MOVERS):
        moves = trial.turn(s) == mover
        last = s if moves else last
        if not changed[moves]:
            redealt = (trial.redealt(s, seat, rng) for _ in range(REDEALS))
            changed[moves] = any(trial.known(t, mover) != trial.known(s, mover) for t in redealt)
    if changed[False] and not changed[True] and last is not None and _kept(trial, seat, mover):
        raise Broken(
            f"{trial.at(last)}: seat {mover} is to move, and `redeal` for seat {seat} changes "
            f"nothing that it knows; where others are to move, it does"
        )


def _kept(trial: Trial, seat: int, mover: int) -> bool:
    """Whether what is re-dealt where others are to move varies, but stays, where `mover` moves.

    A secret bid that its seat has not made yet varies in no position where that seat is to move.
    """
    rng, changed = trial.rng(6), np.zeros((2, trial.game.state.itemsize), bool)
    states = trial.thinned(trial.decisions, MOVERS)
    for s, _ in itertools.product(states, range(REDEALS)):
        moves = int(trial.turn(s) == mover)
        changed[moves] |= _bytes([s])[0] != _bytes([trial.redealt(s, seat, rng)])[0]
    here = _bytes([s for s in states if trial.turn(s) == mover])
    return bool((changed[0] & ~changed[1] & (here != here[:1]).any(0)).any())


def _hidden_from(trial: Trial, seat: int) -> tuple[State, int, int] | None:
    """A position and two moves after which the seat knows the same but the truth differs."""
    for s in trial.chances + trial.decisions:
        met: dict[int, tuple[int, bytes]] = {}
        for move in trial.moves(s)[:10]:
            t = trial.after(s, move)
            other, bytes_ = met.setdefault(trial.known(t, seat), (move, t.tobytes()))
            if bytes_ != t.tobytes():
                return s, other, move
    return None


def _changed_bytes(trial: Trial, seat: int) -> Any:
    """Which bytes of a state a re-deal for this seat has been seen to change, at decisions."""
    changed = np.zeros(trial.game.state.itemsize, bool)
    rng = trial.rng(1)
    for s in trial.decisions:
        for _ in range(REDEALS):
            changed |= _bytes([s])[0] != _bytes([trial.redealt(s, seat, rng)])[0]
    return changed


def redealing_is_fair(trial: Trial) -> None:
    """Over many deals, re-dealt states are as frequent as true ones.

    Compared at the first decision, and at later ones as long as the same actions, with the same
    labels, were legal in all deals and all played the same: then nobody's play reveals anything.
    """
    if not trial.hides:
        raise NotTried("nothing is hidden")
    suspects: dict[tuple[int, int], list[Any]] = {}
    for attempt in range(2):  # what looks unfair must look unfair again in fresh deals
        for ply, deals in enumerate(_deals_in_step(trial, trial.seed + 1000 * attempt)):
            for seat in range(trial.game.seats):
                true = _bytes(deals.states[:DEALS])
                guessed = _bytes(_redealt_batch(deals, seat, trial.seed)[DEALS:])
                masks = suspects.get((ply, seat), []) if attempt else _projections(true, guessed)
                found = [m for m in masks if _sigmas(true, guessed, m) > SIGMAS]
                suspects[ply, seat] = found
                if attempt and found:
                    raise Broken(
                        f"{trial.at(deals.states[0])}: what `redeal` deals for seat {seat} is not "
                        f"as frequent as in true deals, in {_fields(trial, found[0])}"
                    )


def _deals_in_step(trial: Trial, seed: int) -> Iterator[Batch]:
    """Many deals in which every seat plays alike, as long as that is possible."""
    deals = Batch(trial.game, 2 * DEALS, seed=seed)
    dice = np.random.default_rng(seed)
    for _ in range(1 + PLIES):
        deals.settle()
        if len(set(deals.turns().tolist())) > 1 or deals.turns()[0] < 0:
            return
        yield deals
        actions, counts = deals.actions()
        legal = actions[0, : counts[0]].tolist()
        labels = {
            tuple(int(trial.game.label(s, a)) for a in legal) for s in deals.states[:LABELLED]
        }
        if (actions != actions[0]).any() or (counts != counts[0]).any() or len(labels) > 1:
            return
        chosen = dice.choice(legal)
        if _is_secret(trial, deals.states[0], int(chosen)):
            return  # whoever cannot see it has to take the others for as likely
        deals.play(np.full(deals.size, chosen), check=False)


def _is_secret(trial: Trial, s: State, action: int) -> bool:
    """Whether a seat cannot tell this action from another legal one."""
    others = [trial.after(s, other) for other in trial.legal(s) if other != action]
    t, seats = trial.after(s, action), range(trial.game.seats)
    return any(trial.known(t, k) == trial.known(u, k) for k in seats for u in others)


def _redealt_batch(deals: Batch, seat: int, seed: int) -> Any:
    """The states of a batch, re-dealt for one seat; the batch stays as it was."""
    true = deals.states.copy()
    deals.redeal(np.full(deals.size, seat), streams(seed, "search", deals.size))
    redealt = deals.states.copy()
    deals.states[:] = true
    return redealt


def redealing_forgets_the_truth(trial: Trial) -> None:
    """Two truths that look the same to a seat are re-dealt alike: a re-deal gives nothing away."""
    if not trial.hides:
        raise NotTried("nothing is hidden")
    for seat in range(trial.game.seats):
        hidden = _changed_bytes(trial, seat)
        for s, t in _lookalikes(trial, seat, hidden)[:REDEALT_AT]:
            rng = trial.rng(2)
            masks: list[Any] | None = None
            for _ in range(2):  # again, a suspicion must be confirmed
                from_s = _bytes([trial.redealt(s, seat, rng) for _ in range(REDEALT)])
                from_t = _bytes([trial.redealt(t, seat, rng) for _ in range(REDEALT)])
                if masks is None:
                    masks = [m & hidden for m in _projections(from_s, from_t)]
                masks = [m for m in masks if _sigmas(from_s, from_t, m) > SIGMAS]
            if masks:
                raise Broken(
                    f"{trial.at(s)}: seat {seat} knows the same at {trial.game.text(t)!r}, but "
                    f"what `redeal` makes of the two differs in {_fields(trial, masks[0])}"
                )


def _lookalikes(trial: Trial, seat: int, hidden: Any) -> list[tuple[State, State]]:
    """Pairs of decisions that differ in what is hidden from the seat and in nothing it knows.

    Met in play where we can, and otherwise a position and a re-deal of it.
    """
    met: dict[int, State] = {}
    pairs, redealt = [], []
    rng = trial.rng(3)
    for s in trial.decisions:
        other = met.setdefault(trial.known(s, seat), s)
        if (_bytes([s]) != _bytes([other]))[0, hidden].any():
            pairs.append((s, other))
        elif (t := trial.redealt(s, seat, rng)).tobytes() != s.tobytes():
            redealt.append((s, t))
    return thinned(pairs, REDEALT_AT // 2) + thinned(redealt, REDEALT_AT)


# Frequencies -------------------------------------------------------------------------------------


def _bytes(states: Any) -> Any:
    """uint8 [states, itemsize]"""
    return np.frombuffer(b"".join(s.tobytes() for s in states), np.uint8).reshape(len(states), -1)


def _projections(a: Any, b: Any) -> list[Any]:
    """Sets of bytes, as masks: all, single ones and pairs. Only bytes that vary are of interest."""
    varied = np.flatnonzero((a != a[0]).any(0) | (b != a[0]).any(0))
    dice = np.random.default_rng(varied.size)
    singles = [[i] for i in dice.permutation(varied)[:PROJECTIONS]]
    pairs = [dice.choice(varied, 2, replace=False) for _ in range(PROJECTIONS) if varied.size > 1]
    masks = []
    chosen: Any
    for chosen in [varied, *singles, *pairs]:
        mask = np.zeros(a.shape[1], bool)
        mask[chosen] = True
        masks.append(mask)
    return masks


def _sigmas(a: Any, b: Any, mask: Any) -> float:
    """How far apart two samples are in the bytes of `mask`: chi-square over hashed buckets."""
    weights = np.random.default_rng(mask.sum()).integers(1 << 63, size=mask.sum(), dtype=np.uint64)
    hashed = [
        ((x[:, mask] + np.uint64(1)) @ (2 * weights + np.uint64(1))) >> np.uint64(58)
        for x in (a, b)
    ]
    counts = np.array([np.bincount(h.astype(int), minlength=BUCKETS) for h in hashed], float)
    rare = counts.sum(0) < 10
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(1)])
    counts = counts[:, counts.sum(0) > 0]
    freedom = counts.shape[1] - 1
    if freedom < 1:
        return 0.0
    square = float(((counts[0] - counts[1]) ** 2 / counts.sum(0)).sum())
    spread = 2 / (9 * freedom)  # Wilson and Hilferty: the cube root is nearly normal
    return float((np.cbrt(square / freedom) - 1 + spread) / np.sqrt(spread))


def _fields(trial: Trial, mask: Any) -> str:
    """The names of the fields that hold these bytes."""
    names = []
    for name, (kind, offset, *_) in (trial.game.state.fields or {}).items():
        if mask[offset : offset + kind.itemsize].any():
            names.append(f"`{name}`")
    return ", ".join(names)


# What a seat knows and sees ----------------------------------------------------------------------


def known_names_what_a_seat_knows(trial: Trial) -> None:
    """`known` is never 0, changes with every action, and if it is equal so is all a seat sees."""
    met: dict[tuple[int, int], tuple[State, bytes]] = {}
    acting: dict[int, tuple[State, int, list[int]]] = {}
    for s in trial.chances + trial.decisions:
        who = trial.turn(s)
        for seat in range(trial.game.seats):
            known, view = trial.known(s, seat), trial.rules.look(s, seat).tobytes()
            if known == 0:
                raise Broken(f"{trial.at(s)}: `known` of seat {seat} is 0")
            t, other = met.setdefault((seat, known), (s, view))
            if view != other:
                raise Broken(
                    f"{trial.at(s)}: `observe` shows seat {seat} another view than at "
                    f"{trial.game.text(t)!r}, but `known` is the same"
                )
            for action in thinned(trial.legal(s), 10) if who >= 0 else []:
                if trial.known(trial.after(s, action), seat) == known:
                    raise Broken(
                        f"{trial.at(s)}: `known` of seat {seat} is the same after action {action}"
                    )
        if who >= 0:
            legal = trial.legal(s)
            t, *before = acting.setdefault(trial.known(s, who), (s, who, legal))
            if before != [who, legal]:
                raise Broken(
                    f"{trial.at(s)}: `actions` are others than at {trial.game.text(t)!r}, but "
                    f"`known` is the same"
                )


def views_are_written_whole(trial: Trial) -> None:
    """A view does not depend on the view that was in its place before, nor writes outside it."""
    for view, face in trial.faces.items():
        rows, rule = np.zeros(3, face.view), f"`{_observer(view)}`"
        for s in trial.chances + trial.decisions + trial.ends:
            for seat in range(face.seats):
                _check_written(trial, face, s, seat, rows, rule)


def _check_written(
    trial: Trial, face: Game, s: State, seat: int, rows: NDArray[np.void], rule: str
) -> None:
    """rows: the view between two others that must stay empty; it holds an earlier one."""
    fresh = face.look(s, seat).view(face.view)[0]
    face.observers.get(face.viewed, face.observe)(s, seat, rows[1])
    if not np.isfinite(rows.view(np.float32)).all():
        raise Broken(f"{trial.at(s)}: {rule} of seat {seat} writes what is not finite")
    for name in face.view.names or ():
        if (rows[1][name] != fresh[name]).any():
            raise Broken(
                f"{trial.at(s)}: {rule} of seat {seat} leaves in `{name}` what an earlier view had "
                "there"
            )
    if rows[0].tobytes() + rows[2].tobytes() != bytes(2 * face.view.itemsize):
        raise Broken(f"{trial.at(s)}: {rule} of seat {seat} writes outside of its view")


def players_do_not_peek(trial: Trial) -> None:
    """The game's own players choose legal actions, and the same after every re-deal."""
    for player in trial.game.players:
        for number, s in enumerate(trial.decisions):
            seat, rng = trial.turn(s), trial.rng(number)
            choice = trial.choice(player, s, seat, trial.rng(number))
            if choice not in (legal := trial.legal(s)):
                raise Broken(f"{trial.at(s)}: {player} chose {choice}, not one of {legal}")
            for _ in range(REDEALS):
                t = trial.redealt(s, seat, rng)
                if trial.choice(player, t, seat, trial.rng(number)) != choice:
                    raise Broken(f"{trial.at(s)}: {_why_it_differs(trial, player, s, t, number)}")


def _why_it_differs(trial: Trial, player: str, s: State, t: State, number: int) -> str:
    """Why a player chooses one action at `s` and another at `t`, a re-deal of it."""
    seat = trial.turn(s)
    choices = [trial.choice(player, s, seat, trial.rng(number)) for _ in range(ASKED_AGAIN)]
    if len(set(choices)) > 1:
        return f"{player} chose {choices} by turns: it draws numbers that are not of `rng`"
    choice, other = choices[0], trial.choice(player, t, seat, trial.rng(number))
    before, now = shown_to(trial, s, seat), shown_to(trial, t, seat)
    if changed := [rule for rule in before if np.any(before[rule] != now[rule])]:
        return (
            f"{player} chose {choice}, and {other} after a re-deal, but that is the fault of "
            f"another rule: {_leak(trial, changed, seat)}"
        )
    names = [f"`{n}`" for n in own_fields(s) if s[n].tobytes() != t[n].tobytes()]
    return (
        f"{player} peeks: it chose {choice}, but {other} when what seat {seat} cannot see "
        f"({', '.join(names)}) was re-dealt to {trial.game.text(t)!r}"
    )


# Dice that a player cannot foretell --------------------------------------------------------------


def dice_cannot_be_foretold(trial: Trial) -> None:
    """Nothing that a player can make of its own stream foretells what the table will throw."""
    if not trial.chances:
        raise NotTried("the game has no chance moves")
    positions = itertools.cycle(thinned(trial.chances, THROWS))
    throws = list(zip(positions, range(THROWS), strict=False))
    for name, derived in ATTACKS.items():
        hits = expected = spread = 0.0
        for s, i in throws:
            table, own = stream(trial.seed, "table", i), stream(trial.seed, "player", i)
            sight = Sight(trial.game, [s], [0], [own])
            outcome = int(trial.game.roll(trial.game.copy(s), table))
            guess = stream(trial.seed, "player", i)  # as it was before the player used it
            guess["key"] = derived(sight.rngs["key"][0])
            hits += int(trial.game.roll(trial.game.copy(s), guess)) == outcome
            likely = float((trial.odds(s) ** 2).sum())  # of two throws alike
            expected, spread = expected + likely, spread + likely * (1 - likely)
        if hits - expected > FORETOLD * np.sqrt(spread) + 1:
            raise Broken(
                f"{trial.game.name}: {name} foretells {hits:.0f} of {len(throws)} throws of the "
                f"table, where {expected:.1f} are luck"
            )


def _low_bits(purpose: int) -> Callable[[Any], Any]:
    return lambda key: key & ~np.uint64(3) | np.uint64(purpose)


ATTACKS: dict[str, Callable[[Any], Any]] = {
    "the player's own stream": lambda key: key,
    **{f"the player's key with its low bits {p}": _low_bits(p) for p in range(4)},
    "the player's key without its low half": lambda key: key & ~np.uint64(0xFFFFFFFF),
    "the low half of the player's key": lambda key: key & np.uint64(0xFFFFFFFF),
    "the inverse of the player's key": lambda key: ~key,
    "the key after the player's": lambda key: key + np.uint64(1),
    "the key before the player's": lambda key: key - np.uint64(1),
}

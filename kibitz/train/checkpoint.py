"""A checkpoint of a run: weights, progress, and a list of the other files that it needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from .folder import (
    About,
    Arrays,
    DamagedError,
    Listed,
    RunError,
    RunFolder,
    check_agrees,
    check_same,
    file_checksum,
    is_about,
)
from .league import League
from .parts import read_parts

BEST = "best."  # prefix of the names of the best network's weights; others are the method's


@dataclass
class Standing:
    """The progress of a run, besides its weights."""

    iteration: int = 0
    elo: float = 0.0
    """Elo of the best player, above the untrained one."""
    best_loss: float | None = None
    """The lowest validation loss, where the gate goes by it."""
    seconds: float = 0.0
    """Training time so far, over all sessions of the run."""
    rows: int = 0
    """Rows of metrics written so far."""
    refilled: bool = False
    """Whether something was lost: an undisturbed run would have other numbers."""
    rates: dict[str, float] = field(default_factory=dict)
    """What a gate has found so far, by opponent, if the time was up before its end."""
    league: League = field(default_factory=League)


@dataclass(frozen=True)
class Checkpoint:
    """What a resumed run begins with."""

    path: Path
    standing: Standing
    weights: Arrays  # of the method
    best: Arrays  # of the best network
    replay: list[Listed]
    league: list[Listed]

    @property
    def positions(self) -> int:
        """The number of positions in the replay."""
        return sum(shard.rows for shard in self.replay)

    def broken_members(self, folder: RunFolder) -> dict[int, str]:
        """What is wrong with league members, by the iteration they come from."""
        problems = {}
        for listed in self.league:
            path = folder.member(listed.number)
            try:
                check_same(path, file_checksum(path), listed)
            except RunError as error:
                problems[listed.number] = str(error)
        return problems


def contents(standing: Standing, replay: list[Listed], league: list[Listed]) -> About:
    """What a checkpoint says besides the description of its run."""
    return {
        "standing": asdict(standing),
        "replay": [asdict(shard) for shard in replay],
        "league": [asdict(member) for member in league],
    }


def read_checkpoint(path: Path, about: About) -> Checkpoint:
    """The checkpoint in a file, if it is intact and belongs to the run that `about` describes."""
    arrays, stored = read_parts(path)
    if not is_about(stored):
        raise DamagedError(f"{path} is damaged: it does not say which run it belongs to")
    check_agrees(stored, about, path)
    try:
        standing = dict(stored["standing"])
        league = League(**standing.pop("league"))
        rates = {str(name): float(rate) for name, rate in standing.pop("rates").items()}
        listed = {
            part: [Listed(**entry) for entry in stored[part]] for part in ("replay", "league")
        }
        if {member.number for member in listed["league"]} != set(league.members):
            raise ValueError("a member of the league has no file")
        return Checkpoint(
            path,
            Standing(**standing, rates=rates, league=league),
            {name: a for name, a in arrays.items() if not name.startswith(BEST)},
            {name[len(BEST) :]: a for name, a in arrays.items() if name.startswith(BEST)},
            **listed,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DamagedError(f"{path} is damaged: it does not say where the run stood") from None

"""A checkpoint of a run: weights, where the run stood, and the files that it needs besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .folder import (
    DamagedError,
    Listed,
    RunError,
    RunFolder,
    check_agrees,
    check_same,
    file_checksum,
    is_about,
    read_stored,
)
from .league import League

BEST = "best."  # begins the names of the best network's weights; the others are the method's


@dataclass
class Standing:
    """Where a run stands, besides its weights."""

    iteration: int = 0
    elo: float = 0.0
    """Of the best player, above the untrained one."""
    seconds: float = 0.0
    """Time spent so far, over all parts of the run."""
    rows: int = 0
    """Metrics written so far."""
    fills: int = 0
    """Shards that were played to fill the replay anew, not to learn from at once."""
    refilled: bool = False
    """Whether something was lost on the way: an undisturbed run would have other numbers."""
    league: League = field(default_factory=League)


@dataclass(frozen=True)
class Checkpoint:
    """What a resumed run begins with."""

    path: Path
    standing: Standing
    weights: dict[str, Any]  # of the method
    best: dict[str, Any]  # of the best network
    replay: list[Listed]
    league: list[Listed]

    @property
    def positions(self) -> int:
        """In the replay."""
        return sum(shard.rows for shard in self.replay)

    def broken_members(self, folder: RunFolder) -> dict[int, str]:
        """What is wrong with league members, by the iteration that made them."""
        problems = {}
        for each in self.league:
            path = folder.member(each.number)
            try:
                check_same(path, file_checksum(path), each)
            except RunError as error:
                problems[each.number] = str(error)
        return problems


def contents(standing: Standing, replay: list[Listed], league: list[Listed]) -> dict[str, Any]:
    """What a checkpoint says besides what its run is about."""
    return {
        "standing": asdict(standing),
        "replay": [asdict(shard) for shard in replay],
        "league": [asdict(member) for member in league],
    }


def read_checkpoint(path: Path, about: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint in a file, if it is intact and belongs to the run that `about` describes."""
    stored = read_stored(path)
    if not is_about(stored.about):
        raise DamagedError(f"{path} is damaged: it does not say which run it belongs to")
    check_agrees(stored.about, about, path)
    try:
        standing = dict(stored.about["standing"])
        league = League(**standing.pop("league"))
        listed = {
            part: [Listed(**each) for each in stored.about[part]] for part in ("replay", "league")
        }
        if {member.number for member in listed["league"]} != set(league.members):
            raise ValueError("a member of the league has no file")
        return Checkpoint(
            path,
            Standing(**standing, league=league),
            {name: a for name, a in stored.arrays.items() if not name.startswith(BEST)},
            {name[len(BEST) :]: a for name, a in stored.arrays.items() if name.startswith(BEST)},
            **listed,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DamagedError(f"{path} is damaged: it does not say where the run stood") from None

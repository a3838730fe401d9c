"""The files of small games that tests play."""

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "sample_games"
COIN, NIM, PARTNERS, RACE = (SAMPLES / f"{name}.py" for name in ("coin", "nim", "partners", "race"))

"""The files of small games that tests play."""

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "sample_games"
COIN, NIM, PARTNERS, RACE = (SAMPLES / f"{name}.py" for name in ("coin", "nim", "partners", "race"))
THREE_IN_A_ROW, THREE_AT_A_PILE, PEEK = (
    SAMPLES / f"{name}.py" for name in ("three_in_a_row", "three_at_a_pile", "peek")
)

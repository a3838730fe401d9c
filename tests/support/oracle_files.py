"""Files of oracles: what independent engines say, from KIBITZ_ORACLES or our copy."""

import json
import os
from pathlib import Path

import pytest

ORACLES = Path(os.environ.get("KIBITZ_ORACLES") or Path(__file__).parent.parent / "oracles")


def oracle_list(file, part):
    """One of the lists of a file of oracles.

    A file need not have every list: whoever needs one that is missing is skipped, with the reason.
    """
    content = json.loads((ORACLES / f"{file}.json").read_text(encoding="utf-8"))
    if not content.get(part):
        pytest.skip(f"{ORACLES / file}.json has no {part!r}")
    return content[part]

"""What a data set is like."""

from __future__ import annotations

import numpy as np

from ...batch import Batch
from ...chance import streams
from ...search.deepening import stripped
from .labels import result_scale
from .report import correlation
from .rows import Rows, columns_of


def facts(rows: Rows) -> dict[str, float | None]:
    """Counts, shares, and how well scores of searches predict results."""
    if len(rows) == 0:
        return {"positions": 0}
    columns, used = rows.columns, rows.predicts_results
    states = rows.states
    batch = Batch.of(stripped(rows.game), states, streams(0, "training", len(states)))
    legal, _ = batch.actions()
    groups = columns_of(rows.game).groups.items()
    return {
        "positions": len(rows),
        "different_positions": len(np.unique(rows.positions())),
        "games": len(np.unique(columns["game_id"][columns["game_id"] >= 0])),
        "share_proven": float(rows.proven.mean()),
        "share_decided": float(rows.decided.mean()),
        **{f"share_{name.replace(' ', '_')}": float(f(legal).mean()) for name, f in groups},
        "correlation_of_raw_score_and_result": correlation(
            columns["raw_score"][used], columns["result"][used]
        ),
        "scale": result_scale(rows),
    }

"""Everything the page gets of a run and an input: the arrays of `/api/look`, and those of the Attention tab's figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from app import payload
from app.service.attention_figures import attention_figures, stack_views
from app.service.figure_payload import figure_parts
from app.service.snapshot_arrays import SnapshotArrays


def sent_arrays(collected: SnapshotArrays) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header, and arrays by name as they travel: weights of long inputs as whole numbers."""
    header, arrays = payload.unpack(collected.pack())
    for view in stack_views(collected, "run").values():
        arrays |= {name: array.values for name, array in figure_parts(attention_figures(view))[1].items()}
        arrays |= {array.name: array.values for array in view.measures.values()}
    return header, arrays

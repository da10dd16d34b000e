"""The table of implementations: committed results of libraries, version by version, and the ledger of their defects.

Reading needs nothing but the standard library: ``read_results()``, ``read_defects()``, ``read_implementations()``.
"""

from attnspec_authoring.results.defects import Defect, read_defects
from attnspec_authoring.results.implementations import Implementation, read_implementations
from attnspec_authoring.results.stored import (
    BIN_EDGES,
    Count,
    Distribution,
    Failure,
    Result,
    Unsupported,
    Witness,
    Worst,
    read_result,
    read_results,
    result_of,
)

__all__ = [
    "BIN_EDGES",
    "Count",
    "Defect",
    "Distribution",
    "Failure",
    "Implementation",
    "Result",
    "Unsupported",
    "Witness",
    "Worst",
    "read_defects",
    "read_implementations",
    "read_result",
    "read_results",
    "result_of",
]

"""How a guarded process is made on which system."""

from __future__ import annotations

import sys
from typing import Literal

Way = Literal["fork", "subprocess"]
"""How the guarded process is made."""


def way_of_this_system() -> Way:
    """Return how a guarded process is made here."""
    # Frameworks of macOS do not survive a fork; Windows has none.
    return "fork" if sys.platform.startswith(("linux", "freebsd")) else "subprocess"

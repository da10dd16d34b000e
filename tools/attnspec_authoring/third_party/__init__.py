"""The third parties: implementations by others, each against every case, and what is known to be wrong with them."""

from attnspec_authoring.third_party.known_defects import KnownDefect, read_known_defects
from attnspec_authoring.third_party.running import Outcome, run_implementation

__all__ = ["KnownDefect", "Outcome", "read_known_defects", "run_implementation"]

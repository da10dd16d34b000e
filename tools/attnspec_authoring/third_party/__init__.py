"""The third parties: implementations by others, each against every case, and what is known to be wrong with them."""

from attnspec_authoring.third_party.running import Outcome, outcome_of, run_implementation

__all__ = ["Outcome", "outcome_of", "run_implementation"]

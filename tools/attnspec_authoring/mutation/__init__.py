"""Mutation of the reference: whether the suite notices that one thing in its source was changed.

``python -m attnspec_authoring.mutation`` changes the modules of the reference by one change at a time, validates each
mutant as any implementation is validated, and reports those that no golden case notices.
"""

from attnspec_authoring.mutation.mutants import Equivalents, Mutant, all_mutants, mutants_of, read_equivalents
from attnspec_authoring.mutation.trials import Examiner, Outcome, try_mutant, try_mutants

__all__ = [
    "Equivalents",
    "Examiner",
    "Mutant",
    "Outcome",
    "all_mutants",
    "mutants_of",
    "read_equivalents",
    "try_mutant",
    "try_mutants",
]

"""An implementation of every operation, written apart from the reference, that makes mistakes on request.

It shares no code and no order of computing with the catalogue of mistakes: the scale goes into the queries before the
product, sums are einsums, and each mistake is written the way somebody would make it.
"""

from .engine import SwitchedEngine

__all__ = ["SwitchedEngine"]

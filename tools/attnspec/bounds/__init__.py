"""Error bounds: how far a right computation may stray, from unit roundoffs and the values of a case."""

from attnspec.bounds.precision import Precision, precision_of, stacked
from attnspec.bounds.tolerance import Tolerance

__all__ = ["Precision", "Tolerance", "precision_of", "stacked"]

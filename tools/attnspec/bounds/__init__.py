"""Error bounds: how far a right computation may stray, from unit roundoffs and the values of a case."""

from attnspec.bounds.tolerance import Precision, Tolerance, precision_of, stacked

__all__ = ["Precision", "Tolerance", "precision_of", "stacked"]

"""Finding out what went wrong: a known mistake, or the facts about failures that nobody knows."""

from attnspec.diagnosis.diagnosing import UNKNOWN, Diagnosis, diagnose
from attnspec.diagnosis.differences import difference_made
from attnspec.diagnosis.suspects import Suspect

__all__ = ["UNKNOWN", "Diagnosis", "Suspect", "diagnose", "difference_made"]

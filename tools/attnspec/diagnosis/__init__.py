"""Finding out what went wrong: a known mistake, or the facts about failures that nobody knows."""

from attnspec.diagnosis.diagnosing import UNKNOWN, Diagnosis, diagnose
from attnspec.diagnosis.differences import difference_made

__all__ = ["UNKNOWN", "Diagnosis", "diagnose", "difference_made"]

"""Diagnosis of failures: a known mistake, or the facts about failures that nobody knows."""

from attnspec.diagnosis.declarations import Declarations, could_be_declared
from attnspec.diagnosis.diagnosing import UNKNOWN, Diagnosis, diagnose
from attnspec.diagnosis.differences import difference_made
from attnspec.diagnosis.ranking import Candidate
from attnspec.diagnosis.suspects import Suspect
from attnspec.diagnosis.undeclared import Undeclared

__all__ = [
    "UNKNOWN",
    "Candidate",
    "Declarations",
    "Diagnosis",
    "Suspect",
    "Undeclared",
    "could_be_declared",
    "diagnose",
    "difference_made",
]

"""Diagnosis of failures: a known mistake, or the facts about failures that nobody knows."""

from attnspec.diagnosis.diagnosing import UNKNOWN, Diagnosis, diagnose
from attnspec.diagnosis.offers import Declarations, could_be_declared

__all__ = ["UNKNOWN", "Declarations", "Diagnosis", "could_be_declared", "diagnose"]

"""Regenerating the golden files from the recipes, by the certified oracle."""

from attnspec_authoring.regeneration.filling import filled_document
from attnspec_authoring.regeneration.printed import agrees
from attnspec_authoring.regeneration.writing import Difference, Outcome, check, golden_texts, regenerate

__all__ = ["Difference", "Outcome", "agrees", "check", "filled_document", "golden_texts", "regenerate"]

"""Draws: cases that nobody has seen, made from a seed and graded like golden ones."""

from attnspec_draws.drawing import can_be_left_out, draw, drawable, drawn_of, words_of_draws
from attnspec_draws.offering import drawn_for, learned, not_offered
from attnspec_draws.seed_text import Recipe, is_recipe, is_seed, recipe_from_text
from attnspec_draws.shrinking import shrunk

__all__ = [
    "Recipe",
    "can_be_left_out",
    "draw",
    "drawable",
    "drawn_for",
    "drawn_of",
    "is_recipe",
    "is_seed",
    "learned",
    "not_offered",
    "recipe_from_text",
    "shrunk",
    "words_of_draws",
]

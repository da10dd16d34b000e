"""Judging an implementation at the shapes that its user names, and saying what such a judgement is worth."""

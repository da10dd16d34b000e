"""Attention in exact real arithmetic: integers for what is linear, balls for exponentials and logarithms."""

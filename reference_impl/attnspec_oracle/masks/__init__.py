"""Masks, pair by pair."""

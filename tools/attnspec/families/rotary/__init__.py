"""Rotary positions, as the harness judges them."""

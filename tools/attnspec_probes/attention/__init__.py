"""Measuring what a black box computes instead of attention: which keys, with which logits, over which total."""

from attnspec_probes.attention.laws import laws

__all__ = ["laws"]

"""A second oracle for attention, by Python integers alone, which shares no line with the first.

Every step is an interval whose two ends are integers over a power of two, rounded outwards. It is slower on long
rows than ball arithmetic, and covers attention, its gradients and merged states only. It is here so that two ways of
certifying can be compared, bit for bit: see :mod:`attnspec_oracle` for the one that fills the golden
files.
"""

from attnspec_oracle.by_integers.attention import AttentionRow, MergedRow, attention_row, merged_row
from attnspec_oracle.by_integers.gradients import attention_gradients

__all__ = ["AttentionRow", "MergedRow", "attention_gradients", "attention_row", "merged_row"]

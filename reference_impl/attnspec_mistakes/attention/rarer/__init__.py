"""What goes wrong in layers more rarely than what the catalogue holds.

No case is made to notice these mistakes, and no proof counts them. Failures may be put down to them where the catalogue
has nothing that gives their numbers.
"""

from attnspec_mistakes.attention.rarer import attending, projecting

__all__ = ["MISTAKES"]

MISTAKES = (*projecting.MISTAKES, *attending.MISTAKES)

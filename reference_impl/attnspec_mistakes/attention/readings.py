"""Readings: attention that takes an argument for one of another kind, and is right where it gets that kind.

They are no mistakes of the catalogue: whoever reads so does not offer the argument, and declares it.
"""

from dataclasses import replace

from attnspec_mistakes.attention.forward import forward_scores
from attnspec_mistakes.attention.forward.attention_patches import attention_given
from attnspec_mistakes.mistake import Mistake, mistakes_in
from attnspec_reference.attention.attention_logits import is_boolean

_LOW = -1e9

_AS_BOOLEAN = next(each for each in mistakes_in(forward_scores) if each.id == "sdpa.float_mask_as_boolean")

READINGS: tuple[Mistake, ...] = (
    replace(
        _AS_BOOLEAN,
        id="sdpa.float_mask_kept_where_one",
        function=attention_given(mask=lambda mask: mask if is_boolean(mask) else (1 - mask) * mask.dtype.type(_LOW)),
    ),
)
"""A mask of numbers keeps a key where it is 1: `scores + (1 - mask) * -1e9`, which is right for a Boolean one."""

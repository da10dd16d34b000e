"""The controls of masks: right implementations that compute in another way than the reference."""

from attnspec_controls.masks.attention_masks import CONTROLS

__all__ = ["CONTROLS"]

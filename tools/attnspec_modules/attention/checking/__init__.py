"""Checks of a layer by itself, of what no case can express: heads that share keys, rotary positions, norms, a cache."""

from attnspec_modules.attention.checking.latents_by_itself import latents_checked
from attnspec_modules.attention.checking.layer_by_itself import Checked, checked

__all__ = ["Checked", "checked", "latents_checked"]

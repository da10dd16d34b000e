"""The lattice of attention: what a drawn case of each operation may have, and how often."""

from attnspec.families.attention.drawing.backward import draw_backward
from attnspec.families.attention.drawing.forward import draw_forward
from attnspec.families.attention.drawing.merging import draw_merging
from attnspec.families.attention.drawing.shapes import extents_of

LATTICES = {
    "scaled_dot_product_attention": draw_forward,
    "scaled_dot_product_attention_backward": draw_backward,
    "merge_states": draw_merging,
}

__all__ = ["LATTICES", "extents_of"]

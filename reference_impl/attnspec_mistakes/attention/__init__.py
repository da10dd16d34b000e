"""What goes wrong in attention, in the order of the operations in the specification; around all of them at last."""

from dataclasses import replace

from attnspec_mistakes.attention import attention_layers, layers_in_memory, merged_states
from attnspec_mistakes.attention.backward import (
    backward_delta,
    backward_edges,
    backward_heads,
    backward_memory,
    backward_products,
    backward_sinks,
)
from attnspec_mistakes.attention.forward import (
    building_blocks,
    forward_numbers,
    forward_positions,
    forward_refusals,
    forward_scores,
    forward_softmax,
    packed_sequences,
    paged_positions,
    paged_tables,
    quantized_tensors,
    tiles_and_parts,
)
from attnspec_mistakes.attention.forward.attention_patches import of_products
from attnspec_mistakes.attention.latents import absorbed_kernels, latent_heads, latents_in_pages
from attnspec_mistakes.mistake import Mistake, mistakes_in

__all__ = ["MISTAKES"]

_OF_WIDE_TENSORS = mistakes_in(
    *(forward_scores, forward_positions, forward_softmax, tiles_and_parts, forward_numbers),
    *(packed_sequences, paged_tables, paged_positions, forward_refusals),
)

MISTAKES: tuple[Mistake, ...] = (
    *mistakes_in(building_blocks),
    # Mistakes that know of no quantized tensors are made with the products of numbers and scales.
    *(
        replace(
            mistake,
            function=of_products(mistake.function),
            other_ways=tuple(map(of_products, mistake.other_ways)),
        )
        for mistake in _OF_WIDE_TENSORS
    ),
    *mistakes_in(quantized_tensors),
    *mistakes_in(backward_products, backward_delta, backward_heads, backward_sinks, backward_memory, backward_edges),
    *mistakes_in(merged_states, attention_layers, layers_in_memory),
    *mistakes_in(latent_heads, absorbed_kernels, latents_in_pages),
)

"""What goes wrong around merged numbers: inputs edited, calls remembered, memory misread, shapes not refused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered
from attnspec_mistakes.memory import (
    as_it_lies_in_memory,
    overwriting,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.merge_states import MergedStates, merge_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_reference.precision import Array

NAMES = ("output_a", "logsumexp_a", "output_b", "logsumexp_b")


def merged_output(_arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Take the merged output."""
    return outputs["output"]


def merged_logarithm(_arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Take the merged logarithm."""
    return outputs["logsumexp"]


def second_cleared(arguments: Mapping[str, Any], _outputs: Mapping[str, Array]) -> Array:
    """Take zeros for the second output, where its part has no keys, or does."""
    return np.zeros_like(arguments["output_b"])


def repeated_by_broadcasting(**arguments: Any) -> MergedStates:
    """Leave every shape to the rules of broadcasting."""
    rows = np.broadcast_shapes(*(np.shape(arguments[f"logsumexp_{side}"]) for side in "ab"))
    whole = np.broadcast_shapes(*(np.shape(arguments[f"output_{side}"]) for side in "ab"), (*rows, 1))
    shapes = {name: whole if name.startswith("output") else whole[:-1] for name in NAMES}
    return merge_states(**{name: np.broadcast_to(arguments[name], shape) for name, shape in shapes.items()})


def axes_filled_in(**arguments: Any) -> MergedStates:
    """Put axes of length 1 where some are missing, and drop them from logarithms that have too many."""
    filled: dict[str, Any] = {}
    for name in NAMES:
        array, rank = np.asarray(arguments[name]), 4 if name.startswith("output") else 3
        if array.ndim == rank + 1 and array.shape[-1] == 1:
            array = array[..., 0]
        filled[name] = array[(np.newaxis,) * (rank - array.ndim)]
    rows = filled["output_a"].shape[:-1]
    logarithms = {name: np.broadcast_to(filled[name], rows) for name in ("logsumexp_a", "logsumexp_b")}
    return merge_states(**{**filled, **logarithms})


def cut_to_first(**arguments: Any) -> MergedStates:
    """Take as much of everything as the first output has."""
    shape = np.shape(arguments["output_a"])
    cut = {
        name: np.asarray(array)[tuple(slice(length) for length in shape[: np.ndim(array)])]
        for name, array in arguments.items()
    }
    return merge_states(**cut)


def made_to_fit(name: str, like: str, axes: int) -> Callable[..., MergedStates]:
    """Lay as many numbers as are due out in the shape that is due, whatever order they are in."""

    def reshaped(**arguments: Any) -> MergedStates:
        for side in "ab":
            given, due = np.asarray(arguments[f"{name}_{side}"]), np.shape(arguments[like])[:axes]
            if given.shape != due and given.size == np.prod(due):
                arguments[f"{name}_{side}"] = given.reshape(due)
        return merge_states(**arguments)

    return reshaped


mistake = partial(Mistake, operation="merge_states")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="merge.written_over_first",
        clause="merge.inputs_unchanged",
        sentence="The merged output was written over the caller's first one.",
        engineer="merge_state_in_place is called where a new buffer is owed.",
        remedy="Write the merged output into a new array.",
        function=overwriting(merge_states, "output_a", merged_output),
    ),
    mistake(
        id="merge.logarithm_written_over_first",
        clause="merge.inputs_unchanged",
        sentence="The merged logarithm was written over the caller's first one.",
        engineer="The logarithm is accumulated in place on the buffer of the first part.",
        remedy="Write the merged logarithm into a new array.",
        function=overwriting(merge_states, "logsumexp_a", merged_logarithm),
    ),
    mistake(
        id="merge.second_cleared",
        clause="merge.inputs_unchanged",
        sentence="The caller's second output was set to zeros.",
        engineer="masked_fill_ works in place on the input buffer.",
        remedy="Leave the inputs to the caller.",
        function=overwriting(merge_states, "output_b", second_cleared),
    ),
    mistake(
        id="merge.strides_ignored",
        clause="merge.memory_layout",
        sentence="The outputs were read in the order in which they lie in memory.",
        engineer="The kernel assumes that both outputs are contiguous.",
        remedy="Use the strides, or make contiguous copies first.",
        function=altered(merge_states, output_a=as_it_lies_in_memory, output_b=as_it_lies_in_memory),
        source="https://github.com/pytorch/pytorch/issues/133671",
    ),
    mistake(
        id="merge.strides_of_logarithms_ignored",
        clause="merge.memory_layout",
        sentence="The logarithms were read in the order in which they lie in memory.",
        engineer="The kernel assumes that both logarithms are contiguous.",
        remedy="Use the strides, or make contiguous copies first.",
        function=altered(merge_states, logsumexp_a=as_it_lies_in_memory, logsumexp_b=as_it_lies_in_memory),
    ),
    mistake(
        id="merge.gaps_ignored",
        clause="merge.memory_layout",
        sentence="The numbers of a row were taken to lie side by side, and what lies between them was read.",
        engineer="The innermost stride is assumed to be 1.",
        remedy="Use the innermost stride, or make contiguous copies first.",
        function=altered(merge_states, **dict.fromkeys(NAMES, without_gaps)),
    ),
    mistake(
        id="merge.gaps_between_tokens",
        clause="merge.memory_layout",
        sentence="Tokens whose heads lie side by side were read without the gaps between them.",
        engineer="The stride of tokens is computed from heads and width.",
        remedy="Use the stride of tokens, or make a contiguous copy first.",
        function=altered(merge_states, **dict.fromkeys(("output_a", "output_b"), tokens_close_together)),
    ),
    mistake(
        id="merge.read_forwards",
        clause="merge.memory_layout",
        sentence="Arrays that lie backwards in memory were read forwards.",
        engineer="The sign of a stride is lost.",
        remedy="Use the strides with their signs, or make contiguous copies first.",
        function=altered(merge_states, **dict.fromkeys(NAMES, read_forwards)),
    ),
    mistake(
        id="merge.logarithm_remembered",
        clause="merge.repeatable",
        sentence="The second logarithm of an earlier call with the same shapes was used again.",
        engineer="The logarithm of the suffix is copied to a buffer that is cached by shape and not written again.",
        remedy="Keep nothing between calls.",
        **remembering(merge_states, "logsumexp_b", "output_a"),
    ),
    mistake(
        id="merge.output_remembered",
        clause="merge.repeatable",
        sentence="The first output of an earlier call with the same shapes was used again.",
        engineer="The shared prefix is cached by shape, and not by what it holds.",
        remedy="Keep nothing between calls.",
        **remembering(merge_states, "output_a", "logsumexp_b"),
    ),
    mistake(
        id="merge.parts_repeated",
        clause="merge.rejects.outputs",
        sentence="A part of one head, query or feature was repeated for all, and not refused.",
        engineer="The shapes are left to broadcasting.",
        remedy="Refuse outputs of different shapes.",
        function=repeated_by_broadcasting,
    ),
    mistake(
        id="merge.axes_filled_in",
        clause="merge.rejects.rank",
        sentence="Missing axes were filled in, and not refused.",
        engineer="unsqueeze(0) is applied until the rank fits.",
        remedy="Refuse outputs that are not of rank 4, and logarithms that are not of rank 3.",
        function=axes_filled_in,
    ),
    mistake(
        id="merge.cut_to_first",
        clause="merge.rejects.logsumexp",
        sentence="Logarithms of more rows than the outputs have were cut, and not refused.",
        engineer="The loops run over the extents of the first output alone.",
        remedy="Refuse logarithms that do not have the batch, heads and queries of the outputs.",
        function=cut_to_first,
    ),
    mistake(
        id="merge.logarithms_reshaped",
        clause="merge.rejects.logsumexp",
        sentence="Logarithms in another order of axes were read as if they were (B, H, S), and not refused.",
        engineer="The logarithms are viewed by their number of elements.",
        remedy="Refuse logarithms that do not have the batch, heads and queries of the outputs.",
        function=made_to_fit("logsumexp", "output_a", 3),
    ),
    mistake(
        id="merge.outputs_reshaped",
        clause="merge.rejects.outputs",
        sentence="An output in another order of axes was read as if it were as the other, and not refused.",
        engineer="The second output is viewed as the first, by its number of elements.",
        remedy="Refuse outputs of different shapes.",
        function=made_to_fit("output", "output_a", 4),
    ),
)
"""What goes wrong around merged numbers."""

"""Wrong attentions with drawn parameters, which no list of mistakes can hold.

Each is right but for one step, and is validated like any other; a function alone is run in float64 only::

    from drawn.drawing import draw

    wrong, *_ = draw(0)
    attnspec.validate(wrong.implementation, profile=("core", "causal"))
    attnspec.validate(wrong.function, operation="scaled_dot_product_attention", select="core/*")
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from drawn.attention import OUTPUTS, Attention, attention
from drawn.exclusions import fills, mask_factors, offsets, windows
from drawn.fault import Fault
from drawn.normalisation import bases, masses, tiles
from drawn.scores import caps, head_maps, roundings, scales

HOW_MANY = 40
OF_EACH_KIND = 2


@dataclass(frozen=True)
class Drawn:
    """A wrong attention.

    Attributes
    ----------
    name
        What it does, in words, with all that was drawn.
    kind
        A key of `KINDS`.
    parameter
        The number that was drawn, in the sense of `name`; None if the form has none.
    clauses
        The clauses that it may be said to break, in full.
    function
        It, with all arguments of the page; it gives the output alone or all outputs.
    equivalent
        What it may be called as well: pairs of a kind and its parameter. Two kinds stand here alone: a "sink" of that
        logit for each query, and a "bound" beyond which alone it shows.
    """

    name: str
    kind: str
    parameter: float | None
    clauses: tuple[str, ...]
    function: Attention
    equivalent: tuple[tuple[str, float | None], ...] = ()

    @property
    def implementation(self) -> SimpleNamespace:
        """The function under the name of its operation, which declares both dtypes."""
        return SimpleNamespace(scaled_dot_product_attention=self.function, dtypes=("float64", "float32"))


KINDS: dict[str, Callable[[np.random.Generator], list[Fault]]] = {
    "scale": scales,
    "base": bases,
    "cap": caps,
    "fill": fills,
    "tile": tiles,
    "offset": offsets,
    "window": windows,
    "head map": head_maps,
    "added mass": masses,
    "rounding": roundings,
    "mask factor": mask_factors,
}


def draw(seed: int) -> tuple[Drawn, ...]:
    """Draw 40 wrong attentions, at least two of each kind, no two of the same form.

    Parameters
    ----------
    seed
        The same seed gives the same ones.
    """
    rng = np.random.default_rng(seed)
    chosen: list[tuple[str, Fault]] = []
    others: list[tuple[str, Fault]] = []
    for kind, faults_of in KINDS.items():
        faults = faults_of(rng)
        order = [int(number) for number in rng.permutation(len(faults))]
        chosen += [(kind, faults[number]) for number in order[:OF_EACH_KIND]]
        others += [(kind, faults[number]) for number in order[OF_EACH_KIND:]]
    chosen += [others[number] for number in rng.permutation(len(others))[: HOW_MANY - len(chosen)]]
    return tuple(
        Drawn(
            fault.name,
            kind,
            None if fault.parameter is None else float(fault.parameter),
            tuple(f"sdpa.{clause}" for clause in fault.clauses.split()),
            attention(fault.steps, OUTPUTS if rng.random() < 0.5 else OUTPUTS[:1]),
            fault.equivalent,
        )
        for kind, fault in sorted(chosen, key=lambda pair: list(KINDS).index(pair[0]))
    )

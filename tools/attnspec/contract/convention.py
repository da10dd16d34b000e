"""Conventions: matters in which good libraries differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Settles(Enum):
    """Subject of a convention, by which the harness knows where to read it.

    RESULTS: expected values, by the family. REFUSALS: inputs that must be refused. INNER_PRECISION: the dtype in which
    float64 is computed; the choices but the first are dtypes. ROUNDINGS: half precision rounds between phases, or, if
    not normative, at the end alone. ATTRIBUTE: values of the attribute of its name that are offered; with one value
    alone, it is not taken. LIFETIME: how long outputs hold; if not normative, until the next call. BATCHES: of
    what the bits of a result are independent; each choice declares what the one before does, and more. IN_PLACE:
    whether inputs that it names may be written, if not normative.
    """

    RESULTS = auto()
    REFUSALS = auto()
    INNER_PRECISION = auto()
    ROUNDINGS = auto()
    ATTRIBUTE = auto()
    LIFETIME = auto()
    BATCHES = auto()
    IN_PLACE = auto()


@dataclass(frozen=True)
class Convention:
    """A matter in which good libraries differ: its choices, of which the first is normative.

    `sentence` has its subject and its choices, in their order: the end of a sentence. `decision` is the record in
    ``spec/decisions`` that says why, without its suffix; None where there is none. One that `is_about_nan` settles what
    becomes of NaN: a refusal is then due where an input holds NaN and a result would; elsewhere it is open. Where cases
    leave an attribute out that is `stated_where_it_matters`, its value has no effect; another has its default there.

    `comes_as` maps a choice to the form of the results that it leaves open, or asks for: ``raised`` (an error),
    ``answered`` (none), ``nan``, ``nan_or_infinity`` or ``finite`` numbers, or ``anything``. Of another choice, numbers
    alone decide. `changes` are the inputs that a call may write, under a choice that is not normative.
    """

    name: str
    choices: tuple[str, ...]
    settles: Settles = Settles.RESULTS
    sentence: str = ""
    decision: str | None = None
    is_about_nan: bool = False
    stated_where_it_matters: bool = False
    comes_as: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: tuple[str, ...] = ()

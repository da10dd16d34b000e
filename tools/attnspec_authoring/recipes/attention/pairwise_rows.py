"""Which features meet in which case of the pairwise cases: every two levels of two features meet at least once.

The rows come from allpairspy 2.5.1 (``AllPairs`` over the levels below, in this order). They are kept as data, so
that another version of the library cannot change a case; a test checks that they cover all pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS: Mapping[str, tuple[str, ...]] = {
    "causal": ("off", "top_left", "bottom_right"),
    "mask": ("none", "boolean_2", "boolean_3", "boolean_4", "float_2", "float_3", "float_4"),
    "window": ("none", "left", "both", "right", "open"),
    "scale": ("default", "explicit", "zero", "negative"),
    "softcap": ("on", "off"),
    "heads": ("equal", "grouped"),
    "value_width": ("equal", "wider"),
    "cache": ("past", "key_lengths", "none"),
    "sinks": ("on", "off"),
    "alibi": ("off", "on"),
    "logsumexp": ("off", "on"),
    "keys": ("17", "9", "5"),
}
"""Feature to its levels."""

_TABLE = """
off          none      none  default  on  equal   equal past        on  off off 17
top_left     boolean_2 left  explicit off grouped wider key_lengths off on  on  17
bottom_right boolean_3 both  zero     off equal   wider none        on  on  off 9
bottom_right boolean_4 right negative on  grouped equal none        off off on  5
top_left     float_2   open  negative on  equal   wider key_lengths on  off off 5
off          float_3   open  zero     off grouped equal past        off on  on  9
off          float_4   right explicit off equal   wider past        on  off on  5
top_left     float_4   both  default  on  grouped equal key_lengths off on  off 9
bottom_right float_3   none  explicit on  grouped wider none        on  on  off 5
bottom_right none      left  default  off equal   wider none        off off on  5
top_left     boolean_4 none  zero     off equal   wider key_lengths off off on  9
off          boolean_3 left  negative on  grouped equal past        off off on  9
bottom_right float_2   both  explicit off grouped equal past        off off on  17
off          boolean_2 both  negative off equal   equal none        on  off off 5
top_left     none      right zero     on  grouped equal key_lengths off on  off 9
top_left     float_3   left  zero     off equal   equal none        on  off off 17
bottom_right boolean_2 open  default  on  equal   equal none        off off on  9
off          boolean_4 open  explicit off equal   equal past        on  on  off 17
off          float_2   right default  off equal   equal none        off on  off 9
bottom_right float_4   none  negative off equal   equal none        off on  off 17
top_left     boolean_3 right explicit off equal   equal past        off off off 17
bottom_right boolean_3 none  default  off equal   equal key_lengths off off off 5
off          float_3   right default  off equal   equal key_lengths off off off 9
off          boolean_2 right zero     off equal   equal past        off off off 5
off          none      both  explicit off equal   equal none        off off off 9
off          float_4   open  zero     off equal   equal none        off off off 9
off          float_2   none  zero     off equal   equal none        off off off 9
off          boolean_4 both  default  off equal   equal none        off off off 9
off          none      open  negative off equal   equal none        off off off 9
off          float_3   both  negative off equal   equal none        off off off 9
off          boolean_4 left  default  off equal   equal none        off off off 9
off          float_2   left  default  off equal   equal none        off off off 9
off          float_4   left  default  off equal   equal none        off off off 9
off          boolean_2 none  default  off equal   equal none        off off off 9
off          boolean_3 open  default  off equal   equal none        off off off 9
"""

ROWS: tuple[tuple[str, ...], ...] = tuple(tuple(line.split()) for line in _TABLE.strip().splitlines())
"""The cases: a level of every feature, in the order of `LEVELS`. A row never moves, because its number is in an id."""

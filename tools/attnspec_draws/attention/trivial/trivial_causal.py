"""Impostors of causal masks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnspec_draws.generators.trivial_answers import Outputs, TrivialAnswer, answer_of, of_the_call_before, zeros

if TYPE_CHECKING:
    from attnspec_draws.generators.trivial_answers import Answered

OUTPUT = ("output",)


def _at(call: Answered, offset: int) -> Outputs:
    return answer_of("causal_mask", OUTPUT, {}, {**call.attributes, "offset": offset})


def _moved(call: Answered, by: int) -> Outputs:
    return _at(call, call.attributes.get("offset", 0) + by)


def _everything(call: Answered) -> Outputs:
    return _at(call, call.right["output"].shape[1])


def _nothing(call: Answered) -> Outputs:
    return _at(call, -call.right["output"].shape[0])


def _first_corner(call: Answered) -> Outputs:
    return _at(call, 0)


def _last_corner(call: Answered) -> Outputs:
    queries, keys = call.right["output"].shape
    return _at(call, keys - queries)


def _backwards(call: Answered) -> Outputs:
    """Let queries look ahead and not back, by the mask of the last query for the first one."""
    return {"output": call.right["output"][::-1]}


MASKS = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("everything", "a mask that lets every query attend to every key", _everything),
    TrivialAnswer("nothing", "a mask that excludes every key", _nothing),
    TrivialAnswer("own_excluded", "a mask that excludes the query's own position", partial(_moved, by=-1)),
    TrivialAnswer("next_included", "a mask that lets queries see the next position", partial(_moved, by=1)),
    TrivialAnswer("first_corner", "a mask whose first query stands at the first key", _first_corner),
    TrivialAnswer("last_corner", "a mask whose last query stands at the last key", _last_corner),
    TrivialAnswer("backwards", "the rows of the mask in the opposite order", _backwards),
    TrivialAnswer("previous_answer", "the mask of the call before", partial(of_the_call_before, names=OUTPUT)),
)
"""Trivial answers of causal masks, cheapest first."""

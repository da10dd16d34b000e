"""The search for witnesses: the worst that passes is kept, by its text, and numbers are tried beside it."""

import itertools

from attnspec.targets.target import Target
from attnspec_authoring.results import Witness
from attnspec_authoring.third_party.witnesses import Search, search_for, witnesses_of
from attnspec_draws import recipe_from_text
from attnspec_draws.campaign.plan import Kind
from attnspec_draws.generators.limits import Limits

KINDS = [Kind("softmax", Limits("float64")), Kind("softmax", Limits("float32"))]


def searching(grade, steps):
    """Search with a clock that ticks once a look: half of the steps are random cases."""
    search = Search(grade)
    clock = itertools.count().__next__
    search_for(steps, search, KINDS, clock)
    return search


def test_the_worst_of_each_dtype_is_kept():
    search = searching(lambda recipe: (recipe.number / 100, "output"), 20)
    assert [witness.dtype for witness in search.worst()] == ["float32", "float64"]
    assert {witness.ratio for witness in search.worst()} <= {0.03, 0.04}
    assert all(recipe_from_text(witness.text).number == 100 * witness.ratio for witness in search.worst())


def test_other_numbers_are_tried_beside_the_worst():
    search = searching(lambda recipe: (0.5 if recipe.limits.variant else recipe.number / 1000, "output"), 40)
    assert all(witness.ratio == 0.5 and "variant=1" in witness.text for witness in search.worst())


def test_what_does_not_pass_is_no_witness():
    search = searching(lambda recipe: None, 20)
    assert (search.graded, search.worst()) == (0, ())


def test_a_target_is_searched_after_what_is_known(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n\nconventions = {'input_checks': 'lenient'}\n\n\n"
        "def softmax(x, axis=-1):\n    e = np.exp(x - x.max(axis, keepdims=True))\n"
        "    return e / e.sum(axis, keepdims=True)\n",
        "utf-8",
    )
    graded, [witness] = witnesses_of(Target(python=str(path)), 0.5)
    assert graded > 0
    assert isinstance(witness, Witness)
    assert (witness.dtype, witness.output) == ("float64", "output")
    assert 0 <= witness.ratio <= 1
    graded, [known] = witnesses_of(Target(python=str(path)), 0.0, [witness.text])
    assert (graded, known) == (1, witness)

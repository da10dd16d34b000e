"""Readings that are against what names, code or documentation say: they are said, and not absorbed."""

import io
from pathlib import Path

import pytest
from rich.console import Console

import attnspec
from attnspec.reports.formats import print_report

LAYERS = Path(__file__).parents[2] / "examples" / "layers"

CUT = "q, k, v = np.split(x @ self.qkv, 3, axis=-1)"
SPLIT = "q, k, v = self.heads(q), self.heads(k), self.heads(v)"

BY_HEAD = "q, k, v = every.transpose(3, 0, 2, 1, 4)"

pytestmark = pytest.mark.filterwarnings("ignore")


def validated(folder, file, name, *changes, **options):
    """Return the report on an example with pieces of its source replaced, in a file of its own."""
    source = (LAYERS / f"{file}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    path = folder / f"changed_{file}.py"
    path.write_text(source, encoding="utf-8")
    return attnspec.validate(f"{path}:{name}", dtypes="float64", probes=False, select="self_attention/*", **options)


def doubts(report):
    return [line for line in report.declaration.guessed.splitlines() if line.startswith("Doubtful: ")]


def test_a_layer_that_is_as_its_names_say_has_no_doubts(tmp_path):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention")
    assert report.conforms
    assert not doubts(report)


@pytest.mark.parametrize(
    ("changes", "order", "declared"),
    [
        ([(CUT, CUT.replace("q, k, v", "q, v, k"))], "query, value, key", "w_query+w_value+w_key"),
        ([(CUT, CUT.replace("q, k, v", "v, k, q"))], "value", "w_value+w_key+w_query"),
        (
            [(CUT, "every = (x @ self.qkv).reshape(*x.shape[:2], self.num_heads, 3, -1)"), (SPLIT, BY_HEAD)],
            "query, key, value head by head",
            "num_heads+w_query+w_key+w_value",
        ),
    ],
    ids=["key and value", "query and value", "head by head"],
)
def test_another_order_in_a_fused_matrix_is_wrong_until_it_is_declared(tmp_path, changes, order, declared):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", *changes)
    assert not report.conforms
    (doubt,) = doubts(report)
    assert f"qkv as {order}" in doubt
    assert validated(tmp_path, "fused_of_numpy", "SelfAttention", *changes, renames={"qkv": declared}).conforms


@pytest.mark.parametrize(
    "changes",
    [
        [(CUT, CUT.replace("q, k, v", "k, q, v")), ("self.qkv", "self.kqv")],
        [
            (CUT, "every = (x @ self.qkv).reshape(*x.shape[:2], self.num_heads, 3 * self.head_dim).swapaxes(1, 2)"),
            (SPLIT, "q, k, v = np.split(every, 3, axis=-1)"),
        ],
    ],
    ids=["the name says it", "the code cuts inside heads"],
)
def test_an_order_that_names_or_code_say_is_right(tmp_path, changes):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", *changes)
    assert report.conforms
    assert not doubts(report)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("X @ self.W_V + self.b_V", "X @ self.W_K + self.b_K", "are made by W_K, the projection of the key"),
        ("scores = Q @ K.transpose(0, 1, 3, 2)", "scores = K @ Q.transpose(0, 1, 3, 2)", "were exchanged"),
        ("X @ self.W_V + self.b_V", "X @ self.W_V", "never uses b_V (b_value)"),
        ("context @ self.W_O + self.b_O", "context", "never uses W_O (w_output), b_O (b_output)"),
    ],
)
def test_a_projection_in_the_part_of_another_is_named(tmp_path, old, new, said):
    report = validated(tmp_path, "of_numpy", "MultiHeadAttention", (old, new))
    assert not report.conforms
    assert said in " ".join(doubts(report))


def test_doubts_stand_beside_the_failures(tmp_path):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", (CUT, CUT.replace("q, k, v", "q, v, k")))
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=400))
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    heading = next(position for position, line in enumerate(lines) if "went wrong" in line)
    assert lines[heading + 1].startswith("Doubtful: SelfAttention reads qkv")


@pytest.mark.parametrize("rate", ["self.attn_drop.p", "0.1"])
def test_dropout_that_evaluation_leaves_on_is_seen(tmp_path, rate):
    pytest.importorskip("torch")
    change = ("self.attn_drop(att)", f"torch.nn.functional.dropout(att, p={rate})")
    report = validated(tmp_path, "three_and_projection", "CausalSelfAttention", change)
    assert not report.conforms
    assert "is random in evaluation" in " ".join(doubts(report))


WHERE = "np.where(mask, scores, -1e9)"
INVERTED = (WHERE, "np.where(mask, -1e9, scores)")
CLASS = "class SelfAttention:"
BOTTOM = "        return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)"


@pytest.mark.parametrize(
    ("statement", "by"),
    [
        ((CLASS, f'{CLASS}\n    """Attention with a mask (True: may be attended)."""\n'), "its documentation says"),
        ((CLASS, f"{CLASS}\n    # mask: 0 at padding, 1 at tokens that are kept\n"), "its documentation says"),
        (
            (CLASS, f"def make_mask(size):\n    return np.triu(np.ones((size, size)), 1) == 0\n\n\n{CLASS}"),
            "make_mask makes",
        ),
        (
            (BOTTOM, f'{BOTTOM}\n\n\nif __name__ == "__main__":\n    mask = np.tril(np.ones((3, 3))) > 0'),
            "it is tried with",
        ),
    ],
    ids=["docstring", "comment", "function", "example"],
)
def test_a_mask_that_does_the_opposite_of_what_is_stated_is_inverted(tmp_path, statement, by):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", statement)
    assert report.conforms
    assert f"of mask, {by}" in report.declaration.guessed
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", statement, INVERTED)
    assert not report.conforms
    assert f"of mask, {by}" in " ".join(doubts(report))


def test_a_mask_that_hides_as_it_is_stated_is_right(tmp_path):
    makes = (CLASS, f"def look_ahead_mask(n):\n    return np.triu(np.ones((n, n)), k=1).astype(bool)\n\n\n{CLASS}")
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", makes, INVERTED)
    assert report.conforms
    assert not doubts(report)


def test_a_mask_that_hides_where_nothing_is_stated_is_right_in_doubt(tmp_path):
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", INVERTED)
    assert report.conforms
    assert "nothing in its file states it" in " ".join(doubts(report))


def test_truth_values_that_are_looked_at_and_added_as_numbers_are_wrong(tmp_path):
    change = (f"scores = {WHERE}.astype(x.dtype)", "scores = scores + (mask if mask.dtype == np.bool_ else mask)")
    report = validated(tmp_path, "fused_of_numpy", "SelfAttention", change)
    assert not report.conforms
    assert "truth values are added as numbers" in " ".join(doubts(report))


PADDED = ("def forward(self, x, mask=None):", "def forward(self, x, mask=None, padding_mask=None):")
HIDES = (
    "        if padding_mask is not None:\n            scores = np.where(padding_mask[:, None, None], -1e9, scores)\n"
)
WEIGHTS = "        weights = np.exp"


def test_a_mask_of_padding_beside_another_is_seen(tmp_path):
    stated = (CLASS, f'{CLASS}\n    """padding_mask: True at padding"""\n')
    right = (WEIGHTS, HIDES + WEIGHTS)
    assert validated(tmp_path, "fused_of_numpy", "SelfAttention", stated, PADDED, right).conforms
    wrong = (WEIGHTS, HIDES.replace("padding_mask[", "~padding_mask[") + WEIGHTS)
    assert not validated(tmp_path, "fused_of_numpy", "SelfAttention", stated, PADDED, wrong).conforms

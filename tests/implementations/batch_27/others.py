"""Are the wrong ones right wherever their mistake is not touched?"""
import numpy as np
from witness import *
has = lambda a, *n: all(a.get(x) is not None for x in n)
def go_nan(a):
    x = a["grad_output"].astype(float)
    N = a.get("query_lengths", [x.shape[2]] * x.shape[0])
    return any(np.isnan(x[b, :, :k]).any() for b, k in enumerate(N))
fm = lambda a: has(a, "mask") and a["mask"].dtype != bool
def far(a): 
    with np.errstate(all="ignore"): return np.nanmax(np.abs(np.where(np.isfinite(a["logsumexp_a"].astype(float) - a["logsumexp_b"].astype(float)), a["logsumexp_a"].astype(float) - a["logsumexp_b"].astype(float), 0)))
X = {
 "001": lambda a: a.get("scale") == 0,
 "002": lambda a: a["key"].shape[1] > 1 and a["query"].shape[1] > a["key"].shape[1],
 "003": lambda a: has(a, "sinks") and len(a["query"]) > 1,
 "004": lambda a: fm(a) and a.get("softcap"),
 "005": lambda a: has(a, "sinks", "logsumexp"),
 "006": lambda a: has(a, "sinks"),
 "007": lambda a: has(a, "sinks", "grad_logsumexp"),
 "008": lambda a: has(a, "mask") and a["mask"].ndim == 3 and a["mask"].shape[0] == len(a["query"]) > 1,
 "009": lambda a: (a.get("scale") or 0) < 0,
 "010": lambda a: a.get("is_causal") and "causal_alignment" in a,
 "011": lambda a: a.get("is_causal"),
 "015": go_nan,
 "016": lambda a: has(a, "alibi_slopes", "causal_alignment") and (has(a, "key_lengths") or has(a, "query_lengths")),
 "017": lambda a: has(a, "alibi_slopes") and a["query"].shape[2] == 1,
 "018": lambda a: has(a, "grad_logsumexp"),
 "019": lambda a: has(a, "causal_alignment"),
 "021": lambda a: far(a) > 20,
 "022": lambda a: np.isnan(a["logsumexp_a"].astype(float)).any() or np.isnan(a["logsumexp_b"].astype(float)).any(),
 "023": lambda a: far(a) > 80,
 "024": lambda a: a["axis"] is not None and a["x"].ndim > 1 and a["axis"] == 0,
 "025": lambda a: max(a["x"].shape, default=1) > 512,
 "026": lambda a: np.ptp(a["x"].astype(float)) > 80,
}
for p in sorted((here / "wrong").glob("*.py")):
    compare_many(p, 400, seed=7, exclude=X.get(p.stem[:3]))

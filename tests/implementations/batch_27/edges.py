import itertools
from witness import *
R = np.random.default_rng(5)
good = {}
for dt in ("float64", "float32", "float16", "bfloat16"):
    for n, k in dict(noK=dict(Sk=0), noQ=dict(Sq=0), noB=dict(B=0), noEv=dict(Ev=0)).items():
        good[n + dt] = draw(R, dtype=dt, **k)
        good[n + dt]["sinks"] = R.standard_normal(2).astype(good[n + dt]["query"].dtype)
    a = good["noH" + dt] = draw(R, dtype=dt)
    for n in ("grad_output", "query", "key", "value"): a[n] = a[n][:, :0]
    a = draw(R, dtype=dt); d = a["query"].dtype
    good["bigmask" + dt] = a | dict(mask=np.full((4, 5), -9000.0).astype(d), sinks=np.full(2, -9100.0).astype(d))
    a = draw(R, dtype=dt, size=30.0); good["bigscores" + dt] = a
    if d != np.float16: good["hugemask" + dt] = draw(R, dtype=dt) | dict(mask=(R.random((4, 5)) * 1e37).astype(d))
    a = draw(R, dtype=dt, is_causal=True, window=[1, 0]); a["query"][0, 0, 1] = np.nan; good["nanq" + dt] = a
    a = draw(R, dtype=dt, mask=np.array([[True] * 5, [False] * 5, [True] * 5, [False, True] * 2 + [True]]), sinks=np.zeros(2, d), grad_logsumexp=np.ones((1, 2, 4), d))
    for n in ("query",): a[n][0, 0, 1] = np.nan
    good["nanmasked" + dt] = a
    a = draw(R, dtype=dt, softcap=1e-3); good["tinycap" + dt] = a
    a = draw(R, dtype=dt); a["grad_output"] = np.broadcast_to(a["grad_output"][:, :, :1, :1], a["grad_output"].shape); good["bcast" + dt] = a
    a = draw(R, dtype=dt, size=20.0, E=8, Ev=8)
    a["grad_output"] = (a["grad_output"].astype(f32) * 30).astype(d); a["value"] = (a["value"].astype(f32) * 30).astype(d); good["overflow" + dt] = a
b = draw(R, B=2, Hq=4, Hkv=2)
z = lambda *s: np.zeros(s)
bad = {
 "rank": b | {"query": z(2, 4, 4)}, "width": b | {"key": z(2, 2, 5, 3)}, "batch": b | {"key": z(1, 2, 5, 4), "value": z(1, 2, 5, 3)},
 "len": b | {"key_lengths": np.array([1, 2, 3])}, "grp": b | {"key": z(2, 3, 5, 4), "value": z(2, 3, 5, 3)}, "kv": b | {"value": z(2, 1, 5, 3)},
 "tok": b | {"value": z(2, 2, 4, 3)}, "neg": b | {"key_lengths": np.array([-1, 2])}, "above": b | {"key_lengths": np.array([6, 2])},
 "qabove": b | {"query_lengths": np.array([5, 2])}, "mask1": b | {"mask": z(4, 1)}, "mask2": b | {"mask": z(3, 4, 5)}, "mask3": b | {"mask": z(5)},
 "go": b | {"grad_output": z(2, 4, 4, 4)}, "go1": b | {"grad_output": z(1, 4, 4, 3)}, "gl": b | {"grad_logsumexp": z(2, 4, 1)},
}
for p in sorted((here / "right").glob("*.py")) + sorted((here / "wrong").glob("*.py")):
    m = load(p)
    if not hasattr(m, D): continue
    f = getattr(m, D); notes = []
    for n, a in good.items():
        dt = str(a["query"].dtype)
        try:
            g = gap(named(base.scaled_dot_product_attention_backward(**a), D), named(f(**freeze(convert(a, m))), D)) / EPS[dt]
            if g > 3000 or (g > 40 and dt in ("float16", "bfloat16")): notes.append(f"{n}:{g:.2g}")
        except Exception as e: notes.append(f"{n}:{e!r}"[:90])
    for n, a in bad.items():
        try: f(**a); notes.append("accepts " + n)
        except ValueError: pass
        except Exception as e: notes.append(f"{n}:{e!r}"[:80])
    print(p.stem, notes)

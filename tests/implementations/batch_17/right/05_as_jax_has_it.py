"""In the manner of JAX: tokens before heads inside, a large negative number for what is excluded, float32 inside, top left only."""
import numpy as np

conventions = {"accumulation": "float32", "causal_alignment": "top_left", "input_checks": "lenient",
               "masked_nonfinite": "propagates", "fully_masked_row": "uniform"}


def scaled_dot_product_attention_backward(grad_output, query, key, value, grad_logsumexp=None, mask=None, key_lengths=None,
                                          query_lengths=None, is_causal=False, scale=None, softcap=None, window=None):
    B, N, T, H = query.shape
    K, S = key.shape[1:3]
    if key.shape[3] != H or value.shape[1:3] != (K, S) or (N % K if K else N):
        raise ValueError("shapes")
    if grad_output.shape != (B, N, T, value.shape[3]) or (grad_logsumexp is not None and grad_logsumexp.shape != (B, N, T)):
        raise ValueError("gradients")
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != S:
            raise ValueError("mask")
        np.broadcast_to(mask, (B, N, T, S))
    f = np.float32
    heads_last = lambda x: x.astype(f).transpose(0, 2, 1, 3)
    G = N // K if K else 1
    q = heads_last(query).reshape(B, T, K, G, H)
    do = heads_last(grad_output).reshape(B, T, K, G, value.shape[3])
    k, v = heads_last(key), heads_last(value)
    c = f(1 / np.sqrt(H) if scale is None else scale)
    split = lambda x: np.broadcast_to(x, (B, N, T, S)).reshape(B, K, G, T, S)
    allow = np.ones((B, 1, 1, T, S), bool)
    i, j = np.arange(T)[:, None], np.arange(S)
    if key_lengths is not None:
        allow = allow & (j < np.asarray(key_lengths)[:, None, None])[:, None, None]
    if query_lengths is not None:
        real = i < np.asarray(query_lengths)[:, None, None]
        allow = allow & real[:, None, None]
        q, do = (np.where(real[..., None, None], x, 0) for x in (q, do))
    if is_causal:
        allow = allow & (j <= i)
    if window is not None:
        if window[0] is not None:
            allow = allow & (j >= i - window[0])
        if window[1] is not None:
            allow = allow & (j <= i + window[1])
    with np.errstate(all="ignore"):
        logits = np.einsum("BTKGH,BSKH->BKGTS", q, k) * c
        d = f(1)
        if softcap:
            t = np.tanh(logits / f(softcap))
            logits, d = t * f(softcap), 1 - t * t
        if mask is not None:
            if mask.dtype == bool:
                allow = allow & split(mask)
            else:
                allow = allow & (split(mask) != -np.inf)
                logits = logits + split(mask).astype(f)
        allow = np.broadcast_to(allow, logits.shape)
        large = f(-0.7 * np.finfo(f).max)
        padded = np.where(allow, logits, large)
        top = padded.max(-1, keepdims=True, initial=-np.inf)
        e = np.exp(padded - top)
        p = e / e.sum(-1, keepdims=True)
        dp = np.einsum("BTKGV,BSKV->BKGTS", do, v)
        dl = p * (dp - (p * dp).sum(-1, keepdims=True))
        if grad_logsumexp is not None:
            gl = grad_logsumexp.astype(f)
            if query_lengths is not None:
                gl = np.where(real[:, None, :, 0], gl, 0)
            dl = dl + p * gl.reshape(B, K, G, T, 1)
        dl = np.where(allow, dl, 0)
        ds = dl * d * c
        back = lambda x: np.ascontiguousarray(x.reshape(B, x.shape[1], int(np.prod(x.shape[2:-1])), x.shape[-1]).transpose(0, 2, 1, 3)).astype(query.dtype)
        out = [back(np.einsum("BKGTS,BSKH->BTKGH", ds, k)), back(np.einsum("BKGTS,BTKGH->BSKH", ds, q)),
               back(np.einsum("BKGTS,BTKGV->BSKV", p, do))]
    if mask is not None and mask.dtype != bool:
        x = dl.reshape(B, N, T, S)
        x = x.sum(tuple(range(4 - mask.ndim)))
        out.append(x.sum(tuple(a for a, n in enumerate(mask.shape) if n == 1), keepdims=True).astype(query.dtype))
    return tuple(out)

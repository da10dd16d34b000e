import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import numpy as np, base
def sample(rng, dtype="float64", nonfinite=True, stored=True, big=True, **fix):
    c=lambda *x: x[rng.integers(len(x))]
    B=fix.get("B",c(1,2,3)); Hkv=c(1,2,3); G=c(1,1,2,3,5); Hq=Hkv*G
    Sq=c(1,2,3,5,8,17); Sk=c(1,2,3,5,8,20,37)
    if rng.random()<.3: Sk=Sq
    if big and rng.random()<.05: Sk=0
    if big and rng.random()<.03: Sq=0
    if big and rng.random()<.03: B=0
    E=c(1,2,3,4,8,9); Ev=c(E,E,1,5,6)
    n=lambda *s: rng.standard_normal(s)
    kw=dict(grad_output=n(B,Hq,Sq,Ev),query=n(B,Hq,Sq,E),key=n(B,Hkv,Sk,E),value=n(B,Hkv,Sk,Ev))
    if rng.random()<.4: kw["grad_logsumexp"]=n(B,Hq,Sq)
    m=rng.random()
    if m<.6:
        shape=[c(1,B),c(1,Hq),c(1,Sq,Sq),Sk][c(0,0,1,2):]
        if m<.3: kw["mask"]=rng.random(shape)<.7
        else:
            x=n(*shape); x[rng.random(shape)<.2]=-np.inf; kw["mask"]=x
    if rng.random()<.35: kw["key_lengths"]=rng.integers(0,Sk+1,B)
    if rng.random()<.35: kw["query_lengths"]=rng.integers(0,Sq+1,B)
    if rng.random()<.35: kw["sinks"]=n(Hq)
    if rng.random()<.3: kw["alibi_slopes"]=rng.random(Hq)
    if rng.random()<.4: kw["is_causal"]=True
    if rng.random()<.5: kw["causal_alignment"]="bottom_right"
    s=rng.random()
    if s<.3: kw["scale"]=c(0.0,0.3,1.0,-0.7,2.0)
    if rng.random()<.3: kw["softcap"]=c(0.0,0.5,2.0,30.0)
    if rng.random()<.35: kw["window"]=[c(None,0,1,3,12),c(None,0,1,3,12)]
    for k,v in kw.items():
        if isinstance(v,np.ndarray) and v.dtype==np.float64: kw[k]=v.astype(dtype)
    if nonfinite and rng.random()<.3:
        if kw.get("query_lengths") is not None:
            for b,N in enumerate(kw["query_lengths"]):
                for k in("query","grad_output","grad_logsumexp"):
                    if k in kw: kw[k][b,:,N:]=np.nan
        if kw.get("key_lengths") is not None:
            for b,N in enumerate(kw["key_lengths"]):
                for k in("key","value"): kw[k][b,:,N:]=np.nan
        if kw.get("is_causal") and B and Sk>2 and Hkv:
            kw["key"][0,0,Sk-1]=np.inf if False else np.nan
    if stored and kw["query"].dtype.itemsize>=4:
        o,l=base.forward(**kw)
        if rng.random()<.4: kw["output"]=o
        if rng.random()<.4: kw["logsumexp"]=l
    if rng.random()<.2:
        for k in("query","key","value","grad_output"):
            kw[k]=c(lambda x:x,lambda x:np.asfortranarray(x),lambda x:x[...,::-1].copy()[...,::-1],
                    lambda x:np.ascontiguousarray(x.transpose(0,2,1,3)).transpose(0,2,1,3))(kw[k])
    return kw
def differ(a,b,counts=None):
    """greatest difference between owed outputs relative to the size of the reference"""
    worst=0.
    for k in b:
        if k not in a: continue
        x,y=np.asarray(a[k]),np.asarray(b[k])
        if x.shape!=y.shape: return np.inf
        x=x.astype(float);y=y.astype(float)
        if k in("delta","grad_scores","grad_query") and counts is not None:
            x=x[counts];y=y[counts]
        nx,ny=np.isnan(x),np.isnan(y)
        if (nx!=ny).any(): return np.inf
        x,y=x[~nx],y[~ny]
        if x.size:
            i=np.isinf(x)|np.isinf(y)
            if (x[i]!=y[i]).any(): return np.inf
            d=np.abs(x[~i]-y[~i])/np.maximum(1e-3+0*y[~i],max(1.,np.abs(y[~i]).max(initial=0)) )
            worst=max(worst,d.max(initial=0))
    return worst
def rows(kw):
    N=kw.get("query_lengths"); q=kw["query"]
    if N is None: return np.ones(q.shape[:3],bool)
    return np.broadcast_to(np.arange(q.shape[2])[None,None]<np.asarray(N)[:,None,None],q.shape[:3])
def as_dict(out,kw):
    if isinstance(out,dict): return out
    names=["grad_query","grad_key","grad_value"]
    if kw.get("mask") is not None and kw["mask"].dtype!=bool: names.append("grad_mask")
    if kw.get("sinks") is not None: names.append("grad_sinks")
    return dict(zip(names,out))

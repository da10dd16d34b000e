def split_heads(x, num_heads):
    b, s, d = x.shape
    if d % num_heads != 0:
        raise ValueError("features")
    y = x.reshape(b, s, num_heads, d // num_heads)
    if y.shape[1] == num_heads:
        return y.copy()                                # heads are already second
    return y.transpose(0, 2, 1, 3)

dtypes = ("float64", "float32")

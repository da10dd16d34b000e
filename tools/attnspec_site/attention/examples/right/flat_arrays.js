// One flat array for each tensor and indices by hand, as in C; the result is flat, too.
function attention(query, key, value, { scale, is_causal }) {
  const [B, H, S, E] = shapeOf(query);
  const [, K, T] = shapeOf(key);
  const V = value[0][0][0].length;
  const [q, k, v] = [query, key, value].map((tensor) => Float64Array.from(tensor.flat(3)));
  const factor = scale ?? 1 / Math.sqrt(E);
  const output = new Float64Array(B * H * S * V);
  const logits = new Float64Array(T);
  for (let b = 0; b < B; b++)
    for (let h = 0; h < H; h++) {
      const head = b * K + Math.floor((h * K) / H);
      for (let i = 0; i < S; i++) {
        const row = (b * H + h) * S + i;
        const keys = is_causal ? Math.min(T, i + 1) : T;
        let largest = -Infinity;
        for (let j = 0; j < keys; j++) {
          logits[j] = 0;
          for (let e = 0; e < E; e++) logits[j] += q[row * E + e] * k[(head * T + j) * E + e];
          logits[j] *= factor;
          largest = Math.max(largest, logits[j]);
        }
        let total = 0;
        for (let j = 0; j < keys; j++) total += logits[j] = Math.exp(logits[j] - largest);
        for (let j = 0; j < keys; j++)
          for (let f = 0; f < V; f++) output[row * V + f] += (logits[j] / total) * v[(head * T + j) * V + f];
      }
    }
  return output;
}

function shapeOf(tensor) {
  return Array.isArray(tensor) ? [tensor.length, ...shapeOf(tensor[0])] : [];
}

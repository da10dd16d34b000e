// Each row of query, key and value is a list of numbers: query[entry][head][token].
function attention(query, key, value, options) {
  const { mask, is_causal, causal_alignment, scale, softcap, window } = options;
  const group = query[0].length / key[0].length;
  return query.map((heads, b) =>
    heads.map((rows, h) => {
      const keys = key[b][Math.floor(h / group)];
      const values = value[b][Math.floor(h / group)];
      const factor = scale ?? 1 / Math.sqrt(rows[0].length);
      const first = causal_alignment === "bottom_right" ? keys.length - rows.length : 0;
      const [left, right] = window ?? [null, null];
      const logits = rows.map((row, i) =>
        keys.map((column, j) => {
          const ahead = j - (first + i);
          if (is_causal && ahead > 0) return -Infinity;
          if (left !== null && ahead < -left) return -Infinity;
          if (right !== null && ahead > right) return -Infinity;
          const entry = mask ? mask[b][h][i][j] : true;
          if (entry === false) return -Infinity;
          const bias = entry === true ? 0 : entry;
          const score = dot(row, column) * factor;
          const capped = softcap ? softcap * Math.tanh(score / softcap) : score;
          return capped + bias;
        }),
      );
      const weights = logits.map(softmax);
      return weights.map((row) => transposed(values).map((feature) => dot(row, feature)));
    }),
  );
}

function softmax(logits) {
  const largest = Math.max(...logits);
  if (largest === -Infinity) return logits.map(() => 0);
  const powers = logits.map((logit) => Math.exp(logit - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

function dot(one, other) {
  return one.reduce((sum, number, index) => sum + number * other[index], 0);
}

function transposed(rows) {
  return rows[0].map((_, column) => rows.map((row) => row[column]));
}

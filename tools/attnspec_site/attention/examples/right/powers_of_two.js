// Powers of two instead of e, as kernels take them: the logarithm of e to the base 2 goes into the scale.
const LOG2E = Math.LOG2E;

function attention(query, key, value, { mask, is_causal, causal_alignment, scale }) {
  const group = query[0].length / key[0].length;
  return query.map((heads, b) =>
    heads.map((rows, h) => {
      const at = Math.floor(h / group);
      const factor = LOG2E * (scale ?? 1 / Math.sqrt(rows[0].length));
      const ahead = causal_alignment === "bottom_right" ? key[b][at].length - rows.length : 0;
      return rows.map((row, i) => {
        const logits = key[b][at].map((column, j) => {
          const entry = mask ? mask[b][h][i][j] : true;
          if (entry === false || (is_causal && j > i + ahead)) return -Infinity;
          const score = factor * row.reduce((sum, number, e) => sum + number * column[e], 0);
          return entry === true ? score : score + entry * LOG2E;
        });
        const largest = Math.max(...logits);
        const powers = logits.map((logit) => (logit === -Infinity ? 0 : 2 ** (logit - largest)));
        const total = powers.reduce((sum, power) => sum + power, 0) || 1;
        return value[b][at][0].map((_, f) => powers.reduce((sum, power, j) => sum + power * value[b][at][j][f], 0) / total);
      });
    }),
  );
}

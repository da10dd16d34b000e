// Two passes over tiles of two keys: the first finds maximum and sum of each row, the second adds the values.
function attention(query, key, value, { mask, is_causal, scale }) {
  const TILE = 2;
  const group = query[0].length / key[0].length;
  return query.map((heads, b) =>
    heads.map((rows, h) => {
      const at = Math.floor(h / group);
      const [keys, values] = [key[b][at], value[b][at]];
      return rows.map((row, i) => {
        const logits = (start) =>
          keys.slice(start, start + TILE).map((column, index) => {
            const entry = mask ? mask[b][h][i][start + index] : true;
            if (entry === false || (is_causal && start + index > i)) return -Infinity;
            const score = row.reduce((sum, number, e) => sum + number * column[e], 0);
            return (scale ?? 1 / Math.sqrt(row.length)) * score + (entry === true ? 0 : entry);
          });
        let [largest, total] = [-Infinity, 0];
        for (let start = 0; start < keys.length; start += TILE) {
          const tile = logits(start);
          const now = Math.max(largest, ...tile);
          if (now === -Infinity) continue;
          total *= Math.exp(largest - now);
          for (const logit of tile) total += Math.exp(logit - now);
          largest = now;
        }
        const output = values[0].map(() => 0);
        if (total === 0) return output;
        for (let start = 0; start < keys.length; start += TILE) {
          logits(start).forEach((logit, index) => {
            const weight = Math.exp(logit - largest) / total;
            values[start + index].forEach((number, f) => (output[f] += weight * number));
          });
        }
        return output;
      });
    }),
  );
}

// Weights as exp(logit - logsumexp): no division.
const attention = (query, key, value, { scale, softcap }) =>
  query.map((heads, b) =>
    heads.map((rows, h) => {
      const at = Math.floor((h * key[b].length) / heads.length);
      return rows.map((row) => {
        const logits = key[b][at].map((column) => {
          const score = row.reduce((sum, number, e) => sum + number * column[e], 0) * (scale ?? 1 / Math.sqrt(row.length));
          return softcap ? Math.tanh(score / softcap) * softcap : score;
        });
        const largest = Math.max(...logits);
        const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
        const logsumexp = largest + Math.log(sum);
        return value[b][at][0].map((_, f) =>
          logits.reduce((total, logit, j) => total + Math.exp(logit - logsumexp) * value[b][at][j][f], 0),
        );
      });
    }),
  );

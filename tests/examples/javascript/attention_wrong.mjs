// The same implementation with one mistake: softmax is taken over the queries instead of the keys.

import { makeOperations, softmaxOverQueries } from "./operations.mjs";
import { serve } from "./protocol.mjs";

serve(
  { name: "attention in JavaScript, softmax over queries", version: "1.0.0", dtypes: ["float64", "float32"] },
  makeOperations(softmaxOverQueries),
);

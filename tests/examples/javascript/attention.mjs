// A correct implementation: attnspec validate --command "node attention.mjs"

import { makeOperations } from "./operations.mjs";
import { serve } from "./protocol.mjs";

serve({ name: "attention in JavaScript", version: "1.0.0", dtypes: ["float64", "float32"] }, makeOperations());

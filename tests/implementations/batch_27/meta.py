import json, pathlib
D = "scaled_dot_product_attention_backward"
c = lambda *names: ["sdpa_backward." + n for n in names]
ROWS = [
 ("001_scale_or_default", D, "A scale of 0 is taken for none given, so that the default 1/sqrt(E) comes in its place.", c("scale.zero","scale.explicit","recomputed"), True, "scale=0"),
 ("002_group_sum_strided", D, "The gradients of key and value heads are summed over query heads g, g+Hkv, g+2·Hkv instead of neighbours.", c("heads.grouped","grad_key","grad_value"), True, "grad_key, grad_value with at least two key heads and two query heads each"),
 ("003_sink_of_last_batch_entry", D, "grad_sinks is assigned, not added, in the loop over batch entries: only the last one counts.", c("grad_sinks"), True, "grad_sinks with B > 1"),
 ("004_grad_mask_behind_cap", D, "grad_mask is taken from the gradients of the scores, behind the derivative of the softcap.", c("grad_mask","softcap"), True, "grad_mask with float mask and softcap"),
 ("005_stored_logsumexp_with_sink_again", D, "A stored logsumexp, which holds the sink already, gets the sink added once more.", c("stored","sinks","grad_sinks"), True, "logsumexp given beside sinks"),
 ("006_delta_normalised", D, "delta is divided by the sum of the weights, which is less than 1 beside a sink.", c("delta","grad_sinks","grad_logits"), True, "sinks"),
 ("007_rows_without_keys_skipped", D, "Queries without keys are skipped before the gradient of the sink, so that their grad_logsumexp is lost.", c("sinks.fully_masked_row","grad_sinks"), True, "grad_sinks with sinks, grad_logsumexp and a row without keys"),
 ("008_rank_three_mask_by_batch", D, "A mask of rank 3 whose first axis equals B is read as (B, Sq, Sk), also where B equals Hq.", c("mask.boolean","mask.additive","grad_mask.broadcast","rejects.mask_shape"), True, "mask of rank 3 with B = Hq > 1 (or B != Hq, accepted instead of refused)"),
 ("009_maximum_before_scale", D, "On the path without mask, cap, ALiBi and sink the maximum is that of the unscaled products, so that exponentials overflow for negative scales and large scores.", c("softmax.stability","scale.explicit"), True, "negative scale with scores that lie apart by more than 88 (float32) or 709 (float64)"),
 ("010_first_query_block_rounded_up", D, "With causality the loop over blocks of 16 queries starts at the block above, not below, the first query that sees the block of keys, where the shift is no multiple of 16.", c("causal","position","grad_key","grad_value"), True, "is_causal, bottom_right or lengths, L - N no multiple of 16, and enough tokens"),
 ("011_workspace_never_cleared", D, "Workspaces are kept and stored into by the first block of queries; blocks of keys that no block of queries reaches keep what an earlier call left.", c("repeatable","excluded","causal"), True, "is_causal with Sk beyond the last query's block, after a call of the same key shape that reached those keys; also Sq = 0 after such a call"),
 ("012_padding_cleared_in_place", D, "Rows of grad_logsumexp behind query_lengths are set to 0 in the caller's array where it has the working dtype.", c("inputs_unchanged"), True, "grad_logsumexp with query_lengths below Sq in float32 or float64, contiguous and writable"),
 ("013_grad_output_in_memory_order", D, "grad_output is read in the order of memory, not of its axes.", c("memory_layout"), True, "grad_output with permuted axes in memory"),
 ("014_value_atomics_in_half", D, "In half precision each query adds to grad_value in half precision.", c("precision.accumulation","grad_value"), True, "bfloat16 or float16 with several hundred queries (or heads and queries) a key"),
 ("015_nan_gradient_reaches_masked_values", D, "grad_value is a plain product with weights of 0, so that NaN in grad_output reaches values that the query may not attend to.", c("masked_nonfinite","fully_masked_row","excluded"), True, "NaN in a row of grad_output that is masked in part"),
 ("016_alibi_from_array_ends", D, "With bottom_right the ALiBi distance places the last query of the array at the last key of the array and ignores the lengths; masks go by the lengths.", c("position","alibi","recomputed"), True, "alibi_slopes, bottom_right, and lengths with L - N != Sk - Sq"),
 ("017_decode_packs_heads_with_one_slope", D, "With a single query the heads of a group are packed into a tile which has the slope of its first head.", c("alibi","heads.grouped","recomputed"), True, "Sq = 1, grouped heads, alibi_slopes"),
 ("018_delta_less_grad_logsumexp", D, "grad_logsumexp is folded into delta, and the delta that is returned is less by it.", c("delta"), True, "delta alone, with grad_logsumexp"),
 ("019_band_slice_below_zero", D, "The band of keys is a slice whose end may be negative, which then counts from the end: queries far before the first key see keys.", c("position","causal","window","fully_masked_row"), True, "bottom_right with Sq >= Sk + 2 (or N and L so) and causality or a right window"),
 ("020_large_negative_mask_excludes", D, "Numbers of the mask of -10000 and below count as minus infinity, so that a row which has only such has no keys.", c("mask.additive","softmax.stability","grad_mask"), True, "float mask with a row of finite numbers of -1e4 and below"),
 ("021_distant_part_dropped", "merge_states", "A part whose logarithm is lower by more than 20 is dropped.", ["merge.weights","merge.average","merge.logsumexp"], True, "logarithms 20 to 36 apart in float64, or a far larger output of the lesser part"),
 ("022_nan_logarithm_taken_for_empty", "merge_states", "A logarithm that is NaN is no larger than minus infinity, and its part is left out as empty.", ["merge.nonfinite"], True, "NaN in one logarithm"),
 ("023_logarithm_from_the_first_part", "merge_states", "logsumexp is la + log1p(exp(lb - la)), which overflows where the second is much the larger; the output is right.", ["merge.stability","merge.logsumexp"], True, "logsumexp where lb - la exceeds 88 (float32) or 709 (float64)"),
 ("024_axis_zero_is_falsy", "softmax", "axis 0 is falsy and gives way to the last axis.", ["softmax.axis.explicit"], True, "axis=0 of two axes or more"),
 ("025_last_tile_padded_with_zeros", "softmax", "Axes longer than 512 go through tiles of 512, and the zeros that fill the last one count in the sum and in the maximum.", ["softmax.definition","softmax.stability"], True, "an axis longer than 512 that is no multiple of it"),
 ("026_one_maximum_for_the_array", "softmax", "The largest number of the whole array is subtracted, so that a row far below it sums to 0.", ["softmax.stability"], True, "rows that lie apart by hundreds"),
]
here = pathlib.Path(__file__).parent
rows = [r for r in ROWS if (here / "wrong" / (r[0] + ".py")).exists()]
(here / "batch.json").write_text(json.dumps([dict(file=f"wrong/{n}.py", operation=o, sentence=s, clauses=cl, in_reach=i, where=w) for n, o, s, cl, i, w in rows], indent=1) + "\n")
print(len(rows))

// Scaled dot-product attention in Go, graded by attnspec's test vectors. It needs the standard library alone:
//
//	go run attention.go [-mistake NAME] vectors/scaled_dot_product_attention/core.json ...
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
)

const offered = " query key value mask scale softcap window is_causal causal_alignment float64 float32 "

// number reads "NaN", "Infinity" and "-Infinity", too.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	read, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*n = number(read)
	return err
}

type tensor struct {
	Dtype string
	Shape []int
	Data  []number
}
type test struct {
	ID, Result       string
	Flags, Dtypes    []string
	Attributes       map[string]any
	Inputs, Expected map[string]tensor
	Tolerance        map[string]map[string][]number
}

var mistake = flag.String("mistake", "", "make this mistake")

func wrong(name string) bool                  { return *mistake == name }
func pick[T any](condition bool, yes, no T) T { return map[bool]T{true: yes, false: no}[condition] }

// attend returns the output, row by row.
func attend(inputs map[string]tensor, given map[string]any) (output []float64) {
	query, key, value, mask := inputs["query"], inputs["key"], inputs["value"], inputs["mask"]
	heads, rows, width, features := query.Shape[1], query.Shape[2], query.Shape[3], value.Shape[3]
	keyHeads, length, axes := key.Shape[1], key.Shape[2], len(mask.Shape)
	scale, stated := given["scale"].(float64)
	if !stated || wrong("stated_scale_ignored") {
		root := math.Sqrt(float64(pick(wrong("scale_from_value_width"), features, width)))
		scale = pick(wrong("scale_missing"), 1, 1/pick(wrong("scale_one_over_width"), root*root, root))
	}
	softcap, _ := given["softcap"].(float64)
	window, _ := given["window"].([]any)
	left, right := math.Inf(1), math.Inf(1)
	for index, side := range window {
		if width, bounded := side.(float64); bounded {
			*pick((index == 0) != wrong("window_sides_swapped"), &left, &right) = width
		}
	}
	left += pick(wrong("window_left_one_more"), 1.0, float64(0))
	bottom, ahead := pick(wrong("bottom_right_as_top_left"), "", "bottom_right"), pick(wrong("causal_one_ahead"), 1, pick(wrong("causal_strict"), -1, 0))
	for slice := 0; slice < query.Shape[0]*heads*rows; slice++ {
		b, h, row := slice/rows/heads, slice/rows%heads, slice%rows
		first := (b*keyHeads + pick(wrong("heads_tiled"), h%keyHeads, h*keyHeads/heads)) * length
		logits, largest, total, sums := map[int]float64{}, math.Inf(-1), 0.0, make([]float64, features)
		for j := 0; j < length-pick(wrong("last_key_dropped"), 1, 0); j++ {
			logit, bias, at, distance := 0.0, 0.0, 0, row-j+pick(given["causal_alignment"] == bottom, length-rows, 0)
			if mask.Data != nil && !wrong("mask_ignored") {
				for axis, index := range []int{b, h, row, j}[4-axes:] {
					single := mask.Shape[axis] == 1 || wrong("mask_of_first_query") && axis == axes-2
					at = at*mask.Shape[axis] + pick(single, 0, index)
				}
				bias = float64(mask.Data[at]) * pick(wrong("mask_subtracted"), -1.0, float64(1))
				if mask.Dtype == "bool" {
					bias = pick((mask.Data[at] == 1) == wrong("boolean_mask_inverted"), math.Inf(-1), 0)
				}
			}
			if given["is_causal"] == true && -distance > ahead || float64(distance) > left || float64(-distance) > right || math.IsInf(bias, -1) {
				continue
			}
			for e := 0; e < width; e++ {
				logit += scale * float64(query.Data[slice*width+e]) * float64(key.Data[(first+j)*width+e])
			}
			if softcap != 0 && !wrong("softcap_ignored") {
				logit = math.Tanh(logit/softcap) * pick(wrong("softcap_not_multiplied_back"), 1, softcap)
			}
			logits[j] = logit + bias
			largest = math.Max(largest, logits[j])
		}
		for j, logit := range logits {
			weight := math.Exp(logit - pick(wrong("no_maximum") || math.IsInf(largest, 0), 0, largest))
			total += weight
			for f := range sums {
				sums[f] += weight * float64(value.Data[(first+j)*features+f])
			}
		}
		for _, sum := range sums {
			mean := sum / pick(wrong("weights_not_normalised"), 1, total)
			output = append(output, pick(total == 0 && !wrong("fully_masked_row_nan"), 0, mean))
		}
	}
	return output
}

// right holds the rule; it says where the rule is broken.
func (one test) right(output []float64, dtype string) bool {
	for index, number := range one.Expected["output"].Data {
		expected, tolerance := float64(number), float64(one.Tolerance[dtype]["output"][index])
		got := pick(dtype == "float32", float64(float32(output[index])), output[index])
		equal := got == expected || math.IsNaN(got) && math.IsNaN(expected) || math.IsInf(tolerance, 1)
		if !equal && !(math.Abs(got-expected) <= tolerance) {
			fmt.Printf("%s in %s: output[%d] is %v; expected %v within %v; perhaps %s\n", one.ID, dtype, index, got, expected, tolerance, strings.Join(one.Flags, ", "))
			return false
		}
	}
	return true
}

func main() {
	flag.Parse()
	right, bad, skipped := 0, 0, 0
	for _, path := range flag.Args() {
		var file struct{ Tests []test }
		if content, err := os.ReadFile(path); err != nil || json.Unmarshal(content, &file) != nil {
			panic(path + " cannot be read")
		}
		for _, one := range file.Tests {
			skip, inputs := one.Result != "valid", reflect.ValueOf(one.Inputs).MapKeys()
			for _, name := range append(inputs, reflect.ValueOf(one.Attributes).MapKeys()...) {
				skip = skip || !strings.Contains(offered, " "+name.String()+" ")
			}
			for _, dtype := range one.Dtypes {
				switch {
				case skip || !strings.Contains(offered, " "+dtype+" "):
					skipped++
				case one.right(attend(one.Inputs, one.Attributes), dtype):
					right++
				default:
					bad++
				}
			}
		}
	}
	fmt.Printf("%d right, %d wrong, %d skipped\n", right, bad, skipped)
	os.Exit(pick(bad > 0, 1, 0))
}

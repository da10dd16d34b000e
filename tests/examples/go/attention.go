// Scaled dot-product attention for exported cases: reads CASE.json, writes CASE.out.json.
//
//	go build -o attention attention.go
//	./attention cases/core/plain.float32.json ...
//
// It needs nothing but the standard library. It offers query, key, value and scale in float64 and float32; a case that
// states anything else it leaves without an answer. With -flat, numbers come in a row, without dtype and shape; with
// -unscaled it is wrong.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
)

type tensor struct {
	Dtype string          `json:"dtype"`
	Shape []int           `json:"shape"`
	Data  json.RawMessage `json:"data"`
}

type exported struct {
	Operation  string             `json:"operation"`
	Dtype      string             `json:"dtype"`
	Attributes map[string]float64 `json:"attributes"`
	Inputs     map[string]tensor  `json:"inputs"`
}

// heads is batch entry, head, token, feature.
type heads [][][][]float64

func (t tensor) read() (heads, bool) {
	var numbers heads
	// NaN and infinity come as words, which no number can hold.
	return numbers, json.Unmarshal(t.Data, &numbers) == nil && len(t.Shape) == 4 && t.Shape[0]*t.Shape[1]*t.Shape[2] > 0
}

func attend(query, key, value heads, scale float64) heads {
	output := make(heads, len(query))
	for batch := range query {
		output[batch] = make([][][]float64, len(query[batch]))
		shared := len(query[batch]) / len(key[batch])
		for head := range query[batch] {
			keys, values := key[batch][head/shared], value[batch][head/shared]
			for _, row := range query[batch][head] {
				output[batch][head] = append(output[batch][head], mean(weights(row, keys, scale), values))
			}
		}
	}
	return output
}

func weights(query []float64, keys [][]float64, scale float64) []float64 {
	scores, largest, sum := make([]float64, len(keys)), math.Inf(-1), 0.0
	for index, key := range keys {
		for feature := range key {
			scores[index] += query[feature] * key[feature]
		}
		scores[index] *= scale
		largest = math.Max(largest, scores[index])
	}
	for index := range scores {
		scores[index] = math.Exp(scores[index] - largest)
		sum += scores[index]
	}
	for index := range scores {
		scores[index] /= sum
	}
	return scores
}

func mean(weights []float64, values [][]float64) []float64 {
	result := make([]float64, len(values[0]))
	for index, value := range values {
		for feature := range value {
			result[feature] += weights[index] * value[feature]
		}
	}
	return result
}

func flattened(numbers heads) []float64 {
	row := []float64{}
	for _, entry := range numbers {
		for _, head := range entry {
			for _, token := range head {
				row = append(row, token...)
			}
		}
	}
	return row
}

func answer(path string, flat, unscaled bool) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var one exported
	if json.Unmarshal(content, &one) != nil || one.Operation != "scaled_dot_product_attention" || len(one.Inputs) != 3 {
		return nil
	}
	query, hasQuery := one.Inputs["query"].read()
	key, hasKey := one.Inputs["key"].read()
	value, hasValue := one.Inputs["value"].read()
	scale, hasScale := one.Attributes["scale"]
	offered := hasQuery && hasKey && hasValue && (len(one.Attributes) == 0 || hasScale && len(one.Attributes) == 1)
	if !offered || one.Dtype != "float64" && one.Dtype != "float32" {
		return nil
	}
	if !hasScale && !unscaled {
		scale = 1 / math.Sqrt(float64(len(query[0][0][0])))
	} else if !hasScale {
		scale = 1
	}
	output := attend(query, key, value, scale)
	shape := append(append([]int{}, one.Inputs["query"].Shape[:3]...), one.Inputs["value"].Shape[3])
	var written any = map[string]any{"dtype": one.Dtype, "shape": shape, "data": output}
	if flat {
		written = flattened(output)
	}
	text, err := json.Marshal(map[string]any{"output": written})
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, ".json")+".out.json", text, 0o644)
}

func main() {
	flat := flag.Bool("flat", false, "write numbers in a row")
	unscaled := flag.Bool("unscaled", false, "forget the scale")
	flag.Parse()
	for _, path := range flag.Args() {
		if err := answer(path, *flat, *unscaled); err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			os.Exit(2)
		}
	}
}

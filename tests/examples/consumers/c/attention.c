/* Scaled dot-product attention in C, graded by attnspec's test vectors. It needs cJSON, such as Debian's libcjson-dev:
 *
 *     cc -O2 -o attention attention.c -lcjson -lm
 *     ./attention [--mistake NAME] vectors/scaled_dot_product_attention/core.json ...
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs, attributes and dtypes that are offered; tests with others are skipped. */
static const char *OFFERED = " query key value mask scale softcap window is_causal causal_alignment float64 float32 ";
static const char *mistake = "";
enum { LARGEST = 1 << 24 };

typedef struct {
    int axes, size, is_bool, shape[4];
    double *data;
} Tensor;

static int wrong(const char *name) { return !strcmp(name, mistake); }

static const cJSON *get(const cJSON *object, const char *name) { return cJSON_GetObjectItem(object, name); }

static int offers(const char *name) {
    const char *found = strstr(OFFERED, name);
    return found && found[-1] == ' ' && found[strlen(name)] == ' ';
}

static int is_word(const cJSON *item, const char *word) { return cJSON_IsString(item) && !strcmp(item->valuestring, word); }

/* Words are "NaN", "Infinity" and "-Infinity", which strtod reads. */
static double *numbers(const cJSON *row) {
    double *read = calloc(cJSON_GetArraySize(row) + 1, sizeof(double)), *next = read;
    const cJSON *item;
    cJSON_ArrayForEach(item, row) *next++ = cJSON_IsString(item) ? strtod(item->valuestring, NULL) : item->valuedouble;
    return read;
}

static Tensor tensor(const cJSON *object) {
    Tensor made = {0, 1, is_word(get(object, "dtype"), "bool"), {0}, object ? numbers(get(object, "data")) : NULL};
    const cJSON *length;
    cJSON_ArrayForEach(length, get(object, "shape")) made.size *= made.shape[made.axes++] = length->valueint;
    return made;
}

/* What the mask adds to a logit, minus infinity where it excludes the key; axes of length 1 are broadcast. */
static double bias_of(Tensor mask, int b, int h, int row, int j) {
    int at = 0, index[] = {b, h, row, j};
    if (!mask.data || wrong("mask_ignored")) return 0;
    for (int axis = 0; axis < mask.axes; axis++) {
        int single = mask.shape[axis] == 1 || (wrong("mask_of_first_query") && axis == mask.axes - 2);
        at = at * mask.shape[axis] + (single ? 0 : index[4 - mask.axes + axis]);
    }
    if (mask.is_bool) return (mask.data[at] == 1) == wrong("boolean_mask_inverted") ? -INFINITY : 0;
    return wrong("mask_subtracted") ? -mask.data[at] : mask.data[at];
}

/* The output, row by row. */
static double *attend(const cJSON *inputs, const cJSON *given) {
    Tensor query = tensor(get(inputs, "query")), key = tensor(get(inputs, "key"));
    Tensor value = tensor(get(inputs, "value")), mask = tensor(get(inputs, "mask"));
    int heads = query.shape[1], rows = query.shape[2], width = query.shape[3], length = key.shape[2];
    int features = value.shape[3], swapped = wrong("window_sides_swapped"), slices = query.shape[0] * heads * rows;
    double root = sqrt(wrong("scale_from_value_width") ? features : width), *out, *output;
    double scale = wrong("scale_missing") ? 1 : 1 / (wrong("scale_one_over_width") ? root * root : root);
    const cJSON *stated = get(given, "scale"), *softcap = get(given, "softcap"), *window = get(given, "window");
    const cJSON *left = cJSON_GetArrayItem(window, swapped), *right = cJSON_GetArrayItem(window, 1 - swapped);
    double most_left = cJSON_IsNumber(left) ? left->valuedouble + wrong("window_left_one_more") : INFINITY;
    double most_right = cJSON_IsNumber(right) ? right->valuedouble : INFINITY;
    double ahead = wrong("causal_one_ahead") - wrong("causal_strict");
    double cap = cJSON_IsNumber(softcap) && !wrong("softcap_ignored") ? softcap->valuedouble : 0;
    int bottom = is_word(get(given, "causal_alignment"), "bottom_right") && !wrong("bottom_right_as_top_left");
    if (cJSON_IsNumber(stated) && !wrong("stated_scale_ignored")) scale = stated->valuedouble;
    if (cJSON_IsTrue(get(given, "is_causal")) && ahead < most_right) most_right = ahead;
    out = output = calloc(slices * features + 1, sizeof(double));
    for (int slice = 0; slice < slices; slice++, out += features) {
        int b = slice / rows / heads, h = slice / rows % heads, row = slice % rows, key_heads = key.shape[1];
        int first = (b * key_heads + (wrong("heads_tiled") ? h % key_heads : h * key_heads / heads)) * length;
        double largest = -INFINITY, total = 0, *logits = calloc(length + 1, sizeof(double));
        char *hidden = calloc(length + 1, 1);
        for (int j = 0; j < length; j++) {
            double bias = bias_of(mask, b, h, row, j), distance = row - j + (bottom ? length - rows : 0);
            hidden[j] = distance > most_left || -distance > most_right || bias == -INFINITY;
            hidden[j] |= wrong("last_key_dropped") && j == length - 1;
            if (hidden[j]) continue;
            for (int e = 0; e < width; e++) logits[j] += query.data[slice * width + e] * key.data[(first + j) * width + e];
            logits[j] *= scale;
            if (cap != 0) logits[j] = tanh(logits[j] / cap) * (wrong("softcap_not_multiplied_back") ? 1 : cap);
            logits[j] += bias;
            largest = fmax(largest, logits[j]);
        }
        for (int j = 0; j < length; j++) {
            double weight = exp(logits[j] - (wrong("no_maximum") || isinf(largest) ? 0 : largest));
            if (hidden[j]) continue;
            total += weight;
            for (int f = 0; f < features; f++) out[f] += weight * value.data[(first + j) * features + f];
        }
        for (int f = 0; f < features; f++)
            if (total != 0 || wrong("fully_masked_row_nan")) out[f] /= wrong("weights_not_normalised") ? 1 : total;
        free(logits), free(hidden);
    }
    free(query.data), free(key.data), free(value.data), free(mask.data);
    return output;
}

/* Holds the rule in a dtype, and says where it is broken. */
static int right_in(const cJSON *test, const char *dtype) {
    double *output = attend(get(test, "inputs"), get(test, "attributes")), got = 0;
    Tensor expected = tensor(get(get(test, "expected"), "output"));
    double *tolerance = numbers(get(get(get(test, "tolerance"), dtype), "output"));
    int index = 0, same = 1;
    for (; index < expected.size && same; index += same) {
        got = strcmp(dtype, "float32") ? output[index] : (float)output[index];
        same = got == expected.data[index] || (isnan(got) && isnan(expected.data[index])) || isinf(tolerance[index]) ||
               fabs(got - expected.data[index]) <= tolerance[index];
    }
    if (!same)
        printf("%s in %s: output[%d] is %.17g; expected %.17g within %g; perhaps %s\n", get(test, "id")->valuestring, dtype,
               index, got, expected.data[index], tolerance[index], cJSON_PrintUnformatted(get(test, "flags")));
    free(output), free(expected.data), free(tolerance);
    return same;
}

int main(int count, char **words) {
    int counts[3] = {0}, named = count > 2 && !strcmp(words[1], "--mistake");
    if (named) mistake = words[2];
    for (int index = named ? 3 : 1; index < count; index++) {
        FILE *file = fopen(words[index], "rb");
        char *text = calloc(1, LARGEST);
        if (!file || !fread(text, 1, LARGEST - 1, file)) return fprintf(stderr, "%s cannot be read\n", words[index]), 2;
        cJSON *document = cJSON_Parse(text);
        const cJSON *test, *item;
        cJSON_ArrayForEach(test, get(document, "tests")) {
            int offered = is_word(get(test, "result"), "valid");
            cJSON_ArrayForEach(item, get(test, "inputs")) offered &= offers(item->string);
            cJSON_ArrayForEach(item, get(test, "attributes")) offered &= offers(item->string);
            cJSON_ArrayForEach(item, get(test, "dtypes"))
                counts[!offered || !offers(item->valuestring) ? 2 : !right_in(test, item->valuestring)]++;
        }
        cJSON_Delete(document), free(text), fclose(file);
    }
    printf("%d right, %d wrong, %d skipped\n", counts[0], counts[1], counts[2]);
    return counts[1] > 0;
}

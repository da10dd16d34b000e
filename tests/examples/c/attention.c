/* Scaled dot-product attention for exported cases: reads CASE.safetensors, writes CASE.out.safetensors.
 *
 *     cc -O2 -o attention attention.c -lm
 *     ./attention cases/core/plain.float32.safetensors ...
 *
 * It stands for a device that has neither Python nor a pipe. It offers query, key, value and scale in float64 and
 * float32; a case that states anything else it leaves without an answer. With -DIN_A_ROW it writes CASE.out.json, the
 * numbers alone in a row. With -DSCALE_MISSING it is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *content;
    char *header; /* JSON, ended by a zero */
    const char *data;
} File;

typedef struct {
    int is_double;
    size_t shape[4];
    const char *data;
} Tensor;

static void stop(const char *path, const char *what) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

/* The length of the header in eight bytes, least first; the header; the bytes of all tensors. */
static File read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) stop(path, "cannot be opened");
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(size + 1);
    if (!content || fread(content, 1, size, file) != size) stop(path, "cannot be read");
    fclose(file);
    uint64_t length;
    memcpy(&length, content, 8);
    File found = {content, malloc(length + 1), content + 8 + length};
    memcpy(found.header, content + 8, length);
    found.header[length] = 0;
    return found;
}

static int count(const char *text, const char *part) {
    int found = 0;
    while ((text = strstr(text, part))) found++, text++;
    return found;
}

/* "inputs.query":{"dtype":"F64","shape":[1,2,3,4],"data_offsets":[0,192]} */
static int read_tensor(File file, const char *name, Tensor *tensor) {
    char quoted[80], dtype[8];
    size_t *s = tensor->shape, start;
    snprintf(quoted, sizeof quoted, "\"inputs.%s\":", name);
    const char *entry = strstr(file.header, quoted);
    if (!entry) return 0;
    int read = sscanf(entry + strlen(quoted), "{\"dtype\":\"%7[^\"]\",\"shape\":[%zu,%zu,%zu,%zu],\"data_offsets\":[%zu",
                      dtype, &s[0], &s[1], &s[2], &s[3], &start);
    tensor->is_double = strcmp(dtype, "F64") == 0;
    tensor->data = file.data + start;
    return read == 6 && (tensor->is_double || strcmp(dtype, "F32") == 0);
}

static double at(Tensor tensor, size_t index) {
    return tensor.is_double ? ((const double *)tensor.data)[index] : ((const float *)tensor.data)[index];
}

static void attend(Tensor query, Tensor key, Tensor value, double scale, double *output) {
    size_t heads = query.shape[1], per_key_head = heads / key.shape[1], queries = query.shape[2], keys = key.shape[2];
    size_t width = query.shape[3], out = value.shape[3];
    double *weights = malloc((keys + 1) * sizeof *weights);
    for (size_t row = 0; row < query.shape[0] * heads * queries; row++) {
        size_t batch = row / queries / heads, head = row / queries % heads / per_key_head;
        size_t first = (batch * key.shape[1] + head) * keys;
        double largest = -INFINITY, sum = 0;
        for (size_t k = 0; k < keys; k++) {
            weights[k] = 0;
            for (size_t e = 0; e < width; e++) weights[k] += at(query, row * width + e) * at(key, (first + k) * width + e);
            weights[k] *= scale;
            largest = fmax(largest, weights[k]);
        }
        for (size_t k = 0; k < keys; k++) sum += weights[k] = exp(weights[k] - largest);
        for (size_t e = 0; e < out; e++) {
            double total = 0;
            for (size_t k = 0; k < keys; k++) total += weights[k] / sum * at(value, (first + k) * out + e);
            output[row * out + e] = total;
        }
    }
    free(weights);
}

#ifdef IN_A_ROW
static void write_answer(const char *path, Tensor query, size_t width, const double *output) {
    char name[4096];
    size_t *s = query.shape, size = s[0] * s[1] * s[2] * width;
    snprintf(name, sizeof name, "%.*s.out.json", (int)(strlen(path) - strlen(".safetensors")), path);
    FILE *file = fopen(name, "w");
    if (!file) stop(name, "cannot be written");
    fputs("{\"output\": [", file);
    for (size_t index = 0; index < size; index++) fprintf(file, "%s%.17g", index ? ", " : "", output[index]);
    fputs("]}\n", file);
    if (fclose(file)) stop(name, "cannot be written");
}
#else
static void write_answer(const char *path, Tensor query, size_t width, const double *output) {
    char name[4096], header[256];
    size_t *s = query.shape, size = s[0] * s[1] * s[2] * width, bytes = size * (query.is_double ? 8 : 4);
    snprintf(name, sizeof name, "%.*s.out.safetensors", (int)(strlen(path) - strlen(".safetensors")), path);
    snprintf(header, sizeof header, "{\"output\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu,%zu,%zu],\"data_offsets\":[0,%zu]}}",
             query.is_double ? "F64" : "F32", s[0], s[1], s[2], width, bytes);
    uint64_t length = strlen(header);
    FILE *file = fopen(name, "wb");
    if (!file) stop(name, "cannot be written");
    fwrite(&length, 8, 1, file);
    fwrite(header, 1, length, file);
    for (size_t index = 0; index < size; index++) {
        float narrow = (float)output[index];
        if (query.is_double) fwrite(&output[index], sizeof *output, 1, file);
        else fwrite(&narrow, sizeof narrow, 1, file);
    }
    if (fclose(file)) stop(name, "cannot be written");
}
#endif

static double usual_scale(size_t width) {
#ifdef SCALE_MISSING
    return width ? 1 : 0;
#else
    return 1 / sqrt((double)width);
#endif
}

static void answer(const char *path) {
    File file = read_file(path);
    Tensor query, key, value;
    const char *scale = strstr(file.header, "\"attributes.scale\":\"");
    int offered = strstr(file.header, "\"operation\":\"scaled_dot_product_attention\"") &&
                  read_tensor(file, "query", &query) && read_tensor(file, "key", &key) &&
                  read_tensor(file, "value", &value) && count(file.header, "\"inputs.") == 3 &&
                  count(file.header, "\"attributes.") == (scale ? 1 : 0) && key.shape[1] && key.shape[2];
    if (offered) {
        double by = scale ? strtod(scale + strlen("\"attributes.scale\":\""), NULL) : usual_scale(query.shape[3]);
        double *output = malloc((query.shape[0] * query.shape[1] * query.shape[2] * value.shape[3] + 1) * sizeof *output);
        attend(query, key, value, by, output);
        write_answer(path, query, value.shape[3], output);
        free(output);
    }
    free(file.header);
    free(file.content);
}

int main(int count, char **paths) {
    for (int index = 1; index < count; index++) answer(paths[index]);
    return 0;
}

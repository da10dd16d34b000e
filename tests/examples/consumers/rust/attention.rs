// Scaled dot-product attention in Rust, graded by attnspec's test vectors. The compiler alone is needed:
//
//     rustc -O attention.rs && ./attention [--mistake NAME] vectors/scaled_dot_product_attention/core.json ...
use std::{env, fs, process::exit};
use Json::{Leaf, List};

// Inputs, attributes and dtypes that are offered; tests with others are skipped.
const OFFERED: &str = " query key value mask scale softcap window is_causal causal_alignment float64 float32 ";

// A word or number as it is written, or a list; an object is a list of names and values in turn.
enum Json { Leaf(String), List(Vec<Json>) }
static NOTHING: Json = List(Vec::new());

impl Json {
    fn read(text: &[u8], at: &mut usize) -> Json {
        while b" \n,:".contains(&text[*at]) { *at += 1; }
        let start = *at;
        *at += 1;
        if b"{[".contains(&text[start]) {
            let mut items = vec![];
            loop {
                while b" \n,:".contains(&text[*at]) { *at += 1; }
                if b"}]".contains(&text[*at]) { *at += 1; return List(items); }
                items.push(Json::read(text, at));
            }
        }
        let quoted = text[start] == b'"';
        while if quoted { text[*at] != b'"' } else { !b" \n,}]".contains(&text[*at]) } {
            *at += if text[*at] == b'\\' { 2 } else { 1 };
        }
        let word = String::from_utf8_lossy(&text[start + quoted as usize..*at]).into();
        *at += quoted as usize;
        Leaf(word)
    }
    fn items(&self) -> &[Json] { if let List(items) = self { items } else { &[] } }
    fn word(&self) -> &str { if let Leaf(word) = self { word } else { "" } }
    // "NaN", "Infinity" and "-Infinity" are read as numbers are; null is none.
    fn number(&self) -> Option<f64> { self.word().parse().ok() }
    fn get(&self, name: &str) -> &Json {
        self.items().chunks(2).find(|entry| entry[0].word() == name).map_or(&NOTHING, |entry| &entry[1])
    }
    fn names(&self) -> Vec<&str> { self.items().iter().step_by(2).map(Json::word).collect() }
    fn numbers(&self) -> Vec<f64> { self.items().iter().map(|item| item.number().unwrap()).collect() }
    fn shape(&self) -> Vec<usize> { self.get("shape").numbers().iter().map(|length| *length as usize).collect() }
}

// The output, row by row; `wrong` says whether a mistake is to be made.
fn attend(inputs: &Json, given: &Json, wrong: &dyn Fn(&str) -> bool) -> Vec<f64> {
    let [query, key, value, mask] = ["query", "key", "value", "mask"].map(|name| inputs.get(name).get("data").numbers());
    let (q, k, hides) = (inputs.get("query").shape(), inputs.get("key").shape(), inputs.get("mask").shape());
    let (heads, rows, width, key_heads, length) = (q[1], q[2], q[3], k[1], k[2]);
    let features = inputs.get("value").shape()[3];
    let root = (if wrong("scale_from_value_width") { features } else { width } as f64).sqrt();
    let usual = if wrong("scale_one_over_width") { 1.0 / (root * root) } else { 1.0 / root };
    let stated = given.get("scale").number().filter(|_| !wrong("stated_scale_ignored"));
    let scale = stated.unwrap_or(if wrong("scale_missing") { 1.0 } else { usual });
    let cap = given.get("softcap").number().unwrap_or(0.0);
    let mut window: Vec<f64> = given.get("window").items().iter().map(|w| w.number().unwrap_or(f64::INFINITY)).collect();
    if window.is_empty() { window = vec![f64::INFINITY; 2]; }
    if wrong("window_sides_swapped") { window.reverse(); }
    if wrong("window_left_one_more") { window[0] += 1.0; }
    let bottom = given.get("causal_alignment").word() == "bottom_right" && !wrong("bottom_right_as_top_left");
    let ahead = wrong("causal_one_ahead") as i32 as f64 - wrong("causal_strict") as i32 as f64;
    let causal = given.get("is_causal").word() == "true";
    let mut output = vec![];
    for slice in 0..q[0] * heads * rows {
        let (b, h, row) = (slice / rows / heads, slice / rows % heads, slice % rows);
        let shared = if wrong("heads_tiled") { h % key_heads } else { h * key_heads / heads };
        let first = (b * key_heads + shared) * length;
        let mut logits = vec![];
        for j in 0..length.saturating_sub(wrong("last_key_dropped") as usize) {
            let (mut logit, mut bias, mut at) = (0.0, 0.0, 0);
            let distance = row as f64 - j as f64 + if bottom { length as f64 - rows as f64 } else { 0.0 };
            if !mask.is_empty() && !wrong("mask_ignored") {
                for (axis, index) in [b, h, row, j][4 - hides.len()..].iter().enumerate() {
                    // An axis of length 1 is broadcast.
                    let single = hides[axis] == 1 || wrong("mask_of_first_query") && axis + 2 == hides.len();
                    at = at * hides[axis] + if single { 0 } else { *index };
                }
                bias = if wrong("mask_subtracted") { -mask[at] } else { mask[at] };
                if inputs.get("mask").get("dtype").word() == "bool" {
                    bias = if (mask[at] == 1.0) == wrong("boolean_mask_inverted") { f64::NEG_INFINITY } else { 0.0 };
                }
            }
            let hidden = (causal && -distance > ahead) || distance > window[0] || -distance > window[1];
            if hidden || bias == f64::NEG_INFINITY { continue; }
            for e in 0..width { logit += query[slice * width + e] * key[(first + j) * width + e]; }
            logit *= scale;
            if cap != 0.0 && !wrong("softcap_ignored") {
                logit = (logit / cap).tanh() * if wrong("softcap_not_multiplied_back") { 1.0 } else { cap };
            }
            logits.push((j, logit + bias));
        }
        let largest = logits.iter().fold(f64::NEG_INFINITY, |most, (_, logit)| logit.max(most));
        let shift = if largest.is_infinite() || wrong("no_maximum") { 0.0 } else { largest };
        let total: f64 = logits.iter().map(|(_, logit)| (logit - shift).exp()).sum();
        for f in 0..features {
            let sum: f64 = logits.iter().map(|(j, logit)| (logit - shift).exp() * value[(first + j) * features + f]).sum();
            let mean = if wrong("weights_not_normalised") { sum } else { sum / total };
            output.push(if total == 0.0 && !wrong("fully_masked_row_nan") { 0.0 } else { mean });
        }
    }
    output
}

fn main() {
    let mut words: Vec<String> = env::args().skip(1).collect();
    let mistake = if words[0] == "--mistake" { words.drain(..2).last().unwrap() } else { String::new() };
    let (mut right, mut bad, mut skipped) = (0, 0, 0);
    for path in words {
        let content = fs::read(&path).expect("a file of vectors");
        for test in Json::read(&content, &mut 0).get("tests").items() {
            let offers = |name: &&str| OFFERED.contains(&format!(" {name} "));
            let offered = [test.get("inputs").names(), test.get("attributes").names()].concat().iter().all(offers);
            for dtype in test.get("dtypes").items().iter().map(Json::word) {
                if !offered || test.get("result").word() != "valid" || !offers(&dtype) { skipped += 1; continue; }
                let output = attend(test.get("inputs"), test.get("attributes"), &|name| name == mistake);
                let expected = test.get("expected").get("output").get("data").numbers();
                let tolerance = test.get("tolerance").get(dtype).get("output").numbers();
                // The rule, element by element.
                let wrong = (0..expected.len()).find_map(|i| {
                    let got = if dtype == "float32" { output[i] as f32 as f64 } else { output[i] };
                    let same = got == expected[i] || got.is_nan() && expected[i].is_nan() || tolerance[i].is_infinite();
                    let message = || format!("output[{i}] is {got}; expected {} within {}", expected[i], tolerance[i]);
                    if same || (got - expected[i]).abs() <= tolerance[i] { None } else { Some(message()) }
                });
                if let Some(message) = wrong {
                    let flags: Vec<&str> = test.get("flags").items().iter().map(Json::word).collect();
                    println!("{} in {dtype}: {message}; perhaps {}", test.get("id").word(), flags.join(", "));
                    bad += 1;
                } else { right += 1; }
            }
        }
    }
    println!("{right} right, {bad} wrong, {skipped} skipped");
    exit((bad > 0) as i32);
}

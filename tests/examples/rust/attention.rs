// Scaled dot-product attention in Rust by the process protocol (spec/protocol.md). The compiler alone is needed:
//
//     rustc -O --edition 2021 -o attention attention.rs
//     attnspec validate --command ./attention
//
// It is served by the attention that reads test vectors, ../consumers/rust/attention.rs, which brings its JSON.
use std::io::{stdin, stdout, BufRead, Write};

#[allow(dead_code)]
mod consumer {
    include!("../consumers/rust/attention.rs");

    const STARTED: &str = r#"{"type": "started", "protocol": 1, "name": "attention in Rust", "version": "1.0.0",
        "operations": ["scaled_dot_product_attention"], "dtypes": ["float64", "float32"], "encoding": "list"}"#;

    // The answer to a line of the harness, without its line feed; none to the last one.
    pub fn answer(line: &str) -> Option<String> {
        let mut request = Json::read(line.as_bytes(), &mut 0);
        let kind = request.get("type").word().to_string();
        if kind == "stop" { return None; }
        if kind == "start" {
            let speaks = request.get("versions").numbers().contains(&1.0);
            let refusal = r#"{"type": "error", "message": "it speaks protocol 1 only"}"#;
            return Some(if speaks { STARTED.replace('\n', "") } else { refusal.to_string() });
        }
        request.flatten();
        let seq = request.get("seq").number().unwrap_or(0.0);
        let declined = unsupported(&request).map(|why| ("unsupported", why));
        let said = match declined.or_else(|| rejected(&request).map(|why| ("rejected", why))) {
            Some((kind, why)) => format!(r#""type": "{kind}", "message": "{why}""#),
            None => format!(r#""type": "outputs", "outputs": {{"output": {}}}"#, computed(&request)),
        };
        Some(format!(r#"{{"seq": {seq}, {said}}}"#))
    }

    fn unsupported(request: &Json) -> Option<String> {
        if request.get("operation").word() != "scaled_dot_product_attention" {
            return Some("it offers scaled_dot_product_attention alone".to_string());
        }
        let names = [request.get("inputs").names(), request.get("attributes").names()].concat();
        let other = names.iter().find(|name| !OFFERED.contains(&format!(" {name} ")));
        other.map(|name| format!("it has no argument {name}"))
    }

    fn rejected(request: &Json) -> Option<String> {
        let [q, k, v, mask] = ["query", "key", "value", "mask"].map(|name| request.get("inputs").get(name).shape());
        if [&q, &k, &v].iter().any(|shape| shape.len() != 4) {
            return Some("query, key and value must have four axes".to_string());
        }
        let broadcast = [q[0], q[1], q[2], k[2]];
        let fits = |(axis, length): (usize, &usize)| {
            *length == broadcast[4 - mask.len() + axis] || *length == 1 && axis + 1 < mask.len()
        };
        let mask_fits = mask.is_empty() || (2..=4).contains(&mask.len()) && mask.iter().enumerate().all(fits);
        let rules = [
            (k[0] == q[0] && v[0] == q[0], "query, key and value must have one batch"),
            (k[3] == q[3], "query and key must be equally wide"),
            (k[1..3] == v[1..3], "key and value must have the same heads and length"),
            (k[1] != 0 && q[1] % k[1] == 0 || q[1] == k[1], "query heads must share key heads evenly"),
            (mask_fits, "the mask must broadcast to the scores"),
        ];
        rules.iter().find(|(holds, _)| !holds).map(|(_, why)| why.to_string())
    }

    // The output as a tensor of the protocol.
    fn computed(request: &Json) -> String {
        let inputs = request.get("inputs");
        let numbers = attend(inputs, request.get("attributes"), &|_| false);
        let mut shape = inputs.get("query").shape();
        shape[3] = inputs.get("value").shape()[3];
        let dtype = request.get("dtype").word();
        format!(r#"{{"dtype": "{dtype}", "shape": {shape:?}, "data": {}}}"#, nested(&numbers, &shape))
    }

    fn nested(numbers: &[f64], shape: &[usize]) -> String {
        let Some((length, rest)) = shape.split_first() else { return written(numbers[0]) };
        let size: usize = rest.iter().product();
        let items: Vec<String> = (0..*length).map(|i| nested(&numbers[i * size..(i + 1) * size], rest)).collect();
        format!("[{}]", items.join(", "))
    }

    // JSON has no numbers for infinities and NaN.
    fn written(number: f64) -> String {
        if number.is_finite() { format!("{number:?}") } else { format!("\"{}\"", number.to_string().to_lowercase()) }
    }

    impl Json {
        // Put the data of every input in a row, as vectors have it: true is 1 and false is 0.
        fn flatten(&mut self) {
            let Some(List(items)) = self.entry("inputs") else { return };
            for tensor in items.iter_mut().skip(1).step_by(2) {
                let Some(data) = tensor.entry("data") else { continue };
                let mut row = vec![];
                data.spill(&mut row);
                *data = List(row);
            }
        }
        fn entry(&mut self, name: &str) -> Option<&mut Json> {
            let List(items) = self else { return None };
            let at = items.iter().step_by(2).position(|item| item.word() == name)?;
            items.get_mut(2 * at + 1)
        }
        fn spill(&self, row: &mut Vec<Json>) {
            match self {
                List(items) => items.iter().for_each(|item| item.spill(row)),
                Leaf(word) => row.push(Leaf(word.replace("true", "1").replace("false", "0"))),
            }
        }
    }
}

fn main() {
    for line in stdin().lock().lines() {
        let Some(answer) = consumer::answer(&line.expect("a line of UTF-8")) else { break };
        println!("{answer}");
        stdout().flush().expect("a harness that reads");
    }
}

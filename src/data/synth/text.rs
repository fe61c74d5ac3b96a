//! Writes LETOR lines with decimal features quickly.

/// Writes lines with a fixed number of features.
pub(super) struct LineWriter {
    /// The texts `" 1:"`, `" 2:"`, ... before the values.
    prefixes: Vec<Vec<u8>>,
}

impl LineWriter {
    pub fn new(features: usize) -> Self {
        Self { prefixes: (1..=features).map(|index| format!(" {index}:").into_bytes()).collect() }
    }

    /// Appends `label qid:QUERY 1:value ...` and a line end; the values are given in millionths.
    pub fn push(&self, text: &mut Vec<u8>, label: u8, query: usize, millionths: &[i64]) {
        text.push(b'0' + label);
        text.extend_from_slice(b" qid:");
        push_integer(text, query as u64);
        for (prefix, value) in self.prefixes.iter().zip(millionths) {
            text.extend_from_slice(prefix);
            push_millionths(text, *value);
        }
        text.push(b'\n');
    }
}

fn push_integer(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}

/// Appends a decimal number without trailing zeros.
fn push_millionths(text: &mut Vec<u8>, value: i64) {
    if value < 0 {
        text.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    push_integer(text, magnitude / 1_000_000);
    let mut fraction = magnitude % 1_000_000;
    if fraction == 0 {
        return;
    }
    let mut digits = *b".000000";
    for digit in digits[1..].iter_mut().rev() {
        *digit += (fraction % 10) as u8;
        fraction /= 10;
    }
    let length = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    text.extend_from_slice(&digits[..length]);
}

#[cfg(test)]
mod tests {
    use super::LineWriter;

    #[test]
    fn numbers_have_no_needless_digits() {
        let mut text = Vec::new();
        let values = [0, 1_000_000, -1_500_000, 666_667, -1, 120_000_000_000, 100];
        LineWriter::new(7).push(&mut text, 3, 12, &values);
        let expected = "3 qid:12 1:0 2:1 3:-1.5 4:0.666667 5:-0.000001 6:120000 7:0.0001\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

//! Converts decimal text to the nearest `f32`, several times faster than the standard parser for typical LETOR files.

/// The powers of ten that fit in 64 bits; entry `k` is `10^k`.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut k = 1;
    while k < powers.len() {
        powers[k] = powers[k - 1] * 10;
        k += 1;
    }
    powers
};

/// The powers `10^-k`, each rounded to the nearest double.
const INVERSE_POWERS: [f64; 20] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17,
    1e-18, 1e-19,
];

/// The largest integer up to which a double holds all integers exactly.
const EXACT: u64 = 1 << 53;

/// Reads a decimal number (`-12`, `.5`, `3.25e-4`) at `start`. Returns the value of the number, with ties rounded to
/// even, and the position after it; `None` if no number begins at `start`. A number beyond the range of `f32` becomes
/// infinite; `inf` and `nan` do not count as numbers.
#[inline(always)]
pub(crate) fn parse_f32(text: &[u8], start: usize) -> Option<(f32, usize)> {
    let first = byte(text, start);
    let negative = first == b'-';
    let whole = start + usize::from(negative || first == b'+');
    // Most numbers have one digit before the point.
    let digit = byte(text, whole).wrapping_sub(b'0');
    let (mut mantissa, mut at) = if digit <= 9 && !byte(text, whole + 1).is_ascii_digit() {
        (u64::from(digit), whole + 1)
    } else {
        digits(text, whole)
    };
    let mut count = at - whole;
    let mut scale = 0;
    if byte(text, at) == b'.' {
        let (fraction, end) = digits(text, at + 1);
        scale = end - at - 1;
        count += scale;
        mantissa = mantissa.wrapping_mul(POWERS[scale.min(POWERS.len() - 1)]).wrapping_add(fraction);
        at = end;
    }
    // Nineteen digits cannot have overflowed; an exponent is left to the standard parser.
    if count.wrapping_sub(1) < 19
        && byte(text, at) | 0x20 != b'e'
        && let Some(value) = quotient(mantissa, scale)
    {
        return Some((if negative { -value } else { value }, at));
    }
    if count == 0 { None } else { exact(text, start, at) }
}

/// Returns the float nearest to `mantissa / 10^scale`; `None` if double precision cannot decide between two floats.
#[inline(always)]
fn quotient(mantissa: u64, scale: usize) -> Option<f32> {
    if mantissa > EXACT {
        return None;
    }
    // Signed integers convert in one instruction.
    let mantissa = mantissa as i64;
    if scale == 0 {
        return Some(mantissa as f32);
    }
    // After two roundings the double is within two units in the last place of the quotient. Both have the same nearest
    // float, unless the midpoint of two floats lies that near. Below the normal floats the midpoints are elsewhere.
    let double = mantissa as f64 * INVERSE_POWERS.get(scale)?;
    let from_halfway = (double.to_bits() & 0x1fff_ffff).abs_diff(0x1000_0000);
    let normal = double >= f64::from(f32::MIN_POSITIVE) || mantissa == 0;
    (normal && from_halfway > 2).then_some(double as f32)
}

/// Returns the float nearest to `millionths / 1,000,000`, as [`parse_f32`] does for the decimal text of this number.
pub(crate) fn from_millionths(millionths: i64) -> f32 {
    let magnitude = millionths.unsigned_abs();
    let value = quotient(magnitude, 6).unwrap_or_else(|| {
        let text = format!("{}.{:06}", magnitude / 1_000_000, magnitude % 1_000_000);
        text.parse().unwrap_or(f32::INFINITY)
    });
    if millionths < 0 { -value } else { value }
}

/// Reads the digits at `at`, eight at a time. Returns the value of the digits modulo 2^64, and the position after the
/// digits.
#[inline(always)]
fn digits(text: &[u8], mut at: usize) -> (u64, usize) {
    let mut value = 0u64;
    while let Some(word) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default()) ^ 0x3030_3030_3030_3030;
        // Sets the high bit of each byte above 9. A carry can only spoil bytes after one that is not a digit.
        let other = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        let count = (other.trailing_zeros() / 8) as usize;
        // Puts leading zeros in place of the bytes that are not digits. Two shifts, since one by 64 would overflow.
        let word = (word << (32 - 4 * count)) << (32 - 4 * count);
        let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
        let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
        let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
        value = value.wrapping_mul(POWERS[count]).wrapping_add(low.wrapping_add(high) >> 32);
        at += count;
        if count < 8 {
            return (value, at);
        }
    }
    while byte(text, at).is_ascii_digit() {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte(text, at) - b'0'));
        at += 1;
    }
    (value, at)
}

/// Reads a number with the slower standard parser: a long, tiny or scientific number, or a number halfway between two
/// floats. `at` is the position after the digits.
#[cold]
fn exact(text: &[u8], start: usize, mut at: usize) -> Option<(f32, usize)> {
    if byte(text, at) | 0x20 == b'e' {
        let mut behind = at + 1;
        if matches!(byte(text, behind), b'-' | b'+') {
            behind += 1;
        }
        at = behind + text[behind.min(text.len())..].iter().take_while(|digit| digit.is_ascii_digit()).count();
        if at == behind {
            return None;
        }
    }
    std::str::from_utf8(&text[start..at]).ok()?.parse().ok().map(|value| (value, at))
}

/// Returns the byte at `at`; beyond the end of the text, returns a line end.
#[inline]
pub(crate) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(b'\n')
}

#[cfg(test)]
mod tests {
    use super::parse_f32;
    use proptest::prelude::*;

    #[test]
    fn millionths_equal_what_their_text_is_parsed_to() {
        for millionths in [0, 1, -1, 666_667, -5_576_000, 16_777_217_000_000, 16_777_219_000_000, i64::MAX, i64::MIN] {
            let text = format!("{}.{:06}", millionths / 1_000_000, millionths.unsigned_abs() % 1_000_000);
            let text = if millionths == -1 { "-0.000001".to_owned() } else { text };
            assert_eq!(Some(super::from_millionths(millionths)), text.parse().ok(), "{text}");
        }
    }

    fn parse(text: &str) -> Option<(f32, usize)> {
        parse_f32(text.as_bytes(), 0)
    }

    #[test]
    fn a_number_is_read_to_its_end_and_no_further() {
        assert_eq!(parse("0.666667 2:1"), Some((0.666_667, 8)));
        assert_eq!(parse("835 1"), Some((835.0, 3)));
        assert_eq!(parse("-5.57600000"), Some((-5.576, 11)));
        assert_eq!(parse("+1."), Some((1.0, 3)));
        assert_eq!(parse(".5\r"), Some((0.5, 2)));
        assert_eq!(parse("1e3x"), Some((1000.0, 3)));
        assert_eq!(parse("2.5E-3 "), Some((0.0025, 6)));
        assert_eq!(parse("0.1234567890123456789012345678901234567890 "), Some((0.123_456_79, 42)));
        assert_eq!(parse("1e39"), Some((f32::INFINITY, 4)));
        assert_eq!(parse("-0").map(|(value, _)| value.to_bits()), Some((-0.0f32).to_bits()));
        for nothing in ["", ".", "-", "+.", "nan", "inf", "-inf", "e5", "1e", "1e+", "x"] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn halfway_cases_round_to_even() {
        for text in
            ["16777217", "16777219", "33554434.5", "0.500000029802322387695", "16777216.999999999999999", "1e-46"]
        {
            assert_eq!(parse(text).map(|(value, _)| value), text.parse().ok(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn agrees_with_the_standard_parser(sign in "[-+]?", whole in "[0-9]{0,12}", rest in "(\\.[0-9]{0,24})?", exponent in "([eE][-+]?[0-9]{1,2})?") {
            let text = format!("{sign}{whole}{rest}{exponent}");
            let expected = text.parse::<f32>().ok().map(|value| (value.to_bits(), text.len()));
            prop_assert_eq!(parse(&text).map(|(value, end)| (value.to_bits(), end)), expected);
        }

        #[test]
        fn every_float_is_read_back_from_its_text(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = format!("{value} ");
            prop_assert_eq!(parse(&text).map(|(value, _)| value.to_bits()), Some(bits));
        }
    }
}

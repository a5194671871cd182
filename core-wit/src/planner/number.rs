//! Numbers in messages -> a few digits, without the library's formatting of floats, which would be 8 KB of the component.

use std::fmt;

/// Three digits: `0.50`, `12.00`, `1.00e308`, `-inf`, `NaN`.
pub(crate) struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0.is_sign_negative() && !self.0.is_nan() { "-" } else { "" };
        let mut digits = self.0.abs();
        if !digits.is_finite() {
            return write!(f, "{sign}{}", if digits.is_nan() { "NaN" } else { "inf" });
        }
        let mut exponent = 0i32;
        if digits != 0.0 && !(0.01..1e6).contains(&digits) {
            while digits >= 10.0 {
                (digits, exponent) = (digits / 10.0, exponent + 1);
            }
            while digits < 1.0 {
                (digits, exponent) = (digits * 10.0, exponent - 1);
            }
        }
        let mut hundredths = (digits * 100.0 + 0.5) as u64;
        if exponent != 0 && hundredths == 1000 {
            (hundredths, exponent) = (100, exponent + 1);
        }
        write!(f, "{sign}{}.{:02}", hundredths / 100, hundredths % 100)?;
        if exponent == 0 { Ok(()) } else { write!(f, "e{exponent}") }
    }
}

#[cfg(test)]
mod tests {
    use super::Short;

    #[test]
    fn a_few_digits_tell_any_number() {
        let numbers = [0.0, -0.5, 12.0, 0.015, 1e308, -1e-308, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
        let shown: Vec<_> = numbers.map(|number| Short(number).to_string()).into();
        assert_eq!(
            shown,
            ["0.00", "-0.50", "12.00", "0.02", "1.00e308", "-1.00e-308", "inf", "-inf", "NaN", "4.94e-324"]
        );
    }
}

//! Names, values and widths of the element types, as the specification's table has them.

use damacy_core::dtype::DlpackType;
use damacy_core::{Dtype, SourceType};

#[test]
fn the_output_table_is_the_specifications() {
    let table = [
        ("f32", "float32", 4, 2),
        ("bf16", "bfloat16", 2, 4),
        ("u8", "uint8", 1, 1),
        ("u16", "uint16", 2, 1),
        ("u32", "uint32", 4, 1),
        ("u64", "uint64", 8, 1),
        ("i8", "int8", 1, 0),
        ("i16", "int16", 2, 0),
        ("i32", "int32", 4, 0),
        ("i64", "int64", 8, 0),
    ];
    for (value, (short, full, width, code)) in table.into_iter().enumerate() {
        let dtype = Dtype::from_value(value as u8).expect("a value of the table");
        assert_eq!(dtype as usize, value);
        assert_eq!((dtype.short_name(), dtype.full_name(), dtype.width()), (short, full, width));
        assert_eq!(dtype.dlpack(), DlpackType { code, bits: 8 * width as u8 });
        for name in [short, full, &short.to_uppercase(), &full.to_uppercase()] {
            assert_eq!(Dtype::parse(name), Ok(dtype));
        }
    }
    assert_eq!(Dtype::from_value(10), None);
}

#[test]
fn an_unknown_output_is_refused_by_name_with_what_is_accepted() {
    for name in ["float64", "f16", "bool", "", "uint8 ", "0", "x\ny"] {
        assert_eq!(Dtype::from_name(name), None);
    }
    let message = Dtype::parse("float64").expect_err("no output").to_string();
    assert_eq!(
        message,
        "\"float64\" is no output type; accepted are float32 (f32), bfloat16 (bf16), uint8 (u8), uint16 (u16), \
         uint32 (u32), uint64 (u64), int8 (i8), int16 (i16), int32 (i32), int64 (i64)"
    );
}

#[test]
fn sources_have_numpy_names_and_widths() {
    for (value, source) in SourceType::ALL.into_iter().enumerate() {
        assert_eq!(SourceType::from_value(value as u8), Some(source));
        assert_eq!(SourceType::from_name(source.full_name()), Some(source));
        assert_eq!(SourceType::from_name(source.short_name()), Some(source));
        let bits: usize = source.short_name()[1..].parse().expect("bits");
        assert_eq!(source.width() * 8, bits);
        assert!(source.full_name().ends_with(&bits.to_string()));
    }
    assert_eq!(SourceType::from_value(10), None);
    for name in ["float64", "bfloat16", "bool", "complex64"] {
        assert_eq!(SourceType::from_name(name), None);
    }
}

//! Tests which numbers and texts are valid weights, and which bits visitors receive for them.

use super::*;

const U32: Weights = Weights::Read(WeightType::U32);
const F32: Weights = Weights::Read(WeightType::F32);

#[test]
fn floats_at_once() {
    let taken = [0.0, 1.0, 4_294_967_040.0, 4_294_967_296.0, 0.5, f32::MAX, f32::MIN_POSITIVE / 2.0];
    let not = [-0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN];
    for (last, is_taken) in taken.map(|last| (last, true)).into_iter().chain(not.map(|last| (last, false))) {
        let weights = [3.0, last];
        let bits = weights.map(f32::to_bits);
        for mode in [F32, Weights::Find] {
            let each = weights.map(|weight| mode.take(Weight::Single(weight)));
            let kind = |each: Result<(u64, WeightClass), Mistake>| each.expect("a weight").1.kind();
            let expected = is_taken.then(|| each.map(kind).into_iter().max().unwrap());
            assert_eq!(mode.take_floats(&bits), expected, "{last}");
            if mode == F32 && is_taken {
                assert_eq!(each.map(|each| each.unwrap().0 as u32), bits);
            }
        }
        assert_eq!(U32.take_floats(&bits), None);
    }
}

fn found(text: &str) -> Result<WeightType, Mistake> {
    Weights::Find.take(Weight::Text(text.as_bytes())).map(|(_, found)| found.kind())
}

#[test]
fn whole_numbers_that_are_wide_or_rounded() {
    let found = |weight: Weight<'_>| Weights::Find.take(weight).expect("a weight").1;
    let (rounded, wide, both) =
        (WeightClass::Rounded, WeightClass::Wide { rounded: false }, WeightClass::Wide { rounded: true });
    for (text, want) in [
        ("16777216", WeightClass::Whole),
        ("16777217", rounded),
        ("16777217.0", rounded),
        ("4294967040", WeightClass::Whole),
        ("4294967295", rounded),
        ("4294967296", wide),
        ("4294967296.0", wide),
        ("1e11", both),
        ("1217567877123", both),
        ("9007199254740993", both),
        ("18446744073709551615", both),
        ("1e20", WeightClass::Decimal),
        ("16777217.5", WeightClass::Decimal),
    ] {
        assert_eq!(found(Weight::Text(text.as_bytes())), want, "{text}");
    }
    assert_eq!(Weights::Find.take(Weight::Text(b"18446744073709551616")), Err(Mistake::NotU64));
    assert_eq!(found(Weight::Single(8_589_934_592.0)), WeightClass::Decimal);
    assert_eq!(found(Weight::Float(8_589_934_592.0)), wide);
    assert_eq!(found(Weight::Float(16_777_217.0)), rounded);
}

#[test]
fn texts_of_64_bits() {
    let bits = |kind, text: &str| Weights::Read(kind).take(Weight::Text(text.as_bytes())).map(|(bits, _)| bits);
    for (text, whole) in [
        ("0", 0),
        ("-0", 0),
        ("+3", 3),
        ("\"4294967296\"", 1 << 32),
        ("1e15", 1_000_000_000_000_000),
        ("9007199254740992", 1 << 53),
        ("9007199254740993", (1 << 53) + 1),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(bits(WeightType::U64, text), Ok(whole), "{text}");
    }
    for text in ["0.5", "18446744073709551616", "1e18", "9007199254740993.0", "-1", "nan"] {
        assert!(bits(WeightType::U64, text).is_err(), "{text}");
    }
    for text in ["0", "0.1", "1e-400", "5e-324", "1e308", ".5", "9007199254740992", "18446744073709551616", "1e39"] {
        let value: f64 = text.parse().expect("a number");
        assert_eq!(bits(WeightType::F64, text), Ok(value.to_bits()), "{text}");
    }
    assert_eq!(bits(WeightType::F64, "-0.0"), Ok(0));
    for (text, mistake) in [
        ("9007199254740993", Mistake::NotF64),
        ("18446744073709551617", Mistake::NotF64),
        ("1e309", Mistake::BeyondF64),
        ("inf", Mistake::NotFinite),
        ("-1e-320", Mistake::Negative),
    ] {
        assert_eq!(bits(WeightType::F64, text), Err(mistake), "{text}");
    }
    let single = Weights::Read(WeightType::F64).take(Weight::Single(0.1)).map(|(bits, _)| bits);
    assert_eq!(single, Ok(f64::from(0.1f32).to_bits()));
    assert_eq!(bits_of(&[1, 2, 3, 4], 2).collect::<Vec<u64>>(), [1 | 2 << 32, 3 | 4 << 32]);
}

#[test]
fn texts() {
    let bits = |mode: Weights, text: &str| mode.take(Weight::Text(text.as_bytes())).map(|(bits, _)| bits as u32);
    for (text, whole) in
        [("0", 0), ("-0", 0), ("-0.0", 0), ("+3", 3), ("\"7\"", 7), ("1e3", 1000), ("5.", 5), ("4294967295.0", !0)]
    {
        assert_eq!((bits(U32, text), found(text)), (Ok(whole), Ok(WeightType::U32)), "{text}");
        assert_eq!(bits(F32, text), Ok((whole as f32).to_bits()), "{text}");
    }
    for text in ["0.5", "1e-60", "4294967296", "18446744073709551616", ".1", "16777217.5", "3.4028235e38"] {
        let nearest: f32 = text.parse().expect("a number");
        assert_eq!(bits(F32, text), Ok(nearest.to_bits()), "{text}");
        assert_eq!(bits(U32, text), Err(Mistake::NotU32), "{text}");
    }
    for (text, mistake) in [
        ("-1", Mistake::Negative),
        ("-1e-300", Mistake::Negative),
        ("-inf", Mistake::Negative),
        ("-1e999", Mistake::Negative),
        ("nan", Mistake::NotFinite),
        ("-NaN", Mistake::NotFinite),
        ("inf", Mistake::NotFinite),
        ("1e39", Mistake::TooLarge),
        ("1e999", Mistake::TooLarge),
        ("", Mistake::NoNumber),
    ] {
        assert_eq!((bits(F32, text), found(text)), (Err(mistake), Err(mistake)), "{text}");
    }
    let mut state = 1u64;
    for digits in 1..14usize {
        for point in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = format!("{:0>2}", (state >> 12) % 10u64.pow(digits as u32));
            let (whole, fraction) = number.split_at(1 + point % (number.len() - 1));
            let text = format!("{whole}.{fraction}");
            let nearest: f32 = text.parse().expect("a number");
            assert_eq!(bits(F32, &text), Ok(nearest.to_bits()), "{text}");
            let is_whole = fraction.bytes().all(|c| c == b'0');
            let kind = match whole.parse::<u64>() {
                _ if !is_whole => WeightType::F32,
                Ok(value) if value >> 32 == 0 => WeightType::U32,
                _ => WeightType::U64,
            };
            assert_eq!(found(&text), Ok(kind), "{text}");
        }
    }
    // Each is halfway between two f32, or its nearest f64 is.
    for (text, want) in
        [("16777217.0", 0x4b80_0000), ("16777219.0", 0x4b80_0002), ("0.50000002980232238769531250", 0x3f00_0000)]
    {
        assert_eq!(bits(F32, text), Ok(want), "{text}");
    }
    assert_eq!(bits(F32, "1.00000017881393432617187499"), Ok(0x3f80_0001));
}

#[test]
fn numbers() {
    assert_eq!(U32.take(Weight::Signed(-1)), Err(Mistake::Negative));
    assert_eq!(U32.take(Weight::Whole(1 << 32)), Err(Mistake::NotU32));
    assert_eq!(F32.take(Weight::Whole(1 << 32)), Ok((0x4f80_0000, WeightClass::whole(1 << 32))));
    assert_eq!(F32.take(Weight::Float(-0.0)), Ok((0, WeightClass::whole(0))));
    assert_eq!(F32.take(Weight::Float(f64::NAN)), Err(Mistake::NotFinite));
    assert_eq!(Weights::Find.take(Weight::Float(1e300)), Err(Mistake::TooLarge));
}

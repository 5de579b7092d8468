//! OpenCL C's vector types as types of C++: components by name, halves and pairs of components as vectors of their own,
//! operators component by component, and a constructor for each way in which a vector is written.

use std::fmt::Write as _;

/// The number types that there are vectors of.
const PARTS: &[&str] =
    &["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"];
/// Lengths, each twice the one before it.
const LENGTHS: [usize; 4] = [2, 4, 8, 16];
/// What OpenCL C calls components.
const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// Alignment of a vector at most: the widest access of a device.
const ALIGNMENT: usize = 16;

/// The type of the components and their number, if a word is a vector's type.
pub(super) fn of_word(word: &str) -> Option<(&'static str, usize)> {
    let part = PARTS.iter().find(|part| {
        word.strip_prefix(**part)
            .is_some_and(|rest| rest.bytes().next().is_some_and(|byte| byte.is_ascii_digit()))
    })?;
    let length = word[part.len()..].parse().ok()?;
    LENGTHS.contains(&length).then_some((part, length))
}

/// The name of a vector's type; CUDA C++ has types of OpenCL's names, with less in them.
pub(super) fn name(part: &str, length: usize) -> String {
    format!("sw_{part}{length}")
}

fn bytes(part: &str) -> usize {
    match part.trim_start_matches('u') {
        "char" => 1,
        "short" => 2,
        "int" | "float" => 4,
        _ => 8,
    }
}

fn component(k: usize) -> char {
    char::from(DIGITS[k % 16])
}

/// A type's definition; those of half its length stand before it.
pub(super) fn definition(part: &str, length: usize) -> String {
    let ty = name(part, length);
    let list = |item: &dyn Fn(usize) -> String| (0..length).map(item).collect::<Vec<_>>().join(", ");
    let align = (bytes(part) * length).min(ALIGNMENT);
    let mut text = format!("struct alignas({align}) {ty} {{\n    union {{\n");
    // Writing to a `String` cannot fail, here and below.
    let _ = writeln!(text, "        struct {{ {part} {}; }};", list(&|k| format!("s{}", component(k))));
    if length <= 4 {
        let names: Vec<&str> = ["x", "y", "z", "w"][..length].to_vec();
        let _ = writeln!(text, "        struct {{ {part} {}; }};", names.join(", "));
    }
    if length > 2 {
        let pairs: Vec<String> =
            (0..length).step_by(2).map(|k| format!("s{}{}", component(k), component(k + 1))).collect();
        let _ = writeln!(text, "        struct {{ {} {}; }};", name(part, 2), pairs.join(", "));
        let _ = writeln!(text, "        struct {{ {} lo, hi; }};", name(part, length / 2));
    }
    let _ = writeln!(text, "    }};\n    {ty}() = default;");
    let parameters = list(&|k| format!("{part} a{k}"));
    let all = list(&|k| format!("s{0}(a{k})", component(k)));
    let one = list(&|k| format!("s{}(a)", component(k)));
    let _ = writeln!(text, "    SW_MEMBER {ty}({part} a) : {one} {{}}");
    let _ = writeln!(text, "    SW_MEMBER {ty}({parameters}) : {all} {{}}");
    if length > 2 {
        let half = name(part, length / 2);
        let halves = list(&|k| {
            let (of, k_of) = if k < length / 2 { ("a", k) } else { ("b", k - length / 2) };
            format!("s{}({of}.s{})", component(k), component(k_of))
        });
        let _ = writeln!(text, "    SW_MEMBER {ty}({half} a, {half} b) : {halves} {{}}");
    }
    if length > 4 {
        let pairs: Vec<String> = (0..length / 2).map(|k| format!("{} a{k}", name(part, 2))).collect();
        let parts = list(&|k| format!("s{}(a{}.{})", component(k), k / 2, ["x", "y"][k % 2]));
        let _ = writeln!(text, "    SW_MEMBER {ty}({}) : {parts} {{}}", pairs.join(", "));
    }
    if length == 2 && matches!(part, "float" | "double") {
        let other = if part == "float" { "double" } else { "float" };
        let _ = writeln!(
            text,
            "    template <class V> static SW_MEMBER {ty} of(const V &a) {{ return {ty}(({part})({other})a.x, ({part})({other})a.y); }}"
        );
    }
    let binary: &[&str] = match part {
        "float" | "double" => &["+", "-", "*", "/"],
        _ => &["+", "-", "*", "&", "|", "^"],
    };
    for operator in binary {
        let each = list(&|k| format!("({part})(a.s{0} {operator} b.s{0})", component(k)));
        let _ = writeln!(
            text,
            "    friend SW_MEMBER {ty} operator{operator}(const {ty} a, const {ty} b) {{ return {ty}({each}); }}\n    \
             friend SW_MEMBER {ty} &operator{operator}=({ty} &a, const {ty} b) {{ return a = a {operator} b; }}"
        );
    }
    let negated = list(&|k| format!("({part})-a.s{}", component(k)));
    let _ = writeln!(
        text,
        "    friend SW_MEMBER {ty} operator-(const {ty} a) {{ return {ty}({negated}); }}\n}};"
    );
    text
}

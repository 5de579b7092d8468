//! Kernels: their parameters, as far as their text tells, and their arguments.

/// A parameter of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parameter {
    /// A pointer to global or constant memory.
    Memory,
    /// A pointer to local memory.
    Local,
    /// A value, and its size in bytes where the type is one of the language.
    Value(Option<usize>),
}

/// An argument that was set.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Value,
    Local,
    /// A buffer, or 0.
    Buffer(usize),
    /// Memory by its address, or 0.
    Pointer(usize),
}

/// The kernels of a program: names and parameters.
pub(crate) fn kernels(source: &str) -> Vec<(String, Vec<Parameter>)> {
    let text = without_comments(source);
    let mut found = Vec::new();
    for (at, _) in text.match_indices("void") {
        let before = &text[..at];
        let declaration = &before[before.rfind([';', '}']).map_or(0, |end| end + 1)..];
        if !words(declaration).any(|word| word == "kernel" || word == "__kernel") {
            continue;
        }
        let after = text[at + "void".len()..].trim_start();
        let Some((name, rest)) = after.split_once('(') else { continue };
        let name = name.trim();
        if name.is_empty() || words(name).next() != Some(name) {
            continue;
        }
        found.push((name.to_owned(), parameters(rest)));
    }
    found
}

/// The parameters of a list that ends with its closing parenthesis.
fn parameters(list: &str) -> Vec<Parameter> {
    let mut depth = 0_usize;
    let mut parts = vec![String::new()];
    for c in list.chars() {
        match c {
            ')' if depth == 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            c => {
                match c {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    let nothing = |part: &String| matches!(part.trim(), "" | "void");
    parts.iter().filter(|part| !nothing(part)).map(|part| parameter(part)).collect()
}

fn parameter(text: &str) -> Parameter {
    if text.contains('*') {
        let local = words(text).any(|word| word == "local" || word == "__local");
        return if local { Parameter::Local } else { Parameter::Memory };
    }
    let qualifier = |word: &&str| matches!(*word, "const" | "volatile" | "private" | "__private");
    Parameter::Value(words(text).find(|word| !qualifier(word)).and_then(size))
}

/// Bytes of a type of the language.
fn size(name: &str) -> Option<usize> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let lanes = match digits {
        "" => 1,
        // Three lanes take the place of four.
        "3" => 4,
        digits => digits.parse().ok()?,
    };
    let scalar = match &name[..name.len() - digits.len()] {
        "char" | "uchar" => 1,
        "short" | "ushort" | "half" => 2,
        "int" | "uint" | "float" => 4,
        "long" | "ulong" | "double" => 8,
        _ => return None,
    };
    Some(scalar * lanes)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn without_comments(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        text.push_str(&rest[..at]);
        text.push(' ');
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at + 2..].split_once(end).map_or("", |(_, after)| after);
        if end == "\n" {
            text.push('\n');
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_the_text() {
        let source = "/* kernel void no(int) */ struct S { long a[8]; };\n\
            inline float helper(float a, float b) { return a + b; }\n\
            __attribute__((reqd_work_group_size(64, 1, 1))) kernel void run(global const float *a_object, const long \
            a_bytes, local float2 *scratch, const struct S s, const float3 v) { }\n\
            // kernel void neither()\n\
            __kernel void empty(void) {}\nvoid no_kernel(int a) {}";
        let expected = vec![
            Parameter::Memory,
            Parameter::Value(Some(8)),
            Parameter::Local,
            Parameter::Value(None),
            Parameter::Value(Some(16)),
        ];
        assert_eq!(kernels(source), [("run".to_owned(), expected), ("empty".to_owned(), vec![])]);
    }
}

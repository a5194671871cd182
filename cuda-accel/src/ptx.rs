//! The shipped kernels' text: an entry's name -> PTX with that entry alone.
//!
//! The driver compiles a module as a whole when it is loaded. The whole text has 110 entries and a pipeline launches
//! one, so each entry is loaded as a module of its own: the text's head (version, target, address size) and the entry.

use crate::error::{Error, Result};

/// All kernels, built by `build-ptx.sh`.
pub const PTX: &str = include_str!("../prebuilt/damacy.ptx");

/// The text's head and one entry.
///
/// # Errors
/// An entry that the text lacks.
pub fn entry_alone(text: &str, name: &str) -> Result<String> {
    let missing = || Error::Argument(format!("the PTX has no entry {name}"));
    let head = &text[..text.find(".visible .entry").ok_or_else(missing)?];
    let start = text.find(&format!(".visible .entry {name}(")).ok_or_else(missing)?;
    // A body's closing brace is the first that starts a line; blocks inside are indented.
    let len = text[start..].find("\n}").ok_or_else(missing)? + 2;
    let head: String = head.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    Ok(format!("{head}\n{}\n", &text[start..start + len]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use damacy_core::{Dtype, SourceType};
    use damacy_cuda_kernels::abi::{assemble_entry, convert_entry};

    #[test]
    fn every_entry_is_found_whole_and_alone() {
        let assembly = Dtype::ALL.map(assemble_entry);
        let flat = SourceType::ALL.iter().flat_map(|&source| Dtype::ALL.map(|output| convert_entry(source, output)));
        let mut bytes = 0;
        for name in assembly.into_iter().chain(flat) {
            let text = entry_alone(PTX, name).unwrap();
            assert!(text.trim_start().starts_with(".version"), "{name}");
            assert!(text.contains(".target") && text.contains(".address_size 64"), "{name}");
            assert_eq!(text.matches(".entry").count(), 1, "{name}");
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{name}");
            assert!(text.contains("ret;") && text.ends_with("}\n"), "{name}");
            // Nothing outside the entry is needed: no functions, no module-wide variables.
            assert!(!text.contains("call"), "{name}");
            bytes += text.len();
        }
        assert!(bytes * 10 > PTX.len() * 9, "the entries are most of the text");
        assert!(!PTX.contains("\n.global") && !PTX.contains("\n.const") && !PTX.contains(".func"), "only entries");
    }

    #[test]
    fn an_entry_that_is_missing_is_named() {
        for text in ["", PTX] {
            let error = entry_alone(text, "damacy_assemble_f99").unwrap_err();
            assert!(error.to_string().contains("damacy_assemble_f99"));
        }
    }
}

//! Injected failures: a rule such as `cuMemAlloc:3:2:once` -> the third call of `cuMemAlloc_v2` from now returns 2.

use crate::codes::Code;

/// How a failure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The call returns the code and does nothing; later calls work.
    Once,
    /// As a sticky CUDA error: the current context returns the code from then on, until it is destroyed.
    Sticky,
    /// The device is lost: every context on it returns the code until `soft_cuda_clear_failures`.
    Lost,
    /// The call returns success; its work fails when it executes, and the context is as after `Sticky`.
    Async,
}

#[derive(Clone, Debug)]
struct Rule {
    /// The exported name without `_v2`, or `*` for every call.
    call: String,
    /// Calls until it fails, this one included.
    left: u64,
    code: Code,
    manner: Manner,
}

#[derive(Default)]
pub struct Failures {
    rules: Vec<Rule>,
}

impl Failures {
    /// Adds rules `call:n:code[:once|sticky|lost|async]`, separated by commas.
    pub fn add(&mut self, rules: &str) -> Result<(), String> {
        for text in rules.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            self.rules.push(parse(text)?);
        }
        Ok(())
    }

    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// Counts one call of `name`: the failure that it meets, if any.
    pub fn met_by(&mut self, name: &str) -> Option<(Code, Manner)> {
        let name = unversioned(name);
        let mut met = None;
        self.rules.retain_mut(|rule| {
            if rule.call != "*" && rule.call != name {
                return true;
            }
            rule.left -= 1;
            if rule.left > 0 {
                return true;
            }
            met = met.or(Some((rule.code, rule.manner)));
            false
        });
        met
    }
}

fn parse(text: &str) -> Result<Rule, String> {
    let wrong = |why: &str| format!("failure {text:?}: {why}; expected call:n:code[:once|sticky|lost|async], n from 1");
    let parts: Vec<&str> = text.split(':').collect();
    let (&[call, left, code], manner) = match parts.as_slice() {
        [call, left, code] => (&[*call, *left, *code], "once"),
        [call, left, code, manner] => (&[*call, *left, *code], *manner),
        _ => return Err(wrong("it has not three or four parts")),
    };
    let manner = match manner {
        "once" => Manner::Once,
        "sticky" => Manner::Sticky,
        "lost" => Manner::Lost,
        "async" => Manner::Async,
        _ => return Err(wrong("an unknown manner")),
    };
    let left = left.parse().ok().filter(|&left| left > 0).ok_or_else(|| wrong("n is not a number from 1"))?;
    let code = code.parse().ok().filter(|&code| code > 0).ok_or_else(|| wrong("the code is not a number from 1"))?;
    Ok(Rule { call: unversioned(call).to_owned(), left, code, manner })
}

/// `cuMemAlloc_v2` -> `cuMemAlloc`.
pub fn unversioned(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

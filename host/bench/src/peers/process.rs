//! A peer's process: requests as lines of JSON to its standard input, one line of JSON back for each.
//!
//! It is ended when it is dropped. What it says on standard error is told if it ends by itself. Its failures are [`Stop::Peer`].

use super::stop::{Result, Stop};
use crate::failure::Failure;
use crate::interrupt;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What it runs.
pub(super) const MODULE: &str = "damacy.bench.peer";
/// Bytes of standard error that are told.
const MOST_TOLD: u64 = 2000;
/// How long a process that reads no more may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A process and its pipes.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    errors: File,
}

impl Process {
    pub(super) fn start(program: &Path) -> Result<Process> {
        let errors =
            tempfile::tempfile().map_err(|error| Failure::file(&std::env::temp_dir(), "cannot be written", error))?;
        let copy = errors.try_clone().map_err(|error| Failure::file(program, "cannot be started", error))?;
        let mut child = Command::new(program)
            .args(["-m", MODULE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(copy)
            .spawn()
            .map_err(|error| Failure::file(program, "cannot be started; name a Python with --python", error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::internal("a child process without pipes").into());
        };
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Process { child, input, answers, errors })
    }

    pub(super) fn ask(&mut self, request: &Value) -> Result<Value> {
        self.send(request)?;
        self.answer()
    }

    pub(super) fn send(&mut self, request: &Value) -> Result<()> {
        self.write(format!("{request}\n").as_bytes())
    }

    /// Writes all of it; an interruption ends the wait for a process that does not read.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            interrupt::check()?;
            match self.input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    interrupt::check()?;
                    return Err(self.last_words());
                }
            }
        }
        Ok(())
    }

    pub(super) fn answer(&mut self) -> Result<Value> {
        loop {
            match self.answers.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => {
                    interrupt::check()?;
                    let answer: Value = serde_json::from_str(&line).map_err(|_| self.strange(&line.into()))?;
                    return match answer["error"].as_str() {
                        Some(error) => Err(Stop::Peer(error.to_owned())),
                        None => Ok(answer),
                    };
                }
                Err(RecvTimeoutError::Timeout) => interrupt::check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    interrupt::check()?;
                    return Err(self.ended());
                }
            }
        }
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(&self, answer: &Value) -> Result<T> {
        serde_json::from_value(answer.clone()).map_err(|_| self.strange(answer))
    }

    pub(super) fn strange(&self, answer: &Value) -> Stop {
        let shown: String = answer.to_string().chars().take(200).collect();
        Stop::Peer(format!("it answered {shown}"))
    }

    /// Why a process reads no more: the error that it answered, else how it ended.
    fn last_words(&mut self) -> Stop {
        let line = self.answers.recv_timeout(LAST_WORDS).ok();
        let answer: Option<Value> = line.and_then(|line| serde_json::from_str(&line).ok());
        match answer.as_ref().and_then(|answer| answer["error"].as_str()) {
            Some(error) => Stop::Peer(error.to_owned()),
            None => self.ended(),
        }
    }

    /// With the end of what it said on standard error, and its status.
    fn ended(&mut self) -> Stop {
        let mut said = String::new();
        let len = self.errors.seek(std::io::SeekFrom::End(0)).unwrap_or(0);
        let _ = self.errors.seek(std::io::SeekFrom::Start(len.saturating_sub(MOST_TOLD)));
        let _ = self.errors.read_to_string(&mut said);
        let last = said.trim().rsplit('\n').next().filter(|last| !last.is_empty());
        let _ = self.child.kill();
        let status = self.child.wait().map_or_else(|_| String::new(), |status| format!(" ({status})"));
        Stop::Peer(format!("its process has ended{status}{}", last.map_or(String::new(), |last| format!(": {last}"))))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

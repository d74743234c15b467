//! Whole runs of the program in a folder of their own.

#![allow(dead_code, reason = "each test file uses a part of it")]

use assert_cmd::Command;
use std::path::PathBuf;
use std::process::Output;

/// A folder to run the program in.
pub(crate) struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("a file in the folder");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file in the folder")
    }

    /// What a model file holds, but for where it comes from: the description, and the bytes of its tensors.
    pub(crate) fn fitted(&self, name: &str) -> (serde_json::Value, Vec<u8>) {
        let bytes = self.read(name);
        let end = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize;
        let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..end]).expect("a header");
        let text = header["__metadata__"]["lipmetric"].as_str().expect("a description");
        let mut told: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert!(told["model"]["origin"]["fingerprint"].is_string(), "{name} does not say where it comes from");
        told["model"].as_object_mut().expect("a model").remove("origin");
        told.as_object_mut().expect("an object").remove("checksum");
        header["__metadata__"]["lipmetric"] = told;
        (header, bytes[end..].to_vec())
    }

    /// Names of everything in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dir.path())
            .expect("the folder")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("lipmetric").expect("the program");
        command.current_dir(self.dir.path()).args(args);
        // A data folder of the user's must not change what the tests see, nor their terminal.
        command.env("LIPMETRIC_DATA_DIR", self.path("data-folder")).env_remove("NO_COLOR").env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    /// Runs, must succeed, gives standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert!(out.status.success(), "{args:?} failed: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8")
    }

    /// Runs, must end with this code, gives standard error.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let out = self.run(args);
        let error = String::from_utf8(out.stderr).expect("UTF-8");
        assert_eq!(out.status.code(), Some(code), "{args:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        error
    }

    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.ok(args)).expect("JSON")
    }
}

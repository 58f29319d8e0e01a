//! The programs of the README print the expected text. Each runs in an empty folder.

use std::process::Command;

fn stdout_of(program: &str) -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(program).current_dir(&folder).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn typed_frames_from_a_registry() -> Result<(), Box<dyn std::error::Error>> {
    let printed = stdout_of(env!("CARGO_BIN_EXE_readme"))?;
    assert_eq!(printed, "A-1042 is to be refunded\n");
    Ok(())
}

#[test]
fn agents_that_lose_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let printed = stdout_of(env!("CARGO_BIN_EXE_lunch"))?;
    assert_eq!(printed, "impl_auth is done\n");
    Ok(())
}

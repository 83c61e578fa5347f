//! The processes started by a command and its children, for signals that are meant for all of them.
//!
//! The command is in the process group of Forebay's caller, so the group cannot be signalled.

use rustix::process::Pid;

/// The process and all that descend from it, itself first.
pub(crate) fn of(root: Pid) -> Vec<Pid> {
    let parents = parents();
    let mut family = vec![root];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    family
}

/// Every process that can be seen, with its parent.
#[cfg(target_os = "linux")]
fn parents() -> Vec<(Pid, Pid)> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let parent = |entry: std::fs::DirEntry| {
        let pid = pid(entry.file_name().to_str()?)?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        // `12 (a name) S 1 …`, and a name may hold anything.
        let (_, rest) = stat.split_at(stat.iter().rposition(|&byte| byte == b')')?);
        Some((pid, self::pid(std::str::from_utf8(rest).ok()?.split_ascii_whitespace().nth(2)?)?))
    };
    processes.flatten().filter_map(parent).collect()
}

/// Every process that can be seen, with its parent.
#[cfg(not(target_os = "linux"))]
fn parents() -> Vec<(Pid, Pid)> {
    let Ok(listed) = std::process::Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output() else {
        return Vec::new();
    };
    let row = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        Some((pid(words.next()?)?, pid(words.next()?)?))
    };
    String::from_utf8_lossy(&listed.stdout).lines().filter_map(row).collect()
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn children_of_children_belong_to_the_family() {
        let mut child = Command::new("sh")
            .args(["-c", "sh -c 'sleep 300; :'; :"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let root = Pid::from_child(&child);
        let mut family = of(root);
        for _ in 0..200 {
            if family.len() == 3 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            family = of(root);
        }
        assert_eq!((family.len(), family[0]), (3, root), "{family:?}");
        for pid in family {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }
}

// SPDX-License-Identifier: MIT
//! Memory that our control groups leave us: containers and services often have less than the
//! machine, and buffers count as theirs.
//!
//! Place in the flow: `machine` says how much memory there is, which decides how large buffers are.

use crate::machine::kernel_text;
use std::path::Path;

/// Groups above each other that are looked at.
const LEVELS_MAX: usize = 64;

/// Where a version of control groups has what.
struct Files {
    root: &'static str,
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: pages of files that are given up first.
    unneeded: &'static str,
}

const VERSION_2: Files = Files {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    unneeded: "inactive_file ",
};
const VERSION_1: Files = Files {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    unneeded: "total_inactive_file ",
};

/// The least that our group and those above it leave. None: no limit can be seen.
pub fn left_bytes() -> Option<u64> {
    left_by(&kernel_text("/proc/self/cgroup")?, kernel_text)
}

fn left_by(groups: &str, text: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let known = lines.filter_map(|(controllers, path)| match controllers {
        "" => Some((VERSION_2, path)),
        _ => controllers.split(',').any(|one| one == "memory").then_some((VERSION_1, path)),
    });
    // A container sees its own group at the top, whatever its path is.
    let left = known.flat_map(|(files, path)| {
        let above = Path::new(path).ancestors().take(LEVELS_MAX);
        above.map(|group| files.left_in(group, &text)).collect::<Vec<_>>()
    });
    left.flatten().min()
}

impl Files {
    fn left_in(&self, group: &Path, text: &impl Fn(&str) -> Option<String>) -> Option<u64> {
        let folder = format!("{}{}", self.root, group.display());
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let limit = number(&text(&format!("{folder}/{}", self.limit))?)?;
        let used = number(&text(&format!("{folder}/{}", self.used))?)?;
        let unneeded = text(&format!("{folder}/memory.stat")).and_then(|stat| {
            stat.lines().find_map(|line| number(line.strip_prefix(self.unneeded)?))
        });
        Some(limit.saturating_sub(used.saturating_sub(unneeded.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        left_by(groups, |path| {
            let path = path.replace("//", "/");
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| text.to_string())
        })
    }

    #[test]
    fn the_least_of_what_groups_above_each_other_leave_counts() {
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "500\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 1\nfile 700\ninactive_file 300\n"),
            ("/sys/fs/cgroup/memory.max", "2000\n"),
            ("/sys/fs/cgroup/memory.current", "1950\n"),
        ];
        assert_eq!(left("0::/a/b\n", &files[..5]), Some(400));
        assert_eq!(left("0::/a/b\n", &files), Some(50));
        assert_eq!(left("0::/a/b\n", &files[..2]), None);
        assert_eq!(left("0::/\n", &[]), None);
        assert_eq!(left("no group", &files), None);
    }

    #[test]
    fn groups_of_the_first_version_are_known_and_more_used_than_allowed_leaves_nothing() {
        let files = [
            ("/sys/fs/cgroup/memory/d/memory.limit_in_bytes", "1000\n"),
            ("/sys/fs/cgroup/memory/d/memory.usage_in_bytes", "1500\n"),
            ("/sys/fs/cgroup/memory/d/memory.stat", "inactive_file 7\ntotal_inactive_file 600\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "9000\n"),
        ];
        let groups = "5:cpu,cpuacct:/c\n4:memory,hugetlb:/d\n0::/\n";
        assert_eq!(left(groups, &files), Some(100));
        assert_eq!(left(groups, &files[..2]), Some(0));
        assert_eq!(left("5:cpu:/d\n", &files), None);
    }
}

// SPDX-License-Identifier: MIT
//! What of the machine decides a session's shape: CPUs, restartable sequences, host name.

use crate::cgroup;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// One more than the highest CPU number this machine can ever have.
pub fn possible_cpus() -> u32 {
    cpu_list("/sys/devices/system/cpu/possible")
        .and_then(|cpus| cpus.last().map(|cpu| cpu + 1))
        .unwrap_or_else(configured_cpus)
}

/// The CPUs that ran when this was first asked.
pub fn online_cpus() -> &'static [u32] {
    static CPUS: OnceLock<Vec<u32>> = OnceLock::new();
    CPUS.get_or_init(|| {
        let listed = cpu_list("/sys/devices/system/cpu/online");
        listed.unwrap_or_else(|| (0..configured_cpus()).collect())
    })
}

fn configured_cpus() -> u32 {
    // SAFETY: sysconf has no preconditions.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    u32::try_from(count).unwrap_or(1).max(1)
}

fn cpu_list(path: &str) -> Option<Vec<u32>> {
    parse_cpu_list(&kernel_text(path)?)
}

/// What the kernel says in one of its files, up to a page: it gives that much in one call, and for
/// the files that are read here, that is all or begins with what is looked for.
pub fn kernel_text(path: &str) -> Option<String> {
    let mut text = [0; 4096];
    let bytes = File::open(path).and_then(|mut file| file.read(&mut text)).ok()?;
    String::from_utf8(text.get(..bytes)?.to_vec()).ok()
}

/// `0-3,8` as numbers in order; at most 8192 of them.
fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (begin, until) = range.split_once('-').unwrap_or((range, range));
        let (begin, until): (u32, u32) = (begin.parse().ok()?, until.parse().ok()?);
        if until < begin || until >= crate::abi::CPU_COUNT_MAX {
            return None;
        }
        cpus.extend(begin..=until);
    }
    Some(cpus)
}

/// Memory that new programs can have without swapping, as the kernel estimates it, or less where
/// our control groups leave less.
pub fn available_bytes() -> Option<u64> {
    let machine = parse_available(&kernel_text("/proc/meminfo")?)?;
    Some(cgroup::left_bytes().map_or(machine, |left| left.min(machine)))
}

fn parse_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Whether the C library registers restartable sequences for every thread.
pub fn has_rseq() -> bool {
    // SAFETY: dlsym with a NUL-terminated name; glibc's __rseq_size is an unsigned int.
    unsafe {
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
        !size.is_null() && *size.cast::<libc::c_uint>() > 0
    }
}

pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is writable for the length given; the last byte stays 0.
    let rc = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = CStr::from_bytes_until_nul(&name).ok().filter(|_| rc == 0);
    name.map_or_else(|| "unknown".into(), |name| name.to_string_lossy().into_owned())
}

/// Which kernel runs, as uname(2) has it: what its numbers of states mean depends on that.
pub fn kernel_release() -> Option<String> {
    let text = kernel_text("/proc/sys/kernel/osrelease")?;
    Some(text.trim().to_string()).filter(|release| !release.is_empty())
}

/// The identifier of this boot: traces of one boot share their clock.
pub fn boot_id() -> Option<String> {
    let text = kernel_text("/proc/sys/kernel/random/boot_id")?;
    Some(text.trim().to_string()).filter(|id| id.len() == 36)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(path: &str) -> String {
        std::fs::read_to_string(path).unwrap().trim().into()
    }

    #[test]
    fn cpus_are_those_that_the_kernel_numbers() {
        let numbered =
            |name: &str| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let entries = std::fs::read_dir("/sys/devices/system/cpu").unwrap().flatten();
        let count = entries.filter(|entry| numbered(&entry.file_name().to_string_lossy())).count();
        assert_eq!(configured_cpus() as usize, count);
        let possible = text_of("/sys/devices/system/cpu/possible");
        let last = possible.rsplit(['-', ',']).next().unwrap().parse::<u32>().unwrap();
        assert_eq!(possible_cpus(), last + 1);
        let online = text_of("/sys/devices/system/cpu/online");
        assert_eq!(online_cpus(), parse_cpu_list(&online).unwrap());
        assert_eq!(cpu_list("/sys/devices/system/cpu/absent"), None);
    }

    #[test]
    fn names_are_those_that_the_kernel_gives() {
        assert_eq!(host_name(), text_of("/proc/sys/kernel/hostname"));
        assert_eq!(kernel_release(), Some(text_of("/proc/sys/kernel/osrelease")));
        assert_eq!(boot_id(), Some(text_of("/proc/sys/kernel/random/boot_id")));
    }

    #[test]
    fn available_memory_is_read_in_kibibytes() {
        let text = "MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable:     300 kB\nCached: 7 kB\n";
        assert_eq!(parse_available(text), Some(300 << 10));
        assert_eq!(parse_available("MemTotal: 900 kB\n"), None);
        assert_eq!(parse_available("MemAvailable: much\n"), None);
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }

    /// A C library that has them registers them unless it is told not to.
    #[test]
    fn rseq_is_there_unless_the_c_library_is_told_otherwise() {
        const TUNABLES: &str = "GLIBC_TUNABLES";
        const OFF: &str = "glibc.pthread.rseq=0";
        if std::env::var(TUNABLES).is_ok_and(|tunables| tunables == OFF) {
            assert!(!has_rseq());
            return;
        }
        // SAFETY: a name that ends with NUL.
        let size = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
        assert_eq!(has_rseq(), !size.is_null());
        let name = "machine::tests::rseq_is_there_unless_the_c_library_is_told_otherwise";
        let test = std::env::current_exe().unwrap();
        let mut without = std::process::Command::new(test);
        let output = without.args(["--exact", name]).env(TUNABLES, OFF).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
    }

    #[test]
    fn cpu_list_reads_ranges_and_refuses_nonsense() {
        assert_eq!(parse_cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cpu_list("3"), Some(vec![3]));
        assert_eq!(parse_cpu_list("5-5"), Some(vec![5]));
        assert_eq!(parse_cpu_list("8191"), Some(vec![8191]));
        for text in ["", "a", "3-1", "0-99999999", "0-8192", "1,,2"] {
            assert_eq!(parse_cpu_list(text), None, "{text}");
        }
    }
}

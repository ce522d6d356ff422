// SPDX-License-Identifier: MIT
//! What of the machine decides a session's shape: CPUs, restartable sequences, host name.

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

/// Memory that new programs can have without swapping, as the kernel estimates it.
pub fn available_bytes() -> Option<u64> {
    let text = kernel_text("/proc/meminfo")?;
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

/// The identifier of this boot: traces of one boot share their clock.
pub fn boot_id() -> Option<String> {
    let text = kernel_text("/proc/sys/kernel/random/boot_id")?;
    Some(text.trim().to_string()).filter(|id| id.len() == 36)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_list_reads_ranges_and_refuses_nonsense() {
        assert_eq!(parse_cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cpu_list("3"), Some(vec![3]));
        for text in ["", "a", "3-1", "0-99999999"] {
            assert_eq!(parse_cpu_list(text), None, "{text}");
        }
    }
}

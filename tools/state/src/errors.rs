// SPDX-License-Identifier: MIT
//! Names of error numbers, which all traces share.
//!
//! Place in the flow: readers ask for what a system call returned. The result has no label in the
//! metadata, because readers take it for an integer: that a negative one is an error number is the
//! kernel's interface (docs/formats/kernel-events.md).

/// The name of the error that a system call's result says, on the architectures that Lull records.
pub fn error_name(result: i64) -> Option<&'static str> {
    let number = usize::try_from(result.checked_neg()?).ok()?;
    let seen_by_tracers =
        RESTARTS.iter().find(|(restart, _)| *restart == number).map(|(_, name)| *name);
    let name = ERRORS.get(number.checked_sub(1)?).copied().or(seen_by_tracers)?;
    Some(name).filter(|name| !name.is_empty())
}

/// What a tracer sees and a program does not: the kernel calls again, or says EINTR.
const RESTARTS: [(usize, &str); 4] = [
    (512, "ERESTARTSYS"),
    (513, "ERESTARTNOINTR"),
    (514, "ERESTARTNOHAND"),
    (516, "ERESTART_RESTARTBLOCK"),
];

/// From 1 on, as Linux's `asm-generic/errno.h` numbers them.
#[rustfmt::skip]
const ERRORS: [&str; 133] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV",
    "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC",
    "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK",
    "ENOSYS", "ENOTEMPTY", "ELOOP", "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST",
    "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC",
    "EBADSLT", "", "EBFONT", "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE",
    "ENOLINK", "EADV", "ESRMNT", "ECOMM", "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW",
    "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD", "ELIBSCN", "ELIBMAX", "ELIBEXEC",
    "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ", "EMSGSIZE",
    "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "EPFNOSUPPORT",
    "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET",
    "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS",
    "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS", "ESTALE",
    "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE",
    "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD",
    "ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_results_have_the_names_of_their_errors_and_others_have_none() {
        let named =
            [(-1, "EPERM"), (-2, "ENOENT"), (-11, "EAGAIN"), (-38, "ENOSYS"), (-110, "ETIMEDOUT")];
        for (result, name) in named {
            assert_eq!(error_name(result), Some(name));
        }
        assert_eq!(
            (error_name(-133), error_name(-516)),
            (Some("EHWPOISON"), Some("ERESTART_RESTARTBLOCK"))
        );
        for result in [0, 2, -41, -134, -515, -4096, i64::MAX, i64::MIN] {
            assert_eq!(error_name(result), None, "{result}");
        }
    }

    /// The C library's own table, where the two numbers are the same.
    #[test]
    fn errors_have_the_numbers_that_the_machine_gives_them() {
        for (number, name) in [
            (libc::EPERM, "EPERM"),
            (libc::ERANGE, "ERANGE"),
            (libc::ELOOP, "ELOOP"),
            (libc::EPROTO, "EPROTO"),
            (libc::ECONNREFUSED, "ECONNREFUSED"),
            (libc::EHWPOISON, "EHWPOISON"),
        ] {
            assert_eq!(error_name(-i64::from(number)), Some(name));
        }
    }
}

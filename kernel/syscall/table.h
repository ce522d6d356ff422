/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls: LULL_CALL(NAME, ARGUMENTS...) for each, and LULL_CALL_USER() where an argument
 * leads to memory of the program's that the entry's event has, too. LULL_CALL_GIVES(NAME,
 * (RESULTS), ARGUMENTS...) and LULL_CALL_USER_GIVES() are calls that store results where an
 * argument leads to: the exit's event has them. This file is read several times, each time with
 * other meanings.
 *
 * Names of calls and arguments are those of the kernel's SYSCALL_DEFINE(), as tracefs shows them. A
 * kind of argument is call_KIND(NAME, POSITION), one of results given_KIND(NAME, POSITION), see
 * argument.h. Numbers come from <asm/unistd.h>.
 */

/* Calls that the kernel names otherwise than their numbers. */
#define __NR_newuname __NR_uname
#define __NR_newfstat __NR_fstat
#define __NR_sendfile64 __NR_sendfile
#define __NR_umount __NR_umount2
#ifdef __NR_stat
#define __NR_newstat __NR_stat
#define __NR_newlstat __NR_lstat
#endif

/* clang-format off */
LULL_CALL(read, call_u32(fd, 0), call_ptr(buf, 1), call_u64(count, 2))
LULL_CALL(write, call_u32(fd, 0), call_ptr(buf, 1), call_u64(count, 2))
LULL_CALL(close, call_u32(fd, 0))
LULL_CALL_GIVES(newfstat, (given_stat(statbuf, 1)), call_u32(fd, 0), call_ptr(statbuf, 1))
LULL_CALL(pread64, call_u32(fd, 0), call_ptr(buf, 1), call_u64(count, 2), call_i64(pos, 3))
LULL_CALL(pwrite64, call_u32(fd, 0), call_ptr(buf, 1), call_u64(count, 2), call_i64(pos, 3))
LULL_CALL_USER(execve, call_str(filename, 0), call_strings(argv, 1), call_ptr(envp, 2))
LULL_CALL_USER(futex, call_ptr(uaddr, 0), call_flags32(op, 1, CALL_FUTEX), call_u32(val, 2),
	  call_timespec(utime, 3), call_ptr(uaddr2, 4), call_u32(val3, 5))
LULL_CALL(getdents64, call_u32(fd, 0), call_ptr(dirent, 1), call_u32(count, 2))
LULL_CALL_GIVES(clock_gettime, (given_timespec(tp, 1)), call_enum(which_clock, 0, CALL_CLOCK),
	  call_ptr(tp, 1))
LULL_CALL_USER_GIVES(clock_nanosleep, (given_rest(rmtp, 3)), call_enum(which_clock, 0, CALL_CLOCK),
	  call_flags32(flags, 1, CALL_TIMER), call_timespec(rqtp, 2), call_ptr(rmtp, 3))
LULL_CALL(exit_group, call_i32(error_code, 0))
LULL_CALL_USER(epoll_ctl, call_i32(epfd, 0), call_enum(op, 1, CALL_EPOLL), call_i32(fd, 2),
	  call_epoll_event(event, 3))
LULL_CALL(tgkill, call_i32(tgid, 0), call_i32(pid, 1), call_enum(sig, 2, CALL_SIGNAL))
LULL_CALL(waitid, call_enum(which, 0, CALL_IDTYPE), call_i32(upid, 1), call_ptr(infop, 2),
	  call_flags32(options, 3, CALL_WAIT), call_ptr(ru, 4))
LULL_CALL_USER(openat, call_folder(dfd, 0), call_str(filename, 1),
	  call_flags32(flags, 2, CALL_OPEN), call_x16(mode, 3))
LULL_CALL_USER_GIVES(newfstatat, (given_stat(statbuf, 2)), call_folder(dfd, 0),
	  call_str(filename, 1), call_ptr(statbuf, 2), call_flags32(flag, 3, CALL_AT))
LULL_CALL_USER(unlinkat, call_folder(dfd, 0), call_str(pathname, 1),
	  call_flags32(flag, 2, CALL_AT_REMOVE))
LULL_CALL_USER(readlinkat, call_folder(dfd, 0), call_str(pathname, 1), call_ptr(buf, 2),
	  call_i32(bufsiz, 3))
LULL_CALL_USER(pselect6, call_i32(n, 0), call_ptr(inp, 1), call_ptr(outp, 2), call_ptr(exp, 3),
	  call_timespec(tsp, 4), call_ptr(sig, 5))
LULL_CALL_USER_GIVES(ppoll, (given_pollfd(ufds, 0, 1)), call_pollfd(ufds, 0, 1), call_u32(nfds, 1),
	  call_timespec(tsp, 2), call_ptr(sigmask, 3), call_u64(sigsetsize, 4))
LULL_CALL(set_robust_list, call_ptr(head, 0), call_u64(len, 1))
LULL_CALL_GIVES(epoll_pwait, (given_epoll_events(events, 1)), call_i32(epfd, 0),
	  call_ptr(events, 1), call_i32(maxevents, 2), call_i32(timeout, 3), call_ptr(sigmask, 4),
	  call_u64(sigsetsize, 5))
LULL_CALL_GIVES(accept4, (given_sockaddr(upeer_sockaddr, 1, 2)), call_i32(fd, 0),
	  call_ptr(upeer_sockaddr, 1), call_ptr(upeer_addrlen, 2),
	  call_flags32(flags, 3, CALL_SOCKET))
LULL_CALL_USER(prlimit64, call_i32(pid, 0), call_enum(resource, 1, CALL_RLIMIT),
	  call_rlimit(new_rlim, 2), call_ptr(old_rlim, 3))
LULL_CALL(getrandom, call_ptr(ubuf, 0), call_u64(len, 1), call_flags32(flags, 2, CALL_RANDOM))
LULL_CALL_USER_GIVES(statx, (given_statx(buffer, 4)), call_folder(dfd, 0), call_str(filename, 1),
	  call_flags32(flags, 2, CALL_AT), call_flags32(mask, 3, CALL_STATX), call_ptr(buffer, 4))
LULL_CALL(rseq, call_ptr(rseq, 0), call_u32(rseq_len, 1), call_x32(flags, 2),
	  call_x32(sig, 3))
LULL_CALL_USER(clone3, call_clone_args(uargs, 0), call_u64(size, 1))
LULL_CALL(lseek, call_u32(fd, 0), call_i64(offset, 1), call_enum(whence, 2, CALL_WHENCE))
LULL_CALL(mmap, call_x64(addr, 0), call_u64(len, 1), call_flags64(prot, 2, CALL_PROT),
	  call_flags64(flags, 3, CALL_MAP), call_u64(fd, 4), call_u64(off, 5))
LULL_CALL(mprotect, call_x64(start, 0), call_u64(len, 1), call_flags64(prot, 2, CALL_PROT))
LULL_CALL(munmap, call_x64(addr, 0), call_u64(len, 1))
LULL_CALL(brk, call_x64(brk, 0))
LULL_CALL_USER(rt_sigaction, call_enum(sig, 0, CALL_SIGNAL), call_sigaction(act, 1),
	  call_ptr(oact, 2), call_u64(sigsetsize, 3))
LULL_CALL_USER(rt_sigprocmask, call_enum(how, 0, CALL_SIGMASK), call_sigset(nset, 1),
	  call_ptr(oset, 2), call_u64(sigsetsize, 3))
LULL_CALL(rt_sigreturn)
LULL_CALL(ioctl, call_u32(fd, 0), call_flags32(cmd, 1, CALL_REQUEST), call_x64(arg, 2))
LULL_CALL_USER(readv, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2))
LULL_CALL_USER(writev, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2))
LULL_CALL(sched_yield)
LULL_CALL(mremap, call_x64(addr, 0), call_u64(old_len, 1), call_u64(new_len, 2),
	  call_flags64(flags, 3, CALL_MREMAP), call_x64(new_addr, 4))
LULL_CALL(msync, call_x64(start, 0), call_u64(len, 1), call_flags32(flags, 2, CALL_MSYNC))
LULL_CALL(mincore, call_x64(start, 0), call_u64(len, 1), call_ptr(vec, 2))
LULL_CALL(madvise, call_x64(start, 0), call_u64(len_in, 1), call_enum(behavior, 2, CALL_ADVICE))
LULL_CALL(shmget, call_i32(key, 0), call_u64(size, 1), call_x32(shmflg, 2))
LULL_CALL(shmat, call_i32(shmid, 0), call_ptr(shmaddr, 1), call_x32(shmflg, 2))
LULL_CALL(shmctl, call_i32(shmid, 0), call_i32(cmd, 1), call_ptr(buf, 2))
LULL_CALL(dup, call_u32(fildes, 0))
LULL_CALL_USER_GIVES(nanosleep, (given_rest(rmtp, 1)), call_timespec(rqtp, 0), call_ptr(rmtp, 1))
LULL_CALL(getitimer, call_enum(which, 0, CALL_ITIMER), call_ptr(value, 1))
LULL_CALL_USER(setitimer, call_enum(which, 0, CALL_ITIMER), call_itimerval(value, 1),
	  call_ptr(ovalue, 2))
LULL_CALL(getpid)
LULL_CALL(sendfile64, call_i32(out_fd, 0), call_i32(in_fd, 1), call_ptr(offset, 2),
	  call_u64(count, 3))
LULL_CALL(socket, call_enum(family, 0, CALL_FAMILY), call_flags32(type, 1, CALL_SOCKET),
	  call_protocol(protocol, 2, 0))
LULL_CALL_USER(connect, call_i32(fd, 0), call_sockaddr(uservaddr, 1, 2), call_i32(addrlen, 2))
LULL_CALL_GIVES(accept, (given_sockaddr(upeer_sockaddr, 1, 2)), call_i32(fd, 0),
	  call_ptr(upeer_sockaddr, 1), call_ptr(upeer_addrlen, 2))
LULL_CALL_USER(sendto, call_i32(fd, 0), call_ptr(buff, 1), call_u64(len, 2),
	  call_flags32(flags, 3, CALL_MESSAGE), call_sockaddr(addr, 4, 5), call_i32(addr_len, 5))
LULL_CALL_GIVES(recvfrom, (given_sockaddr(addr, 4, 5)), call_i32(fd, 0), call_ptr(ubuf, 1),
	  call_u64(size, 2), call_flags32(flags, 3, CALL_MESSAGE), call_ptr(addr, 4),
	  call_ptr(addr_len, 5))
LULL_CALL_USER(sendmsg, call_i32(fd, 0), call_msghdr(msg, 1), call_flags32(flags, 2, CALL_MESSAGE))
LULL_CALL_USER(recvmsg, call_i32(fd, 0), call_msghdr(msg, 1), call_flags32(flags, 2, CALL_MESSAGE))
LULL_CALL(shutdown, call_i32(fd, 0), call_enum(how, 1, CALL_SHUTDOWN))
LULL_CALL_USER(bind, call_i32(fd, 0), call_sockaddr(umyaddr, 1, 2), call_i32(addrlen, 2))
LULL_CALL(listen, call_i32(fd, 0), call_i32(backlog, 1))
LULL_CALL_GIVES(getsockname, (given_sockaddr(usockaddr, 1, 2)), call_i32(fd, 0),
	  call_ptr(usockaddr, 1), call_ptr(usockaddr_len, 2))
LULL_CALL_GIVES(getpeername, (given_sockaddr(usockaddr, 1, 2)), call_i32(fd, 0),
	  call_ptr(usockaddr, 1), call_ptr(usockaddr_len, 2))
LULL_CALL_GIVES(socketpair, (given_pair(usockvec, 3, first, second)),
	  call_enum(family, 0, CALL_FAMILY), call_flags32(type, 1, CALL_SOCKET),
	  call_i32(protocol, 2), call_ptr(usockvec, 3))
LULL_CALL(setsockopt, call_i32(fd, 0), call_enum(level, 1, CALL_LEVEL), call_i32(optname, 2),
	  call_ptr(optval, 3), call_i32(optlen, 4))
LULL_CALL(getsockopt, call_i32(fd, 0), call_enum(level, 1, CALL_LEVEL), call_i32(optname, 2),
	  call_ptr(optval, 3), call_ptr(optlen, 4))
#ifdef CONFIG_CLONE_BACKWARDS /* arm64 */
LULL_CALL(clone, call_flags64(clone_flags, 0, CALL_CLONE), call_x64(newsp, 1),
	  call_ptr(parent_tidptr, 2), call_x64(tls, 3), call_ptr(child_tidptr, 4))
#else
LULL_CALL(clone, call_x64(clone_flags, 0), call_x64(newsp, 1), call_ptr(parent_tidptr, 2),
	  call_ptr(child_tidptr, 3), call_x64(tls, 4))
#endif
LULL_CALL(exit, call_i32(error_code, 0))
LULL_CALL_GIVES(wait4, (given_status(stat_addr, 1)), call_i32(upid, 0), call_ptr(stat_addr, 1),
	  call_flags32(options, 2, CALL_WAIT), call_ptr(ru, 3))
LULL_CALL(kill, call_i32(pid, 0), call_enum(sig, 1, CALL_SIGNAL))
LULL_CALL(newuname, call_ptr(name, 0))
LULL_CALL(semget, call_i32(key, 0), call_i32(nsems, 1), call_x32(semflg, 2))
LULL_CALL(semop, call_i32(semid, 0), call_ptr(tsops, 1), call_u32(nsops, 2))
LULL_CALL(semctl, call_i32(semid, 0), call_i32(semnum, 1), call_i32(cmd, 2), call_x64(arg, 3))
LULL_CALL(shmdt, call_ptr(shmaddr, 0))
LULL_CALL(msgget, call_i32(key, 0), call_x32(msgflg, 1))
LULL_CALL(msgsnd, call_i32(msqid, 0), call_ptr(msgp, 1), call_u64(msgsz, 2), call_x32(msgflg, 3))
LULL_CALL(msgrcv, call_i32(msqid, 0), call_ptr(msgp, 1), call_u64(msgsz, 2), call_i64(msgtyp, 3),
	  call_x32(msgflg, 4))
LULL_CALL(msgctl, call_i32(msqid, 0), call_i32(cmd, 1), call_ptr(buf, 2))
LULL_CALL(fcntl, call_u32(fd, 0), call_enum(cmd, 1, CALL_FCNTL), call_x64(arg, 2))
LULL_CALL(flock, call_u32(fd, 0), call_flags32(cmd, 1, CALL_LOCK))
LULL_CALL(fsync, call_u32(fd, 0))
LULL_CALL(fdatasync, call_u32(fd, 0))
LULL_CALL_USER(truncate, call_str(path, 0), call_i64(length, 1))
LULL_CALL(ftruncate, call_u32(fd, 0), call_i64(length, 1))
LULL_CALL(getcwd, call_ptr(buf, 0), call_u64(size, 1))
LULL_CALL_USER(chdir, call_str(filename, 0))
LULL_CALL(fchdir, call_u32(fd, 0))
LULL_CALL(fchmod, call_u32(fd, 0), call_x16(mode, 1))
LULL_CALL(fchown, call_u32(fd, 0), call_u32(user, 1), call_u32(group, 2))
LULL_CALL(umask, call_i32(mask, 0))
LULL_CALL(gettimeofday, call_ptr(tv, 0), call_ptr(tz, 1))
LULL_CALL(getrlimit, call_enum(resource, 0, CALL_RLIMIT), call_ptr(rlim, 1))
LULL_CALL(getrusage, call_enum(who, 0, CALL_RUSAGE), call_ptr(ru, 1))
LULL_CALL(sysinfo, call_ptr(info, 0))
LULL_CALL(times, call_ptr(tbuf, 0))
LULL_CALL(ptrace, call_enum(request, 0, CALL_PTRACE), call_i64(pid, 1), call_x64(addr, 2),
	  call_x64(data, 3))
LULL_CALL(getuid)
LULL_CALL(syslog, call_enum(type, 0, CALL_SYSLOG), call_ptr(buf, 1), call_i32(len, 2))
LULL_CALL(getgid)
LULL_CALL(setuid, call_u32(uid, 0))
LULL_CALL(setgid, call_u32(gid, 0))
LULL_CALL(geteuid)
LULL_CALL(getegid)
LULL_CALL(setpgid, call_i32(pid, 0), call_i32(pgid, 1))
LULL_CALL(getppid)
LULL_CALL(setsid)
LULL_CALL(setreuid, call_u32(ruid, 0), call_u32(euid, 1))
LULL_CALL(setregid, call_u32(rgid, 0), call_u32(egid, 1))
LULL_CALL(getgroups, call_i32(gidsetsize, 0), call_ptr(grouplist, 1))
LULL_CALL(setgroups, call_i32(gidsetsize, 0), call_ptr(grouplist, 1))
LULL_CALL(setresuid, call_u32(ruid, 0), call_u32(euid, 1), call_u32(suid, 2))
LULL_CALL(getresuid, call_ptr(ruidp, 0), call_ptr(euidp, 1), call_ptr(suidp, 2))
LULL_CALL(setresgid, call_u32(rgid, 0), call_u32(egid, 1), call_u32(sgid, 2))
LULL_CALL(getresgid, call_ptr(rgidp, 0), call_ptr(egidp, 1), call_ptr(sgidp, 2))
LULL_CALL(getpgid, call_i32(pid, 0))
LULL_CALL(setfsuid, call_u32(uid, 0))
LULL_CALL(setfsgid, call_u32(gid, 0))
LULL_CALL(getsid, call_i32(pid, 0))
LULL_CALL(capget, call_ptr(header, 0), call_ptr(dataptr, 1))
LULL_CALL(capset, call_ptr(header, 0), call_ptr(data, 1))
LULL_CALL(rt_sigpending, call_ptr(uset, 0), call_u64(sigsetsize, 1))
LULL_CALL_USER(rt_sigtimedwait, call_ptr(uthese, 0), call_ptr(uinfo, 1), call_timespec(uts, 2),
	  call_u64(sigsetsize, 3))
LULL_CALL(rt_sigqueueinfo, call_i32(pid, 0), call_enum(sig, 1, CALL_SIGNAL), call_ptr(uinfo, 2))
LULL_CALL_USER(rt_sigsuspend, call_sigset(unewset, 0), call_u64(sigsetsize, 1))
LULL_CALL(sigaltstack, call_ptr(uss, 0), call_ptr(uoss, 1))
LULL_CALL(personality, call_x32(personality, 0))
LULL_CALL_USER(statfs, call_str(pathname, 0), call_ptr(buf, 1))
LULL_CALL(fstatfs, call_u32(fd, 0), call_ptr(buf, 1))
LULL_CALL(getpriority, call_enum(which, 0, CALL_PRIORITY), call_i32(who, 1))
LULL_CALL(setpriority, call_enum(which, 0, CALL_PRIORITY), call_i32(who, 1), call_i32(niceval, 2))
LULL_CALL(sched_setparam, call_i32(pid, 0), call_ptr(param, 1))
LULL_CALL(sched_getparam, call_i32(pid, 0), call_ptr(param, 1))
LULL_CALL(sched_setscheduler, call_i32(pid, 0), call_enum(policy, 1, CALL_POLICY),
	  call_ptr(param, 2))
LULL_CALL(sched_getscheduler, call_i32(pid, 0))
LULL_CALL(sched_get_priority_max, call_enum(policy, 0, CALL_POLICY))
LULL_CALL(sched_get_priority_min, call_enum(policy, 0, CALL_POLICY))
LULL_CALL(sched_rr_get_interval, call_i32(pid, 0), call_ptr(interval, 1))
LULL_CALL(mlock, call_x64(start, 0), call_u64(len, 1))
LULL_CALL(munlock, call_x64(start, 0), call_u64(len, 1))
LULL_CALL(mlockall, call_flags32(flags, 0, CALL_MLOCK))
LULL_CALL(munlockall)
LULL_CALL(vhangup)
LULL_CALL_USER(pivot_root, call_str(new_root, 0), call_str(put_old, 1))
LULL_CALL(prctl, call_enum(option, 0, CALL_PRCTL), call_x64(arg2, 1), call_x64(arg3, 2),
	  call_x64(arg4, 3), call_x64(arg5, 4))
LULL_CALL(adjtimex, call_ptr(txc_p, 0))
LULL_CALL_USER(setrlimit, call_enum(resource, 0, CALL_RLIMIT), call_rlimit(rlim, 1))
LULL_CALL_USER(chroot, call_str(filename, 0))
LULL_CALL(sync)
LULL_CALL_USER(acct, call_str(name, 0))
LULL_CALL_USER(settimeofday, call_timeval(tv, 0), call_ptr(tz, 1))
LULL_CALL_USER(mount, call_str(dev_name, 0), call_str(dir_name, 1), call_str(type, 2),
	  call_flags64(flags, 3, CALL_MOUNT), call_ptr(data, 4))
LULL_CALL_USER(umount, call_str(name, 0), call_flags32(flags, 1, CALL_UMOUNT))
LULL_CALL_USER(swapon, call_str(specialfile, 0), call_x32(swap_flags, 1))
LULL_CALL_USER(swapoff, call_str(specialfile, 0))
LULL_CALL(reboot, call_x32(magic1, 0), call_x32(magic2, 1), call_x32(cmd, 2), call_ptr(arg, 3))
LULL_CALL(sethostname, call_ptr(name, 0), call_i32(len, 1))
LULL_CALL(setdomainname, call_ptr(name, 0), call_i32(len, 1))
LULL_CALL_USER(init_module, call_ptr(umod, 0), call_u64(len, 1), call_str(uargs, 2))
LULL_CALL_USER(delete_module, call_str(name_user, 0), call_x32(flags, 1))
LULL_CALL_USER(quotactl, call_x32(cmd, 0), call_str(special, 1), call_u32(id, 2),
	  call_ptr(addr, 3))
LULL_CALL(gettid)
LULL_CALL(readahead, call_i32(fd, 0), call_i64(offset, 1), call_u64(count, 2))
LULL_CALL_USER(setxattr, call_str(pathname, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3), call_x32(flags, 4))
LULL_CALL_USER(lsetxattr, call_str(pathname, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3), call_x32(flags, 4))
LULL_CALL_USER(fsetxattr, call_i32(fd, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3), call_x32(flags, 4))
LULL_CALL_USER(getxattr, call_str(pathname, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3))
LULL_CALL_USER(lgetxattr, call_str(pathname, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3))
LULL_CALL_USER(fgetxattr, call_i32(fd, 0), call_str(name, 1), call_ptr(value, 2),
	  call_u64(size, 3))
LULL_CALL_USER(listxattr, call_str(pathname, 0), call_ptr(list, 1), call_u64(size, 2))
LULL_CALL_USER(llistxattr, call_str(pathname, 0), call_ptr(list, 1), call_u64(size, 2))
LULL_CALL(flistxattr, call_i32(fd, 0), call_ptr(list, 1), call_u64(size, 2))
LULL_CALL_USER(removexattr, call_str(pathname, 0), call_str(name, 1))
LULL_CALL_USER(lremovexattr, call_str(pathname, 0), call_str(name, 1))
LULL_CALL_USER(fremovexattr, call_i32(fd, 0), call_str(name, 1))
LULL_CALL(tkill, call_i32(pid, 0), call_enum(sig, 1, CALL_SIGNAL))
LULL_CALL(sched_setaffinity, call_i32(pid, 0), call_u32(len, 1), call_ptr(user_mask_ptr, 2))
LULL_CALL(sched_getaffinity, call_i32(pid, 0), call_u32(len, 1), call_ptr(user_mask_ptr, 2))
LULL_CALL(io_setup, call_u32(nr_events, 0), call_ptr(ctxp, 1))
LULL_CALL(io_destroy, call_x64(ctx, 0))
LULL_CALL_USER(io_getevents, call_x64(ctx_id, 0), call_i64(min_nr, 1), call_i64(nr, 2),
	  call_ptr(events, 3), call_timespec(timeout, 4))
LULL_CALL(io_submit, call_x64(ctx_id, 0), call_i64(nr, 1), call_ptr(iocbpp, 2))
LULL_CALL(io_cancel, call_x64(ctx_id, 0), call_ptr(iocb, 1), call_ptr(result, 2))
LULL_CALL(lookup_dcookie, call_u64(cookie64, 0), call_ptr(buf, 1), call_u64(len, 2))
LULL_CALL(remap_file_pages, call_x64(start, 0), call_u64(size, 1), call_x64(prot, 2),
	  call_u64(pgoff, 3), call_x64(flags, 4))
LULL_CALL(set_tid_address, call_ptr(tidptr, 0))
LULL_CALL(restart_syscall)
LULL_CALL_USER(semtimedop, call_i32(semid, 0), call_ptr(tsops, 1), call_u32(nsops, 2),
	  call_timespec(timeout, 3))
LULL_CALL(fadvise64, call_i32(fd, 0), call_i64(offset, 1), call_u64(len, 2),
	  call_enum(advice, 3, CALL_FADVICE))
LULL_CALL(timer_create, call_enum(which_clock, 0, CALL_CLOCK), call_ptr(timer_event_spec, 1),
	  call_ptr(created_timer_id, 2))
LULL_CALL_USER(timer_settime, call_i32(timer_id, 0), call_flags32(flags, 1, CALL_TIMER),
	  call_itimerspec(new_setting, 2), call_ptr(old_setting, 3))
LULL_CALL(timer_gettime, call_i32(timer_id, 0), call_ptr(setting, 1))
LULL_CALL(timer_getoverrun, call_i32(timer_id, 0))
LULL_CALL(timer_delete, call_i32(timer_id, 0))
LULL_CALL_USER(clock_settime, call_enum(which_clock, 0, CALL_CLOCK), call_timespec(tp, 1))
LULL_CALL(clock_getres, call_enum(which_clock, 0, CALL_CLOCK), call_ptr(tp, 1))
LULL_CALL(mbind, call_x64(start, 0), call_u64(len, 1), call_x64(mode, 2), call_ptr(nmask, 3),
	  call_u64(maxnode, 4), call_x32(flags, 5))
LULL_CALL(set_mempolicy, call_x32(mode, 0), call_ptr(nmask, 1), call_u64(maxnode, 2))
LULL_CALL(get_mempolicy, call_ptr(policy, 0), call_ptr(nmask, 1), call_u64(maxnode, 2),
	  call_x64(addr, 3), call_x64(flags, 4))
LULL_CALL_USER(mq_open, call_str(u_name, 0), call_flags32(oflag, 1, CALL_OPEN), call_x16(mode, 2),
	  call_ptr(u_attr, 3))
LULL_CALL_USER(mq_unlink, call_str(u_name, 0))
LULL_CALL_USER(mq_timedsend, call_i32(mqdes, 0), call_ptr(u_msg_ptr, 1), call_u64(msg_len, 2),
	  call_u32(msg_prio, 3), call_timespec(u_abs_timeout, 4))
LULL_CALL_USER(mq_timedreceive, call_i32(mqdes, 0), call_ptr(u_msg_ptr, 1), call_u64(msg_len, 2),
	  call_ptr(u_msg_prio, 3), call_timespec(u_abs_timeout, 4))
LULL_CALL(mq_notify, call_i32(mqdes, 0), call_ptr(u_notification, 1))
LULL_CALL(mq_getsetattr, call_i32(mqdes, 0), call_ptr(u_mqstat, 1), call_ptr(u_omqstat, 2))
LULL_CALL(kexec_load, call_x64(entry, 0), call_u64(nr_segments, 1), call_ptr(segments, 2),
	  call_x64(flags, 3))
LULL_CALL_USER(add_key, call_str(_type, 0), call_str(_description, 1), call_ptr(_payload, 2),
	  call_u64(plen, 3), call_i32(ringid, 4))
LULL_CALL_USER(request_key, call_str(_type, 0), call_str(_description, 1),
	  call_str(_callout_info, 2), call_i32(destringid, 3))
LULL_CALL(keyctl, call_enum(option, 0, CALL_KEYCTL), call_x64(arg2, 1), call_x64(arg3, 2),
	  call_x64(arg4, 3), call_x64(arg5, 4))
LULL_CALL(ioprio_set, call_i32(which, 0), call_i32(who, 1), call_i32(ioprio, 2))
LULL_CALL(ioprio_get, call_i32(which, 0), call_i32(who, 1))
LULL_CALL_USER(inotify_add_watch, call_i32(fd, 0), call_str(pathname, 1),
	  call_flags32(mask, 2, CALL_WATCH))
LULL_CALL(inotify_rm_watch, call_i32(fd, 0), call_i32(wd, 1))
LULL_CALL(migrate_pages, call_i32(pid, 0), call_u64(maxnode, 1), call_ptr(old_nodes, 2),
	  call_ptr(new_nodes, 3))
LULL_CALL_USER(mkdirat, call_folder(dfd, 0), call_str(pathname, 1), call_x16(mode, 2))
LULL_CALL_USER(mknodat, call_folder(dfd, 0), call_str(filename, 1), call_x16(mode, 2),
	  call_u32(dev, 3))
LULL_CALL_USER(fchownat, call_folder(dfd, 0), call_str(filename, 1), call_u32(user, 2),
	  call_u32(group, 3), call_flags32(flag, 4, CALL_AT))
LULL_CALL_USER(renameat, call_folder(olddfd, 0), call_str(oldname, 1), call_folder(newdfd, 2),
	  call_str(newname, 3))
LULL_CALL_USER(linkat, call_folder(olddfd, 0), call_str(oldname, 1), call_folder(newdfd, 2),
	  call_str(newname, 3), call_flags32(flags, 4, CALL_AT))
LULL_CALL_USER(symlinkat, call_str(oldname, 0), call_folder(newdfd, 1), call_str(newname, 2))
LULL_CALL_USER(fchmodat, call_folder(dfd, 0), call_str(filename, 1), call_x16(mode, 2))
LULL_CALL_USER(faccessat, call_folder(dfd, 0), call_str(filename, 1),
	  call_flags32(mode, 2, CALL_ACCESS))
LULL_CALL(unshare, call_flags64(unshare_flags, 0, CALL_CLONE))
LULL_CALL(get_robust_list, call_i32(pid, 0), call_ptr(head_ptr, 1), call_ptr(len_ptr, 2))
LULL_CALL(splice, call_i32(fd_in, 0), call_ptr(off_in, 1), call_i32(fd_out, 2),
	  call_ptr(off_out, 3), call_u64(len, 4), call_flags32(flags, 5, CALL_SPLICE))
LULL_CALL(tee, call_i32(fdin, 0), call_i32(fdout, 1), call_u64(len, 2),
	  call_flags32(flags, 3, CALL_SPLICE))
LULL_CALL(sync_file_range, call_i32(fd, 0), call_i64(offset, 1), call_i64(nbytes, 2),
	  call_x32(flags, 3))
LULL_CALL_USER(vmsplice, call_i32(fd, 0), call_iovec(uiov, 1, 2), call_u64(nr_segs, 2),
	  call_flags32(flags, 3, CALL_SPLICE))
LULL_CALL(move_pages, call_i32(pid, 0), call_u64(nr_pages, 1), call_ptr(pages, 2),
	  call_ptr(nodes, 3), call_ptr(status, 4), call_x32(flags, 5))
LULL_CALL_USER(utimensat, call_folder(dfd, 0), call_str(filename, 1), call_ptr(utimes, 2),
	  call_flags32(flags, 3, CALL_AT))
LULL_CALL(timerfd_create, call_enum(clockid, 0, CALL_CLOCK), call_flags32(flags, 1, CALL_FD))
LULL_CALL(fallocate, call_i32(fd, 0), call_flags32(mode, 1, CALL_ALLOCATE), call_i64(offset, 2),
	  call_i64(len, 3))
LULL_CALL_USER(timerfd_settime, call_i32(ufd, 0), call_flags32(flags, 1, CALL_TIMER),
	  call_itimerspec(utmr, 2), call_ptr(otmr, 3))
LULL_CALL(timerfd_gettime, call_i32(ufd, 0), call_ptr(otmr, 1))
LULL_CALL(signalfd4, call_i32(ufd, 0), call_ptr(user_mask, 1), call_u64(sizemask, 2),
	  call_flags32(flags, 3, CALL_FD))
LULL_CALL(eventfd2, call_u32(count, 0), call_flags32(flags, 1, CALL_EVENT_FD))
LULL_CALL(epoll_create1, call_flags32(flags, 0, CALL_FD))
LULL_CALL(dup3, call_u32(oldfd, 0), call_u32(newfd, 1), call_flags32(flags, 2, CALL_FD))
LULL_CALL_GIVES(pipe2, (given_pair(fildes, 0, read, write)), call_ptr(fildes, 0),
	  call_flags32(flags, 1, CALL_OPEN))
LULL_CALL(inotify_init1, call_flags32(flags, 0, CALL_FD))
LULL_CALL_USER(preadv, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2),
	  call_u64(pos_l, 3), call_u64(pos_h, 4))
LULL_CALL_USER(pwritev, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2),
	  call_u64(pos_l, 3), call_u64(pos_h, 4))
LULL_CALL(rt_tgsigqueueinfo, call_i32(tgid, 0), call_i32(pid, 1), call_enum(sig, 2, CALL_SIGNAL),
	  call_ptr(uinfo, 3))
LULL_CALL(perf_event_open, call_ptr(attr_uptr, 0), call_i32(pid, 1), call_i32(cpu, 2),
	  call_i32(group_fd, 3), call_x64(flags, 4))
LULL_CALL_USER(recvmmsg, call_i32(fd, 0), call_ptr(mmsg, 1), call_u32(vlen, 2),
	  call_flags32(flags, 3, CALL_MESSAGE), call_timespec(timeout, 4))
LULL_CALL(fanotify_init, call_x32(flags, 0), call_x32(event_f_flags, 1))
LULL_CALL_USER(fanotify_mark, call_i32(fanotify_fd, 0), call_x32(flags, 1), call_x64(mask, 2),
	  call_folder(dfd, 3), call_str(pathname, 4))
LULL_CALL_USER(name_to_handle_at, call_folder(dfd, 0), call_str(name, 1), call_ptr(handle, 2),
	  call_ptr(mnt_id, 3), call_x32(flag, 4))
LULL_CALL(open_by_handle_at, call_folder(mountdirfd, 0), call_ptr(handle, 1),
	  call_flags32(flags, 2, CALL_OPEN))
LULL_CALL(clock_adjtime, call_enum(which_clock, 0, CALL_CLOCK), call_ptr(utx, 1))
LULL_CALL(syncfs, call_i32(fd, 0))
LULL_CALL(sendmmsg, call_i32(fd, 0), call_ptr(mmsg, 1), call_u32(vlen, 2),
	  call_flags32(flags, 3, CALL_MESSAGE))
LULL_CALL(setns, call_i32(fd, 0), call_flags32(flags, 1, CALL_CLONE))
LULL_CALL(getcpu, call_ptr(cpup, 0), call_ptr(nodep, 1), call_ptr(unused, 2))
LULL_CALL(process_vm_readv, call_i32(pid, 0), call_ptr(lvec, 1), call_u64(liovcnt, 2),
	  call_ptr(rvec, 3), call_u64(riovcnt, 4), call_x64(flags, 5))
LULL_CALL(process_vm_writev, call_i32(pid, 0), call_ptr(lvec, 1), call_u64(liovcnt, 2),
	  call_ptr(rvec, 3), call_u64(riovcnt, 4), call_x64(flags, 5))
LULL_CALL(kcmp, call_i32(pid1, 0), call_i32(pid2, 1), call_enum(type, 2, CALL_KCMP),
	  call_x64(idx1, 3), call_x64(idx2, 4))
LULL_CALL_USER(finit_module, call_i32(fd, 0), call_str(uargs, 1), call_x32(flags, 2))
LULL_CALL(sched_setattr, call_i32(pid, 0), call_ptr(uattr, 1), call_x32(flags, 2))
LULL_CALL(sched_getattr, call_i32(pid, 0), call_ptr(uattr, 1), call_u32(usize, 2),
	  call_x32(flags, 3))
LULL_CALL_USER(renameat2, call_folder(olddfd, 0), call_str(oldname, 1), call_folder(newdfd, 2),
	  call_str(newname, 3), call_flags32(flags, 4, CALL_RENAME))
LULL_CALL(seccomp, call_enum(op, 0, CALL_SECCOMP), call_x32(flags, 1), call_ptr(uargs, 2))
LULL_CALL_USER(memfd_create, call_str(uname, 0), call_flags32(flags, 1, CALL_MEMFD))
LULL_CALL_USER(kexec_file_load, call_i32(kernel_fd, 0), call_i32(initrd_fd, 1),
	  call_u64(cmdline_len, 2), call_str(cmdline_ptr, 3), call_x64(flags, 4))
LULL_CALL(bpf, call_enum(cmd, 0, CALL_BPF), call_ptr(uattr, 1), call_u32(size, 2))
LULL_CALL_USER(execveat, call_folder(fd, 0), call_str(filename, 1), call_strings(argv, 2),
	  call_ptr(envp, 3), call_flags32(flags, 4, CALL_AT))
LULL_CALL(userfaultfd, call_x32(flags, 0))
LULL_CALL(membarrier, call_enum(cmd, 0, CALL_MEMBARRIER), call_x32(flags, 1), call_i32(cpu_id, 2))
LULL_CALL(mlock2, call_x64(start, 0), call_u64(len, 1), call_x32(flags, 2))
LULL_CALL(copy_file_range, call_i32(fd_in, 0), call_ptr(off_in, 1), call_i32(fd_out, 2),
	  call_ptr(off_out, 3), call_u64(len, 4), call_x32(flags, 5))
LULL_CALL_USER(preadv2, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2),
	  call_u64(pos_l, 3), call_u64(pos_h, 4), call_x32(flags, 5))
LULL_CALL_USER(pwritev2, call_u64(fd, 0), call_iovec(vec, 1, 2), call_u64(vlen, 2),
	  call_u64(pos_l, 3), call_u64(pos_h, 4), call_x32(flags, 5))
LULL_CALL(pkey_mprotect, call_x64(start, 0), call_u64(len, 1), call_flags64(prot, 2, CALL_PROT),
	  call_i32(pkey, 3))
LULL_CALL(pkey_alloc, call_x64(flags, 0), call_u64(init_val, 1))
LULL_CALL(pkey_free, call_i32(pkey, 0))
LULL_CALL_USER(io_pgetevents, call_x64(ctx_id, 0), call_i64(min_nr, 1), call_i64(nr, 2),
	  call_ptr(events, 3), call_timespec(timeout, 4), call_ptr(usig, 5))
LULL_CALL(pidfd_send_signal, call_i32(pidfd, 0), call_enum(sig, 1, CALL_SIGNAL), call_ptr(info, 2),
	  call_x32(flags, 3))
LULL_CALL(io_uring_setup, call_u32(entries, 0), call_ptr(params, 1))
LULL_CALL(io_uring_enter, call_u32(fd, 0), call_u32(to_submit, 1), call_u32(min_complete, 2),
	  call_flags32(flags, 3, CALL_URING_ENTER), call_ptr(argp, 4), call_u64(argsz, 5))
LULL_CALL(io_uring_register, call_u32(fd, 0), call_enum(opcode, 1, CALL_URING), call_ptr(arg, 2),
	  call_u32(nr_args, 3))
LULL_CALL_USER(open_tree, call_folder(dfd, 0), call_str(filename, 1), call_x32(flags, 2))
LULL_CALL_USER(move_mount, call_folder(from_dfd, 0), call_str(from_pathname, 1),
	  call_folder(to_dfd, 2), call_str(to_pathname, 3), call_x32(flags, 4))
LULL_CALL_USER(fsopen, call_str(_fs_name, 0), call_x32(flags, 1))
LULL_CALL_USER(fsconfig, call_i32(fd, 0), call_enum(cmd, 1, CALL_FSCONFIG), call_str(_key, 2),
	  call_ptr(_value, 3), call_i32(aux, 4))
LULL_CALL(fsmount, call_i32(fs_fd, 0), call_x32(flags, 1), call_x32(attr_flags, 2))
LULL_CALL_USER(fspick, call_folder(dfd, 0), call_str(path, 1), call_x32(flags, 2))
LULL_CALL(pidfd_open, call_i32(pid, 0), call_x32(flags, 1))
LULL_CALL(close_range, call_u32(fd, 0), call_u32(max_fd, 1), call_x32(flags, 2))
LULL_CALL_USER(openat2, call_folder(dfd, 0), call_str(filename, 1), call_open_how(how, 2),
	  call_u64(usize, 3))
LULL_CALL(pidfd_getfd, call_i32(pidfd, 0), call_i32(fd, 1), call_x32(flags, 2))
LULL_CALL_USER(faccessat2, call_folder(dfd, 0), call_str(filename, 1),
	  call_flags32(mode, 2, CALL_ACCESS), call_flags32(flags, 3, CALL_AT_ACCESS))
LULL_CALL(process_madvise, call_i32(pidfd, 0), call_ptr(vec, 1), call_u64(vlen, 2),
	  call_enum(behavior, 3, CALL_ADVICE), call_x32(flags, 4))
LULL_CALL_USER_GIVES(epoll_pwait2, (given_epoll_events(events, 1)), call_i32(epfd, 0),
	  call_ptr(events, 1), call_i32(maxevents, 2), call_timespec(timeout, 3),
	  call_ptr(sigmask, 4), call_u64(sigsetsize, 5))
LULL_CALL_USER(mount_setattr, call_folder(dfd, 0), call_str(path, 1), call_x32(flags, 2),
	  call_ptr(uattr, 3), call_u64(usize, 4))
LULL_CALL(quotactl_fd, call_u32(fd, 0), call_x32(cmd, 1), call_u32(id, 2), call_ptr(addr, 3))
LULL_CALL(landlock_create_ruleset, call_ptr(attr, 0), call_u64(size, 1), call_x32(flags, 2))
LULL_CALL(landlock_add_rule, call_i32(ruleset_fd, 0), call_i32(rule_type, 1),
	  call_ptr(rule_attr, 2), call_x32(flags, 3))
LULL_CALL(landlock_restrict_self, call_i32(ruleset_fd, 0), call_x32(flags, 1))
LULL_CALL(memfd_secret, call_x32(flags, 0))
LULL_CALL(process_mrelease, call_i32(pidfd, 0), call_x32(flags, 1))
LULL_CALL_USER(futex_waitv, call_ptr(waiters, 0), call_u32(nr_futexes, 1), call_x32(flags, 2),
	  call_timespec(timeout, 3), call_enum(clockid, 4, CALL_CLOCK))
LULL_CALL(set_mempolicy_home_node, call_x64(start, 0), call_u64(len, 1), call_u64(home_node, 2),
	  call_x64(flags, 3))

/* Calls that only the older architectures have. */
#ifdef __NR_open
LULL_CALL_USER_GIVES(newstat, (given_stat(statbuf, 1)), call_str(filename, 0), call_ptr(statbuf, 1))
LULL_CALL_USER_GIVES(newlstat, (given_stat(statbuf, 1)), call_str(filename, 0),
	  call_ptr(statbuf, 1))
LULL_CALL_USER(open, call_str(filename, 0), call_flags32(flags, 1, CALL_OPEN), call_x16(mode, 2))
LULL_CALL_USER_GIVES(poll, (given_pollfd(ufds, 0, 1)), call_pollfd(ufds, 0, 1), call_u32(nfds, 1),
	  call_i32(timeout_msecs, 2))
LULL_CALL_USER(access, call_str(filename, 0), call_flags32(mode, 1, CALL_ACCESS))
LULL_CALL_GIVES(pipe, (given_pair(fildes, 0, read, write)), call_ptr(fildes, 0))
LULL_CALL_USER(select, call_i32(n, 0), call_ptr(inp, 1), call_ptr(outp, 2), call_ptr(exp, 3),
	  call_timeval(tvp, 4))
LULL_CALL(dup2, call_u32(oldfd, 0), call_u32(newfd, 1))
LULL_CALL(pause)
LULL_CALL(alarm, call_u32(seconds, 0))
LULL_CALL(fork)
LULL_CALL(vfork)
LULL_CALL(getdents, call_u32(fd, 0), call_ptr(dirent, 1), call_u32(count, 2))
LULL_CALL_USER(rename, call_str(oldname, 0), call_str(newname, 1))
LULL_CALL_USER(mkdir, call_str(pathname, 0), call_x16(mode, 1))
LULL_CALL_USER(rmdir, call_str(pathname, 0))
LULL_CALL_USER(creat, call_str(pathname, 0), call_x16(mode, 1))
LULL_CALL_USER(link, call_str(oldname, 0), call_str(newname, 1))
LULL_CALL_USER(unlink, call_str(pathname, 0))
LULL_CALL_USER(symlink, call_str(oldname, 0), call_str(newname, 1))
LULL_CALL_USER(readlink, call_str(path, 0), call_ptr(buf, 1), call_i32(bufsiz, 2))
LULL_CALL_USER(chmod, call_str(filename, 0), call_x16(mode, 1))
LULL_CALL_USER(chown, call_str(filename, 0), call_u32(user, 1), call_u32(group, 2))
LULL_CALL_USER(lchown, call_str(filename, 0), call_u32(user, 1), call_u32(group, 2))
LULL_CALL(getpgrp)
LULL_CALL_USER(utime, call_str(filename, 0), call_ptr(times, 1))
LULL_CALL_USER(mknod, call_str(filename, 0), call_x16(mode, 1), call_u32(dev, 2))
LULL_CALL_USER(uselib, call_str(library, 0))
LULL_CALL(ustat, call_u32(dev, 0), call_ptr(ubuf, 1))
LULL_CALL(sysfs, call_i32(option, 0), call_x64(arg1, 1), call_x64(arg2, 2))
LULL_CALL(modify_ldt, call_i32(func, 0), call_ptr(ptr, 1), call_u64(bytecount, 2))
LULL_CALL(arch_prctl, call_enum(option, 0, CALL_ARCH_PRCTL), call_x64(arg2, 1))
LULL_CALL(iopl, call_u32(level, 0))
LULL_CALL(ioperm, call_u64(from, 0), call_u64(num, 1), call_i32(turn_on, 2))
LULL_CALL(time, call_ptr(tloc, 0))
LULL_CALL(epoll_create, call_i32(size, 0))
LULL_CALL_GIVES(epoll_wait, (given_epoll_events(events, 1)), call_i32(epfd, 0), call_ptr(events, 1),
	  call_i32(maxevents, 2), call_i32(timeout, 3))
LULL_CALL_USER(utimes, call_str(filename, 0), call_ptr(utimes, 1))
LULL_CALL(inotify_init)
LULL_CALL_USER(futimesat, call_folder(dfd, 0), call_str(filename, 1), call_ptr(utimes, 2))
LULL_CALL(signalfd, call_i32(ufd, 0), call_ptr(user_mask, 1), call_u64(sizemask, 2))
LULL_CALL(eventfd, call_u32(count, 0))
#endif
/* clang-format on */

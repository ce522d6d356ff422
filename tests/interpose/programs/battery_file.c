/* SPDX-License-Identifier: MIT */
/* Results and errno of files and streams, the refused ones above all. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "show.h"

static void mode_of(const char *path)
{
	struct stat status;

	SHOW(stat(path, &status));
	printf("mode %o size %lld\n", status.st_mode, (long long)status.st_size);
}

static void opening(void)
{
	umask(0);
	SHOW(open("new", O_CREAT | O_EXCL | O_RDWR, 0640));
	mode_of("new");
	SHOW(open("new", O_CREAT | O_EXCL | O_RDWR, 0640));
	SHOW(open64("new", O_RDWR));
	SHOW(openat(AT_FDCWD, "at", O_CREAT | O_WRONLY, 0604));
	mode_of("at");
	SHOW(openat64(99, "at", O_RDONLY));
	SHOW(creat("created", 0611));
	mode_of("created");
	SHOW(open(".", O_TMPFILE | O_RDWR, 0642));
	mode_of("/proc/self/fd/7");
	SHOW(open("absent", O_RDONLY));
	SHOW(open(bad_pointer(), O_RDONLY));
	SHOW(open(null_pointer(), O_RDONLY));
	SHOW(openat(AT_FDCWD, bad_pointer(), O_RDONLY));
	SHOW(creat(null_pointer(), 0600));
}

/* Errors that the kernel finds before it has read the path, or all of it. */
static void paths_unread(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *path = pages + page - PATH_MAX, part[NAME_MAX + 2] = "";

	mprotect(pages + page, (size_t)page, PROT_NONE);
	memset(path, 'a', PATH_MAX);
	memset(part, 'b', NAME_MAX + 1);
	SHOW(open(path, O_RDONLY));
	SHOW(open(path + PATH_MAX - 1, O_RDONLY));
	SHOW(open(part, O_RDONLY));
	SHOW(open(bad_pointer(), O_RDONLY | __O_TMPFILE | O_DIRECTORY, 0));
	SHOW(openat(-1, bad_pointer(), O_CREAT | O_TMPFILE, 0600));
	SHOW(fopen(bad_pointer(), "z") == NULL);
}

static void moving(void)
{
	int fd = open("data", O_CREAT | O_RDWR | O_TRUNC, 0600), out;
	char a[4], b[8];
	struct iovec two[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct iovec bad[1] = { { bad_pointer(), 4 } };
	loff_t offset = 0;

	SHOW(write(fd, "0123456789abcdef", 16));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(lseek64(fd, -1, SEEK_SET));
	SHOW(read(fd, a, sizeof(a)));
	SHOW(memcmp(a, "0123", 4));
	SHOW(pread(fd, b, 8, 8));
	SHOW(pread64(fd, b, 8, 14));
	SHOW(pread(fd, b, 8, -1));
	SHOW(pwrite(fd, "XY", 2, 0));
	SHOW(pwrite64(fd, "ZZ", 2, 2));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(readv(fd, two, 2));
	SHOW(memcmp(a, "XYZZ", 4));
	SHOW(readv(fd, bad, 1));
	SHOW(writev(fd, two, 2));
	SHOW(preadv(fd, two, 2, 1));
	SHOW(pwritev(fd, two, 2, 1));
	SHOW(preadv2(fd, two, 2, 1, 0));
	SHOW(pwritev2(fd, two, 2, 1, 0x40000000));
	SHOW(read(fd, bad_pointer(), 4));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, bad_pointer(), 4));
	SHOW(read(-1, a, 1));
	SHOW(write(-1, a, 1));
	SHOW(write(fd, bad_pointer(), 4));
	SHOW(fsync(fd));
	SHOW(fdatasync(-1));
	SHOW(flock(fd, LOCK_EX | LOCK_NB));
	SHOW(ftruncate(fd, 12));
	out = open("copy", O_CREAT | O_RDWR | O_TRUNC, 0600);
	SHOW(sendfile(out, fd, NULL, 4));
	SHOW(copy_file_range(fd, &offset, out, NULL, 4, 0));
	printf("offset %lld\n", (long long)offset);
	SHOW(splice(fd, NULL, out, NULL, 4, 0));
	SHOW(close(out));
	SHOW(close(out));
	SHOW(close(fd));
}

static void managing(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fds[2], bytes = 0;

	SHOW(pipe(fds));
	printf("pipe %d %d\n", fds[0], fds[1]);
	SHOW(write(fds[1], "hello", 5));
	SHOW(ioctl(fds[0], FIONREAD, &bytes));
	printf("%d bytes\n", bytes);
	SHOW(ioctl(fds[0], 0xdead, 0));
	SHOW(fcntl(fds[0], F_GETFL));
	SHOW(fcntl(fds[0], F_SETFL, O_NONBLOCK));
	SHOW(fcntl(fds[0], F_GETFL));
	SHOW(fcntl(fds[0], F_DUPFD, 50));
	SHOW(fcntl64(fds[0], F_DUPFD_CLOEXEC, 60));
	SHOW(fcntl(60, F_GETFD));
	SHOW(fcntl(open("new", O_RDWR), F_SETLK, &lock));
	SHOW(fcntl(99, F_GETFL));
	SHOW(read(fds[0], fds, 0));
	SHOW(dup(fds[0]));
	SHOW(dup2(fds[0], 70));
	SHOW(dup2(fds[0], fds[0]));
	SHOW(dup3(fds[0], fds[0], 0));
	SHOW(dup3(fds[0], 71, O_CLOEXEC));
	SHOW(dup(-1));
	SHOW(pipe2(fds, O_NONBLOCK | O_CLOEXEC));
	SHOW(read(fds[0], &bytes, 1));
	SHOW(pipe2(fds, -1));
	SHOW(pipe(bad_pointer()));
	SHOW(close_range(50, 80, 0));
	SHOW(close_range(80, 50, 0));
	SHOW(fcntl(70, F_GETFD));
	closefrom(20);
	SHOW(fcntl(20, F_GETFD));
}

static void streams(void)
{
	FILE *file = fopen("stream", "w+");
	char text[32];

	printf("stream %d\n", fileno(file));
	SHOW(fwrite("one two three\n", 1, 14, file));
	SHOW(fwrite_unlocked("four", 4, 1, file));
	SHOW(fflush(file));
	rewind(file);
	SHOW(fread(text, 4, 3, file));
	SHOW(fread_unlocked(text, 1, 32, file));
	SHOW(feof(file));
	SHOW(fclose(file));
	SHOW(fopen("absent/file", "r"));
	SHOW(fopen64("stream", "bad mode"));
	SHOW(fdopen(99, "r"));
	SHOW(fflush(NULL));
	file = fopen("/dev/full", "w");
	SHOW(fwrite("x", 1, 1, file));
	SHOW(fclose(file));
}

int main(void)
{
	opening();
	paths_unread();
	moving();
	managing();
	streams();
	return 0;
}

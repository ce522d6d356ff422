/* SPDX-License-Identifier: MIT */
/* Built with _FORTIFY_SOURCE: fits, and then does not, by the argument that chooses which. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argument_count, char **arguments)
{
	char buffer[16];
	struct pollfd wanted[2] = { { .fd = 0, .events = POLLIN }, { .fd = 1, .events = POLLIN } };
	struct timespec zero = { 0, 0 };
	volatile size_t bytes = argument_count > 2 ? 17 : 16;
	volatile int flags = argument_count > 2 ? O_CREAT | O_RDWR : O_RDONLY;
	const char *which = argument_count > 1 ? arguments[1] : "";
	int all = !*which, sockets[2];
	FILE *file;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 1;
	(void)!write(sockets[1], "datagram", 8);
	(void)!write(sockets[1], "datagram", 8);
	if (all || !strcmp(which, "read"))
		printf("read %zd\n", read(open("/dev/zero", flags & O_RDONLY), buffer, bytes));
	if (all || !strcmp(which, "pread"))
		printf("pread %zd\n", pread(open("/dev/zero", O_RDONLY), buffer, bytes, 0));
	if (all || !strcmp(which, "recv"))
		printf("recv %zd\n", recv(sockets[0], buffer, bytes, 0));
	if (all || !strcmp(which, "recvfrom"))
		printf("recvfrom %zd\n", recvfrom(sockets[0], buffer, bytes, 0, NULL, NULL));
	if (all || !strcmp(which, "poll"))
		printf("poll %d\n", poll(wanted, bytes - 14, 0) >= 0);
	if (all || !strcmp(which, "ppoll"))
		printf("ppoll %d\n", ppoll(wanted, bytes - 14, &zero, NULL) >= 0);
	if (all || !strcmp(which, "open"))
		printf("open %d\n", open("/dev/null", flags) >= 0);
	if (all || !strcmp(which, "openat"))
		printf("openat %d\n", openat(AT_FDCWD, "/dev/null", flags) >= 0);
	if (all || !strcmp(which, "fread")) {
		file = fopen("/dev/zero", "r");
		printf("fread %zu\n", fread(buffer, 1, bytes, file));
		printf("fread_unlocked %zu\n", fread_unlocked(buffer, 1, bytes, file));
	}
	return 0;
}

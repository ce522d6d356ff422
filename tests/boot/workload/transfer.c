/* SPDX-License-Identifier: MIT */
/*
 * What a guest compiles and runs while it is recorded: a client sends blocks to a server through
 * the loopback device, and the server stores them on a disk. Each block is an event of both.
 *
 *	transfer FILE BLOCKS
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lull/trace.h>

#define BLOCK_BYTES 4096
#define BLOCKS_PER_SYNC 16

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int client_run(struct sockaddr_in server, unsigned long blocks)
{
	static char block[BLOCK_BYTES];
	int to = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(to, (struct sockaddr *)&server, sizeof(server)))
		return failed("connect");
	for (unsigned long i = 0; i < blocks; i++) {
		lull_event("transfer:sent", lull_u64(block, i));
		if (send(to, block, sizeof(block), 0) != sizeof(block))
			return failed("send");
	}
	return close(to);
}

static int server_run(int listener, int file, unsigned long blocks)
{
	static char block[BLOCK_BYTES];
	int from = accept(listener, NULL, NULL);

	for (unsigned long i = 0; i < blocks; i++) {
		if (recv(from, block, sizeof(block), MSG_WAITALL) != sizeof(block) ||
		    write(file, block, sizeof(block)) != sizeof(block))
			return failed("store");
		lull_event("transfer:stored", lull_u64(block, i));
		if (i % BLOCKS_PER_SYNC == BLOCKS_PER_SYNC - 1 && fsync(file))
			return failed("fsync");
	}
	return 0;
}

int main(int count, char **arguments)
{
	unsigned long blocks = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), file, status;

	if (!blocks || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &bytes))
		return failed("listen");
	file = open(arguments[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (file < 0)
		return failed(arguments[1]);
	if (!fork())
		return client_run(address, blocks);
	if (server_run(listener, file, blocks) || wait(&status) < 0)
		return 1;
	return status != 0;
}

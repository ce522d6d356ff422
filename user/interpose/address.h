/* SPDX-License-Identifier: MIT */
/*
 * Socket addresses as text, for the events of sockets: "127.0.0.1:80", "[::1]:80",
 * "unix:/run/x", "unix:@abstract", "family 16".
 */
#ifndef LULL_INTERPOSE_ADDRESS_H
#define LULL_INTERPOSE_ADDRESS_H

#include <sys/socket.h>

#define ADDRESS_TEXT_BYTES 128

struct address_text {
	char text[ADDRESS_TEXT_BYTES];
};

/*
 * Write @address to @text, cut to fit. @result is that of the call that used the address: memory
 * that the kernel has not read is not read here.
 * Context: any, async-signal-safe. Return: text->text.
 */
const char *lull_address_text(struct address_text *text, const struct sockaddr *address,
			      socklen_t bytes, long result);

#endif

/* SPDX-License-Identifier: MIT */
/* Socket addresses as text, by hand: inet_ntop and snprintf are not async-signal-safe. */
#include "interpose.h"
#include <netinet/in.h>
#include <sys/un.h>
#include "address.h"

struct writer {
	char *at;
	char *until; /* keeps one byte for the NUL */
};

static void text_put(struct writer *writer, char c)
{
	if (writer->at < writer->until)
		*writer->at++ = c;
}

static void put_text(struct writer *writer, const char *text)
{
	while (*text)
		text_put(writer, *text++);
}

static void put_number(struct writer *writer, unsigned int value, unsigned int base)
{
	char digits[16];
	int count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (count)
		text_put(writer, digits[--count]);
}

static void put_inet(struct writer *writer, const struct sockaddr_in *address)
{
	const unsigned char *byte = (const unsigned char *)&address->sin_addr;

	for (int i = 0; i < 4; i++) {
		if (i)
			text_put(writer, '.');
		put_number(writer, byte[i], 10);
	}
	text_put(writer, ':');
	put_number(writer, ntohs(address->sin_port), 10);
}

/* The longest run of zero groups, at least two, is written "::". */
static void put_inet6(struct writer *writer, const struct sockaddr_in6 *address)
{
	const unsigned char *byte = address->sin6_addr.s6_addr;
	int run_begin = 8, run_until = 8;

	for (int i = 0; i < 8; i++) {
		int until = i;

		while (until < 8 && !byte[2 * until] && !byte[2 * until + 1])
			until++;
		if (until - i > 1 && until - i > run_until - run_begin) {
			run_begin = i;
			run_until = until;
		}
	}
	text_put(writer, '[');
	for (int i = 0; i < 8; i++) {
		if (i == run_begin) {
			put_text(writer, "::");
			i = run_until - 1;
			continue;
		}
		if (i && i != run_until)
			text_put(writer, ':');
		put_number(writer, (unsigned int)byte[2 * i] << 8 | byte[2 * i + 1], 16);
	}
	put_text(writer, "]:");
	put_number(writer, ntohs(address->sin6_port), 10);
}

static void put_unix(struct writer *writer, const struct sockaddr_un *address, socklen_t bytes)
{
	const char *from = address->sun_path;
	const char *until = (const char *)address + bytes;

	put_text(writer, "unix:");
	if (from < until && !*from) { /* the abstract name space: the length ends the name */
		text_put(writer, '@');
		for (from++; from < until; from++)
			text_put(writer, *from ? *from : '@');
	}
	while (from < until && *from)
		text_put(writer, *from++);
}

/*
 * Has the kernel copied the address of a call that binds or connects? Before that it looks at the
 * descriptor and at the length.
 */
static int is_copied(socklen_t bytes, long result)
{
	if (bytes > sizeof(struct sockaddr_storage))
		return 0;
	return result >= 0 ||
	       (errno != EFAULT && errno != EBADF && errno != ENOTSOCK && errno != ENOSYS);
}

const char *lull_address_text(struct address_text *text, const struct sockaddr *address,
			      socklen_t bytes, long result)
{
	struct writer writer = { text->text, text->text + sizeof(text->text) - 1 };

	if (!address || bytes < sizeof(address->sa_family) || !is_copied(bytes, result))
		put_text(&writer, "none");
	else if (address->sa_family == AF_INET && bytes >= sizeof(struct sockaddr_in))
		put_inet(&writer, (const struct sockaddr_in *)address);
	else if (address->sa_family == AF_INET6 && bytes >= sizeof(struct sockaddr_in6))
		put_inet6(&writer, (const struct sockaddr_in6 *)address);
	else if (address->sa_family == AF_UNIX && bytes <= sizeof(struct sockaddr_un))
		put_unix(&writer, (const struct sockaddr_un *)address, bytes);
	else {
		put_text(&writer, "family ");
		put_number(&writer, address->sa_family, 10);
	}
	*writer.at = '\0';
	return text->text;
}

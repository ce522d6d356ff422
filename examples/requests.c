/* SPDX-License-Identifier: MIT */
/*
 * A pretended web server: each request is an event when it arrives and one when it is done.
 *
 *	cc -O2 -I../core/include requests.c -o requests
 *	./requests                          runs as if there were no events
 *	lull record -- ./requests 1000      records them
 *	lull print                          shows them
 */
#include <stdio.h>
#include <stdlib.h>
#include <lull/trace.h>

struct request {
	uint64_t id;
	const char *url;
	uint32_t body_bytes;
};

static const char *const urls[] = { "/", "/index.html", "/api/orders?page=2", "/missing" };

static int answer(const struct request *request)
{
	return request->url == urls[3] ? 404 : 200;
}

static void serve(const struct request *request)
{
	int status;

	lull_event("http:request", lull_u64(id, request->id), lull_str(url, request->url),
		   lull_u32(body_bytes, request->body_bytes));
	status = answer(request);
	if (status >= 400)
		lull_event_level(LULL_LEVEL_WARNING, "http:failure", lull_u64(id, request->id),
				 lull_i32(status, status));
	lull_event("http:response", lull_u64(id, request->id), lull_i32(status, status));
}

int main(int count, char **arguments)
{
	unsigned long requests = count > 1 ? strtoul(arguments[1], NULL, 10) : 12;

	for (unsigned long i = 0; i < requests; i++) {
		struct request request = { .id = i, .url = urls[i % 4], .body_bytes = 100 };

		serve(&request);
	}
	printf("%lu requests served\n", requests);
	return 0;
}

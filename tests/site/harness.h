/* SPDX-License-Identifier: MIT */
/*
 * What the site tests share: a stand-in for liblull that keeps payloads in memory, and the
 * checks. Test programs print one line a behaviour, "ok   NAME" or "FAIL NAME: why"; the
 * runner counts them.
 */
#ifndef SITE_HARNESS_H
#define SITE_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAYLOAD_BYTES_MAX 4096
#define SESSIONS 8

/* One committed event. */
struct capture {
	uint32_t session;
	uint32_t id;
	uint32_t bytes;
	unsigned char payload[PAYLOAD_BYTES_MAX];
};

/* The events committed since capture_reset(), up to CAPTURES_MAX of them. */
#define CAPTURES_MAX 16
extern struct capture captures[CAPTURES_MAX];
extern uint32_t capture_count; /* may exceed CAPTURES_MAX */
extern uint32_t reserve_count;
extern int reserve_refuses; /* set: reserve() says that the event is lost */
extern void (*reserve_hook)(void); /* called in reserve(), as another thread would run */
void capture_reset(void);

/* Find the notes of all loaded objects, and make their records ready. Return: how many sites. */
uint32_t sites_scan(void);

/*
 * Enable the sites of all events that match the patterns, with this mask in their records, and
 * disable the others, with mask 0. Return: how many sites could not be patched.
 */
uint32_t sites_set(const char *patterns, uint32_t mask);

/* How many sites, and probes, have this event name. */
uint32_t sites_named(const char *name);
uint32_t probes_named(const char *name);

/* The description of the first site of that name, or NULL. */
const char *description_of(const char *name);

/* Where the first site of that name is. Return: 1 when found. */
int site_address(const char *name, uintptr_t *code, uintptr_t *target);

/* A series of one change. Return: as lull_patch_site(). */
int site_set(uintptr_t code, uintptr_t target, int enable);

void check(int condition, const char *name, const char *why);
#define CHECK(name, condition) check(condition, name, #condition)

#ifdef __cplusplus
}
#endif
#endif

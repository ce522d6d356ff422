/* SPDX-License-Identifier: MIT */
/*
 * A running program's calls of the C library, led to the interposers and back again.
 *
 * A program that liblull was preloaded into calls the interposers anyway. One that it was loaded
 * into later has bound its calls already: the addresses stand in the global offset tables of its
 * objects. Flow: the recorder has a thread of the program call these, by tools/tracee, at a point
 * where it is neither in the dynamic linker nor in the allocator; object.c tells of objects that
 * come later. Design: docs/design/91-attach.md.
 */
#ifndef LULL_REDIRECT_H
#define LULL_REDIRECT_H

/**
 * lull_redirect_begin() - lead the calls of all loaded objects to the interposers.
 *
 * Those that are led there already stay; what is bound to another function than the C library's is
 * left alone.
 * Context: the calling thread is not within the dynamic linker. Progress: blocking (the linker's
 * lock, system calls).
 * Return: how many table entries were changed; 0 where liblull was preloaded; -ENOMEM, or the error
 * with which the kernel refused to make a table writable. What was changed until then stays.
 */
__attribute__((visibility("default"))) int lull_redirect_begin(void);

/**
 * lull_redirect_end() - put back what lull_redirect_begin() changed, once no session is attached.
 *
 * Threads that are within an interposer go on there, so the library stays.
 * Context: as lull_redirect_begin(). Return: how many entries were put back, 0 while
 * another recorder's session is attached, or as there; then the call can be repeated.
 */
__attribute__((visibility("default"))) int lull_redirect_end(void);

/* An object was loaded: lead its calls to the interposers, too, if those of the others are. */
void lull_redirect_notice(void);

#endif

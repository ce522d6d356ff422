/* SPDX-License-Identifier: MIT */
/*
 * A library with nothing in it, to be preloaded: what the dynamic linker and the kernel take for
 * it, they take for every preloaded library.
 */

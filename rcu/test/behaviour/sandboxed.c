// SPDX-License-Identifier: MIT
/* sandboxed PROGRAM ARGUMENT...: runs a program that has no membarrier from its start. */
#include <stdio.h>
#include <unistd.h>
#include "../torture/deny.h"

int main(int count, char **argument)
{
	if (count < 2) {
		fprintf(stderr, "usage: sandboxed PROGRAM ARGUMENT...\n");
		return 2;
	}
	if (system_call_deny(SYS_membarrier)) {
		perror("sandboxed: cannot take membarrier away");
		return 2;
	}
	execv(argument[1], argument + 1);
	perror(argument[1]);
	return 2;
}

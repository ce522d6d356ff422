/* SPDX-License-Identifier: MIT */
/*
 * Time whole commands, alternating: spawn ROUNDS COMMAND... --- COMMAND... --- ...
 *
 * Prints "INDEX WALL_NS STATUS" for each run, in the order in which they ran. Words
 * NAME=VALUE before a command go to its environment; a % in a word becomes the round's
 * number. Commands read /dev/null and write to it; a command that runs for more than 30
 * seconds is killed and ends the whole measurement. There are fewer rounds, but four, if they
 * take longer than SPAWN_SECONDS of the environment.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 32
#define WORDS_MAX 64
#define WORD_BYTES_MAX 4096
#define SECONDS_MAX 30
#define ROUNDS_LEAST 4

static char words[WORDS_MAX][WORD_BYTES_MAX];

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

/* Copy a word; its first % becomes the number. */
static void word_expand(char *out, const char *word, unsigned long number)
{
	const char *mark = strchr(word, '%');

	if (mark)
		snprintf(out, WORD_BYTES_MAX, "%.*s%lu%s", (int)(mark - word), word, number,
			 mark + 1);
	else
		snprintf(out, WORD_BYTES_MAX, "%s", word);
}

static void command_exec(char **begin, char **until, unsigned long number)
{
	char *argv[WORDS_MAX + 1];
	int count = 0, null = open("/dev/null", O_RDWR);

	for (; begin < until && count < WORDS_MAX; begin++) {
		word_expand(words[count], *begin, number);
		if (!count && strchr(words[0], '=')) {
			putenv(strdup(words[0]));
			continue;
		}
		argv[count] = words[count];
		count++;
	}
	argv[count] = NULL;
	dup2(null, 0);
	dup2(null, 1);
	if (!getenv("SPAWN_VERBOSE"))
		dup2(null, 2);
	alarm(SECONDS_MAX);
	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	char **begin[COMMANDS_MAX], **until[COMMANDS_MAX];
	unsigned long rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	const char *within = getenv("SPAWN_SECONDS");
	unsigned long long until_ns =
		within ? now_ns() + strtoull(within, NULL, 10) * 1000000000ull : ~0ull;
	int count = 0;

	if (!rounds) {
		fprintf(stderr, "usage: spawn ROUNDS COMMAND... [--- COMMAND...]...\n");
		return 2;
	}
	for (char **word = argv + 2; word <= argv + argc && count < COMMANDS_MAX; word++) {
		begin[count] = word;
		while (word < argv + argc && strcmp(*word, "---"))
			word++;
		until[count++] = word;
	}
	for (unsigned long number = 0; number < rounds; number++) {
		if (number >= ROUNDS_LEAST && now_ns() >= until_ns)
			break;
		for (int i = 0; i < count; i++) {
			unsigned long long begin_ns = now_ns();
			pid_t child = fork();
			int status = 0;

			if (!child)
				command_exec(begin[i], until[i], number);
			if (child < 0 || waitpid(child, &status, 0) != child)
				return 2;
			printf("%d %llu %d\n", i, now_ns() - begin_ns, status);
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
				return 2;
		}
	}
	return 0;
}

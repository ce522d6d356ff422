/* SPDX-License-Identifier: MIT */
/*
 * A process of root's that becomes other users, as root's memory and theirs tell of it: which of
 * them it keeps, which it leaves, and what is done where there is no memory for the new user.
 * The test executes itself in a session; only root can become another user.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/wait.h>

#define LULL_OBJECT_ANNOUNCED /* and not weakly: process.c is to be linked */
#include "lull/trace.h"

#define PATTERNS "test:*"
#include "credentials.h"
#include "offer_test.h"

#define LOW 60000u /* a user whose number is below that of NOBODY */

extern void lull_object_loaded(void);

static struct lull_user_change change;

static uint64_t written(uint32_t index)
{
	const struct session *session = &lull_process.sessions[index];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < session->cpu_count + session->plain_count; i++)
		bytes += session->rings[i].shared->write_count;
	return bytes;
}

/* Whether both of two events go into a session, or neither; -1 where it is one of them. */
static int records_in(uint32_t index)
{
	uint64_t before = written(index), between;

	lull_event("test:one", lull_u32(number, 1));
	between = written(index);
	lull_event("test:other", lull_u32(number, 2));
	if ((between > before) != (written(index) > between))
		return -1;
	return between > before;
}

static int become(uint32_t prepared, uid_t real, uid_t effective, uid_t saved)
{
	int error;

	lull_user_prepare(&change, prepared);
	error = setresuid(real, effective, saved);
	lull_user_conclude(&change);
	return error;
}

/* Each of the three identifiers is enough to become root again. */
static int hold(void)
{
	const uid_t held[3][3] = { { 0, LOW, LOW }, { LOW, 0, LOW }, { LOW, LOW, 0 } };

	for (int i = 0; i < 3; i++) {
		if (become(LOW, held[i][0], held[i][1], held[i][2]) || lull_process.user != 0 ||
		    lull_process.attached != 1 || records_in(0) != 1)
			return 1 + i;
		if (setresuid(0, 0, 0))
			return 4;
	}
	return 0;
}

/* Root's memory is left for NOBODY's, and that for none: a user's process can make no other's. */
static int leave_twice(void)
{
	if (become(NOBODY, LOW, NOBODY, LOW) || lull_process.user != NOBODY ||
	    lull_process.attached != 2 || records_in(1) != 1 || records_in(0) != 0)
		return 1;
	if (lull_process.sessions[0].control->magic)
		return 2;
	if (become(LOW, LOW, LOW, LOW) || lull_process.user != LOW || records_in(1) != 0)
		return 3;
	return lull_process.attached || lull_process.sessions[1].control->magic;
}

/* The call makes it another user than was said before. */
static int stray(void)
{
	if (become(NOBODY, LOW, LOW, LOW) || lull_process.user != LOW || records_in(0) != 0)
		return 1;
	return lull_process.attached || lull_process.sessions[0].control->magic;
}

/* There is no place for another user's memory. */
static int be_refused(void)
{
	struct session *session = &lull_process.sessions[0];

	session->directory.path = "/dev/null";
	session->directory.bytes = strlen(session->directory.path);
	if (become(LOW, LOW, LOW, LOW) || lull_process.user != LOW || records_in(0) != 0)
		return 1;
	return lull_process.attached || session->control->magic;
}

static int (*const parts[])(void) = { hold, leave_twice, stray, be_refused };

/* Execute this program in a session. Return: its status. */
static int execute(const struct offer *offer, char part)
{
	char variable[128], name[2] = { part };
	char *arguments[] = { "credentials", name, NULL }, *environment[] = { variable, NULL };
	int status = -1;
	pid_t child;

	snprintf(variable, sizeof(variable), LULL_SESSION_VARIABLE "=%s", offer->directory);
	child = fork();
	if (!child) {
		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status;
}

/* Segments that this process has attached. */
static int attached_count(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/SYSV") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

/* Links in the session's directory. */
static int link_count(const struct offer *offer)
{
	DIR *directory = opendir(offer->directory);
	const struct dirent *entry;
	int count = 0;

	while (directory && (entry = readdir(directory)))
		count += entry->d_type == DT_LNK;
	if (directory)
		closedir(directory);
	return count;
}

/* What the memory of a user counts, and that memory removed. */
struct counts {
	int is_there;
	uint32_t processes;
	uint32_t refused;
};

static struct counts counts_take(const struct offer *offer, uint32_t user)
{
	struct lull_directory directory = { offer->directory, strlen(offer->directory) };
	struct counts counts = { 0 };
	struct session session = { 0 };
	char path[128];

	if (lull_session_attach(&session, &directory, user))
		return counts;
	counts = (struct counts){ 1, session.control->process_count,
				  session.control->refused_count };
	shmctl(session.map.id, IPC_RMID, NULL);
	lull_session_detach(&session);
	snprintf(path, sizeof(path), "%s/%s-%u", offer->directory, LULL_SESSION_MEMORY_LINK, user);
	unlink(path);
	return counts;
}

/* Run a part in a session of its own. Return: what NOBODY's memory counts, root's, and LOW's. */
static int run(char part, struct counts counts[3])
{
	struct offer offer = offer_make(0600);
	struct session session = { 0 };
	struct lull_directory directory = { offer.directory, strlen(offer.directory) };
	int status;

	if (lull_session_attach(&session, &directory, 0))
		abort();
	session.control->active = 1;
	for (uint32_t i = 0; i < RINGS; i++)
		lull_ring_reset(&session.rings[i], 0);
	status = execute(&offer, part);
	counts[0] =
		(struct counts){ 1, offer.control->process_count, offer.control->refused_count };
	counts[1] = counts_take(&offer, NOBODY);
	counts[2] = counts_take(&offer, LOW);
	lull_session_detach(&session);
	offer_end(&offer);
	if (status)
		printf("# the status of part %c: %#x\n", part, (unsigned int)status);
	return status == 0;
}

/* Two processes become the same user at once: the memory of the second is not needed. */
static void made_twice(void)
{
	struct offer offer = offer_make(0600);
	struct lull_directory directory = { offer.directory, strlen(offer.directory) };
	struct session session = { 0 };
	struct counts counts;
	int attached;

	if (lull_session_attach(&session, &directory, 0))
		abort();
	attached = attached_count();
	check(!lull_session_make(&session, LOW) && attached_count() == attached,
	      "memory_is_made_for_another_user_and_not_kept_attached");
	check(lull_session_make(&session, LOW) && attached_count() == attached &&
		      link_count(&offer) == 2,
	      "of_memory_that_is_made_twice_the_second_goes");
	counts = counts_take(&offer, LOW);
	check(counts.is_there && !counts.processes && !counts.refused, "and_the_first_stays");
	lull_session_detach(&session);
	offer_end(&offer);
}

static int are(struct counts counts, uint32_t processes, uint32_t refused)
{
	return counts.is_there && counts.processes == processes && counts.refused == refused;
}

int main(int count, char **arguments)
{
	struct counts counts[3];

	if (count > 1) {
		lull_object_loaded(); /* nothing is new, but process.c is linked */
		return parts[arguments[1][0] - '0']();
	}
	if (geteuid() != 0) {
		skip("processes_that_become_other_users", "needs root");
		return sums();
	}
	made_twice();
	check(run('0', counts), "a_process_that_can_be_root_again_stays_in_roots_memory");
	check(are(counts[0], 1, 0) && are(counts[2], 0, 0),
	      "and_the_memory_that_was_made_for_it_counts_no_process");
	check(run('1', counts), "a_process_records_as_each_user_that_it_becomes_while_it_may");
	check(are(counts[0], 1, 0) && are(counts[1], 1, 1) && !counts[2].is_there,
	      "and_is_counted_in_both_memories_and_as_refused_in_the_last");
	check(run('2', counts), "a_process_that_becomes_another_user_than_it_said_records_no_more");
	check(are(counts[0], 1, 1) && are(counts[1], 0, 0), "and_is_counted_as_refused");
	check(run('3', counts), "a_process_whose_new_user_can_have_no_memory_records_no_more");
	check(are(counts[0], 1, 1) && !counts[2].is_there, "and_is_counted_as_refused_too");
	return sums();
}

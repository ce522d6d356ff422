// SPDX-License-Identifier: MIT
/* Lists, queues and stacks of one thread: order, results, and gaps that a producer left. */
#include <urcu.h>
#include <urcu/cds.h>

#include "../../../check/test.h"

#define COUNT 5

struct item {
	int number;
	struct cds_list_head list;
	struct cds_hlist_node hlist;
	struct cds_wfcq_node queue;
	struct cds_wfs_node wait_free;
	struct cds_lfs_node lock_free;
	struct cds_lfq_node_rcu fifo;
	struct cds_wfq_node old_queue;
	struct cds_lfs_node_rcu old_stack;
};

static struct item items[COUNT];

/* The numbers of a list's items as the digits of one number. */
static int digits(struct cds_list_head *head)
{
	struct item *item;
	int number = 0;

	cds_list_for_each_entry(item, head, list) number = number * 10 + item->number;
	return number;
}

static void lists(void)
{
	CDS_LIST_HEAD(head);
	CDS_LIST_HEAD(other);
	struct cds_list_head *at, *next, moved;
	struct item *item, *after;
	int number = 0;

	check(cds_list_empty(&head), "a_list_begins_empty");
	cds_list_add(&items[2].list, &head);
	cds_list_add(&items[1].list, &head);
	cds_list_add_tail(&items[3].list, &head);
	check(digits(&head) == 123 && !cds_list_empty(&head), "add_is_first_and_add_tail_last");
	check(cds_list_first_entry(&head, struct item, list) == &items[1], "the_first_entry");
	cds_list_for_each_entry_reverse(item, &head, list) number = number * 10 + item->number;
	check(number == 321, "a_list_is_walked_backwards");
	cds_list_move(&items[3].list, &head);
	check(digits(&head) == 312, "an_element_moves_to_the_front");
	cds_list_replace(&items[1].list, &items[4].list);
	check(digits(&head) == 342, "an_element_is_replaced");
	cds_list_del_init(&items[4].list);
	check(digits(&head) == 32 && cds_list_empty(&items[4].list), "an_element_is_removed_alone");
	cds_list_add(&items[1].list, &other);
	cds_list_add(&items[4].list, &other);
	cds_list_splice(&other, &head);
	check(digits(&head) == 4132, "a_list_is_spliced_in_front");
	cds_list_for_each_entry_safe(item, after, &head, list) if (item->number % 2)
		cds_list_del(&item->list);
	check(digits(&head) == 42, "elements_are_removed_on_the_way");
	cds_list_replace_init(&head, &moved);
	check(cds_list_empty(&head) && digits(&moved) == 42, "a_list_gets_another_head");
	number = 0;
	cds_list_for_each_safe(at, next, &moved) number++, cds_list_del(at);
	cds_list_for_each_prev(at, &moved) number += 100;
	check(number == 2 && cds_list_empty(&moved), "a_list_is_emptied_on_the_way");
}

static void rcu_lists(void)
{
	CDS_LIST_HEAD(head);
	struct cds_list_head *at;
	struct item *item;
	int number = 0;

	cds_list_add_rcu(&items[2].list, &head);
	cds_list_add_rcu(&items[1].list, &head);
	cds_list_add_tail_rcu(&items[3].list, &head);
	cds_list_replace_rcu(&items[1].list, &items[4].list);
	check(digits(&head) == 423, "rcu_updates_order_the_list");
	check(items[1].list.next == &items[2].list, "a_replaced_element_leads_on");
	at = &items[2].list;
	cds_list_del_rcu(at);
	check(digits(&head) == 43 && at->next == &items[3].list, "a_removed_element_leads_on");
	rcu_read_lock();
	cds_list_for_each_entry_rcu(item, &head, list) number = number * 10 + item->number;
	cds_list_for_each_rcu(at, &head) number += 100;
	rcu_read_unlock();
	check(number == 243, "readers_walk_the_list");
}

static void hash_lists(void)
{
	CDS_HLIST_HEAD(head);
	struct cds_hlist_node *at, *next;
	struct item *item, *after;
	int number = 0;

	for (int i = 1; i <= 4; i++)
		cds_hlist_add_head_rcu(&items[i].hlist, &head);
	cds_hlist_for_each_entry(item, at, &head, hlist) number = number * 10 + item->number;
	check(number == 4321, "a_bucket_has_the_newest_first");
	cds_hlist_del_rcu(&items[4].hlist);
	cds_hlist_del(&items[2].hlist);
	number = 0;
	cds_hlist_for_each_entry_rcu(item, at, &head, hlist) number = number * 10 + item->number;
	cds_hlist_for_each_entry_rcu_2(item, &head, hlist) number = number * 10 + item->number;
	check(number == 3131, "removed_from_the_front_and_within");
	cds_hlist_add_head(&items[2].hlist, &head);
	cds_hlist_for_each_entry_safe_2(item, after, &head, hlist) if (item->number == 1)
		cds_hlist_del(&item->hlist);
	number = 0;
	cds_hlist_for_each_entry_2(item, &head, hlist) number = number * 10 + item->number;
	check(number == 23, "removed_at_the_end_on_the_way");
	cds_hlist_for_each_entry_safe(item, at, next, &head, hlist) cds_hlist_del(at);
	cds_hlist_for_each(at, &head) number = 0;
	check(number == 23 && !head.next, "a_bucket_is_emptied_on_the_way");
}

#define FROM_QUEUE(node) caa_container_of(node, struct item, queue)->number

static void queues(void)
{
	struct cds_wfcq_head head, other_head;
	struct cds_wfcq_tail tail, other_tail;
	struct cds_wfcq_node *node, *next;
	int state, number = 0;

	cds_wfcq_init(&head, &tail);
	cds_wfcq_init(&other_head, &other_tail);
	check(cds_wfcq_empty(&head, &tail) && !cds_wfcq_dequeue_blocking(&head, &tail) &&
		      !__cds_wfcq_first_blocking(&head, &tail),
	      "a_queue_begins_empty");
	for (int i = 1; i < COUNT; i++) {
		cds_wfcq_node_init(&items[i].queue);
		number = number * 10 + cds_wfcq_enqueue(&head, &tail, &items[i].queue);
	}
	check(number == 111, "enqueue_tells_whether_the_queue_held_something");
	number = 0;
	__cds_wfcq_for_each_blocking(&head, &tail, node) number = number * 10 + FROM_QUEUE(node);
	check(number == 1234, "a_queue_is_walked_in_order");
	node = __cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state);
	check(FROM_QUEUE(node) == 1 && !state, "the_oldest_comes_first_and_is_not_the_last");
	check(cds_wfcq_splice_blocking(&other_head, &other_tail, &head, &tail) ==
			      CDS_WFCQ_RET_DEST_EMPTY &&
		      cds_wfcq_empty(&head, &tail),
	      "a_splice_moves_all_to_an_empty_queue");
	check(cds_wfcq_splice_blocking(&other_head, &other_tail, &head, &tail) ==
		      CDS_WFCQ_RET_SRC_EMPTY,
	      "a_splice_of_nothing_says_so");
	cds_wfcq_enqueue(&head, &tail, &items[1].queue);
	check(__cds_wfcq_splice_nonblocking(&other_head, &other_tail, &head, &tail) ==
		      CDS_WFCQ_RET_DEST_NON_EMPTY,
	      "a_splice_appends");
	number = 0;
	__cds_wfcq_for_each_blocking_safe(&other_head, &other_tail, node, next) number =
		number * 10 + FROM_QUEUE(node);
	check(number == 2341, "a_splice_keeps_the_order");
	for (number = 0; (node = cds_wfcq_dequeue_with_state_blocking(&other_head, &other_tail,
								      &state)) != NULL;)
		number = number * 10 + FROM_QUEUE(node);
	check(number == 2341 && state == 0, "a_queue_is_emptied_in_order");
	cds_wfcq_enqueue(&head, &tail, &items[1].queue);
	node = cds_wfcq_dequeue_with_state_blocking(&head, &tail, &state);
	check(FROM_QUEUE(node) == 1 && state == CDS_WFCQ_STATE_LAST, "the_last_one_is_told");
	cds_wfcq_destroy(&other_head, &other_tail);
	cds_wfcq_destroy(&head, &tail);
}

/* Queues as a producer leaves them that has exchanged the tail and not linked its node. */
static void gaps(void)
{
	struct __cds_wfcq_head head, other_head;
	struct cds_wfcq_tail tail, other_tail;

	__cds_wfcq_init(&head, &tail);
	__cds_wfcq_init(&other_head, &other_tail);
	cds_wfcq_node_init(&items[1].queue);
	tail.p = &items[1].queue;
	check(!cds_wfcq_empty(&head, &tail), "a_queue_with_a_gap_is_not_empty");
	check(__cds_wfcq_dequeue_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK &&
		      __cds_wfcq_first_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK &&
		      __cds_wfcq_splice_nonblocking(&other_head, &other_tail, &head, &tail) ==
			      CDS_WFCQ_RET_WOULDBLOCK,
	      "a_gap_in_front_would_block");
	head.node.next = &items[1].queue;
	cds_wfcq_node_init(&items[2].queue);
	tail.p = &items[2].queue;
	check(__cds_wfcq_dequeue_nonblocking(&head, &tail) == CDS_WFCQ_WOULDBLOCK &&
		      __cds_wfcq_next_nonblocking(&head, &tail, &items[1].queue) ==
			      CDS_WFCQ_WOULDBLOCK,
	      "a_gap_behind_the_first_would_block");
	items[1].queue.next = &items[2].queue;
	check(__cds_wfcq_dequeue_nonblocking(&head, &tail) == &items[1].queue &&
		      __cds_wfcq_dequeue_nonblocking(&head, &tail) == &items[2].queue &&
		      cds_wfcq_empty(&head, &tail),
	      "a_queue_goes_on_after_a_gap");
}

static void wait_free_stacks(void)
{
	struct cds_wfs_stack stack;
	struct cds_wfs_head *all;
	struct cds_wfs_node *node, *next;
	int state, number = 0;

	cds_wfs_init(&stack);
	check(cds_wfs_empty(&stack) && !cds_wfs_pop_blocking(&stack) &&
		      !cds_wfs_pop_all_blocking(&stack),
	      "a_wait_free_stack_begins_empty");
	for (int i = 1; i < COUNT; i++) {
		cds_wfs_node_init(&items[i].wait_free);
		number = number * 10 + !!cds_wfs_push(&stack, &items[i].wait_free);
	}
	check(number == 111, "push_tells_whether_the_stack_held_something");
	node = cds_wfs_pop_with_state_blocking(&stack, &state);
	check(node == &items[4].wait_free && !state, "the_newest_is_popped");
	all = cds_wfs_pop_all_blocking(&stack);
	number = 0;
	cds_wfs_for_each_blocking_safe(all, node, next) number =
		number * 10 + caa_container_of(node, struct item, wait_free)->number;
	check(number == 321 && cds_wfs_empty(&stack), "all_are_popped_newest_first");
	cds_wfs_push(&stack, &items[1].wait_free);
	node = __cds_wfs_pop_with_state_nonblocking(&stack, &state);
	check(node == &items[1].wait_free && state == CDS_WFS_STATE_LAST, "the_bottom_is_told");
	cds_wfs_push(&stack, &items[1].wait_free);
	items[1].wait_free.next = NULL; /* as if its push were between its steps */
	check(__cds_wfs_pop_nonblocking(&stack) == CDS_WFS_WOULDBLOCK &&
		      cds_wfs_next_nonblocking(&items[1].wait_free) == CDS_WFS_WOULDBLOCK,
	      "an_unlinked_push_would_block");
	cds_wfs_destroy(&stack);
}

static void lock_free_stacks(void)
{
	struct cds_lfs_stack stack;
	struct __cds_lfs_stack bare;
	struct cds_lfs_head *all;
	struct cds_lfs_node *node, *next;
	int number = 0;

	cds_lfs_init(&stack);
	__cds_lfs_init(&bare);
	check(cds_lfs_empty(&stack) && !cds_lfs_pop_blocking(&stack) && !__cds_lfs_pop_all(&bare),
	      "a_lock_free_stack_begins_empty");
	for (int i = 1; i < COUNT; i++) {
		cds_lfs_node_init(&items[i].lock_free);
		number = number * 10 + cds_lfs_push(&stack, &items[i].lock_free);
	}
	check(number == 111, "a_push_tells_whether_the_stack_held_something");
	check(cds_lfs_pop_blocking(&stack) == &items[4].lock_free &&
		      __cds_lfs_pop(&stack) == &items[3].lock_free,
	      "the_newest_are_popped");
	all = cds_lfs_pop_all_blocking(&stack);
	number = 0;
	cds_lfs_for_each_safe(all, node, next) number =
		number * 10 + caa_container_of(node, struct item, lock_free)->number;
	cds_lfs_for_each(all, node) number += 100;
	check(number == 221 && cds_lfs_empty(&stack), "the_rest_is_popped_newest_first");
	cds_lfs_destroy(&stack);
}

static void fifos(void)
{
	struct cds_lfq_queue_rcu queue;
	struct cds_lfq_node_rcu *node;
	int number = 0;

	cds_lfq_init_rcu(&queue, call_rcu);
	rcu_read_lock();
	check(!cds_lfq_dequeue_rcu(&queue), "a_lock_free_queue_begins_empty");
	for (int i = 1; i < COUNT; i++) {
		cds_lfq_node_init_rcu(&items[i].fifo);
		cds_lfq_enqueue_rcu(&queue, &items[i].fifo);
	}
	check(cds_lfq_destroy_rcu(&queue) == -EPERM, "a_queue_that_holds_something_stays");
	while ((node = cds_lfq_dequeue_rcu(&queue)) != NULL)
		number = number * 10 + caa_container_of(node, struct item, fifo)->number;
	rcu_read_unlock();
	check(number == 1234, "the_oldest_leave_the_lock_free_queue_first");
	check(cds_lfq_destroy_rcu(&queue) == 0, "an_empty_queue_is_destroyed");
	rcu_barrier();
}

static void old_forms(void)
{
	struct cds_wfq_queue queue;
	struct cds_lfs_stack_rcu stack;

	cds_wfq_init(&queue);
	cds_lfs_init_rcu(&stack);
	for (int i = 1; i <= 2; i++) {
		cds_wfq_node_init(&items[i].old_queue);
		cds_wfq_enqueue(&queue, &items[i].old_queue);
		cds_lfs_node_init_rcu(&items[i].old_stack);
		cds_lfs_push_rcu(&stack, &items[i].old_stack);
	}
	check(cds_wfq_dequeue_blocking(&queue) == &items[1].old_queue &&
		      __cds_wfq_dequeue_blocking(&queue) == &items[2].old_queue &&
		      !cds_wfq_dequeue_blocking(&queue),
	      "the_old_queue_is_a_queue");
	check(cds_lfs_pop_rcu(&stack) == &items[2].old_stack &&
		      cds_lfs_pop_rcu(&stack) == &items[1].old_stack && !cds_lfs_pop_rcu(&stack),
	      "the_old_stack_is_a_stack");
	cds_wfq_destroy(&queue);
}

int main(void)
{
	for (int i = 0; i < COUNT; i++)
		items[i].number = i;
	rcu_register_thread();
	lists();
	rcu_lists();
	hash_lists();
	queues();
	gaps();
	wait_free_stacks();
	lock_free_stacks();
	fifos();
	old_forms();
	rcu_unregister_thread();
	return sums();
}

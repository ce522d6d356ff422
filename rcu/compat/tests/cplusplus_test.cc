// SPDX-License-Identifier: MIT
// A C++ program under liburcu's names: what is a transparent union in C is a class here.
#include <urcu.h>
#include <urcu/cds.h>
#include <urcu/futex.h>
#include <urcu/ref.h>
#include <urcu/tls-compat.h>
#include <urcu/uatomic.h>

#include <memory>
#include <thread>
#include <type_traits>

#include "../../../check/test.h"

namespace
{
struct item {
	int number = 0;
	cds_list_head list;
	cds_wfcq_node queue;
	cds_wfs_node wait_free;
	cds_lfs_node lock_free;
	cds_lfht_node hash;
	rcu_head head;
};

struct by_number {
	static int match(cds_lfht_node *node, const void *key)
	{
		return caa_container_of(node, item, hash)->number == *static_cast<const int *>(key);
	}
};

void reclaim(rcu_head *head)
{
	delete caa_container_of(head, item, head);
}

item *published;

void pointers()
{
	item *first = new item, *found;

	first->number = 1;
	rcu_assign_pointer(published, first);
	std::thread reader([] {
		rcu_register_thread();
		rcu_read_lock();
		const item *seen = rcu_dereference(published);
		check(seen->number == 1, "a_thread_reads_what_was_published");
		rcu_read_unlock();
		rcu_unregister_thread();
	});
	reader.join();
	found = rcu_cmpxchg_pointer(&published, first, static_cast<item *>(nullptr));
	check(found == first && !published, "a_pointer_is_taken_back");
	rcu_set_pointer(&published, first);
	found = rcu_xchg_pointer(&published, static_cast<item *>(nullptr));
	call_rcu(&found->head, reclaim);
	rcu_barrier();
	check(uatomic_read(&published) == nullptr, "an_object_is_reclaimed");
}

void structures()
{
	item items[3], *at, *after;
	cds_wfcq_head head;
	__cds_wfcq_head bare;
	cds_wfcq_tail tail, bare_tail;
	cds_wfs_stack wait_free;
	__cds_lfs_stack lock_free;
	CDS_LIST_HEAD(list);
	int sum = 0;

	cds_wfcq_init(&head, &tail);
	__cds_wfcq_init(&bare, &bare_tail);
	cds_wfs_init(&wait_free);
	__cds_lfs_init(&lock_free);
	for (int i = 0; i < 3; i++) {
		items[i].number = i + 1;
		cds_list_add_tail_rcu(&items[i].list, &list);
		cds_wfcq_node_init(&items[i].queue);
		cds_wfcq_enqueue(&head, &tail, &items[i].queue);
		cds_wfs_push(&wait_free, &items[i].wait_free);
		cds_lfs_push(&lock_free, &items[i].lock_free);
	}
	cds_list_for_each_entry_safe(at, after, &list, list) sum += at->number,
		cds_list_del(&at->list);
	check(sum == 6 && cds_list_empty(&list), "a_list_is_walked");
	check(__cds_wfcq_splice_blocking(&bare, &bare_tail, &head, &tail) ==
			      CDS_WFCQ_RET_DEST_EMPTY &&
		      __cds_wfcq_dequeue_blocking(&bare, &bare_tail) == &items[0].queue,
	      "queues_of_both_kinds_are_spliced");
	check(cds_wfs_pop_blocking(&wait_free) == &items[2].wait_free &&
		      __cds_lfs_pop(&lock_free) == &items[2].lock_free,
	      "stacks_are_popped");
	cds_wfs_destroy(&wait_free);
	cds_wfcq_destroy(&head, &tail);
}

bool all_empty(const cds_wfs_stack *locked, const __cds_wfs_stack *bare, const cds_lfs_stack *other,
	       const __cds_lfs_stack *bare_other)
{
	return cds_wfs_empty(locked) && cds_wfs_empty(cds_wfs_stack_const_cast(bare)) &&
	       cds_lfs_empty(other) && cds_lfs_empty(cds_lfs_stack_const_cast(bare_other));
}

bool empty(const cds_wfcq_head *head, const __cds_wfcq_head *bare, const cds_wfcq_tail *tail,
	   const cds_wfcq_tail *bare_tail)
{
	return cds_wfcq_empty(head, tail) && cds_wfcq_empty(bare, bare_tail) &&
	       cds_wfcq_empty(cds_wfcq_head_const_cast(head), tail) &&
	       cds_wfcq_empty(__cds_wfcq_head_const_cast(bare), bare_tail);
}

void constants()
{
	cds_wfs_stack wait_free;
	__cds_wfs_stack bare_wait_free;
	cds_lfs_stack lock_free;
	__cds_lfs_stack bare_lock_free;
	cds_wfcq_head head;
	__cds_wfcq_head bare_head;
	cds_wfcq_tail tail, bare_tail;
	CDS_LIST_HEAD(list);
	const cds_list_head *constant = &list;
	item only;

	static_assert(std::is_same<decltype(CDS_WFS_END), cds_wfs_head *>::value,
		      "the end is a head");
	cds_wfs_init(&wait_free);
	__cds_wfs_init(&bare_wait_free);
	cds_lfs_init(&lock_free);
	__cds_lfs_init(&bare_lock_free);
	cds_wfcq_init(&head, &tail);
	__cds_wfcq_init(&bare_head, &bare_tail);
	check(all_empty(&wait_free, &bare_wait_free, &lock_free, &bare_lock_free),
	      "constant_stacks_are_empty");
	check(empty(&head, &bare_head, &tail, &bare_tail), "constant_queues_are_empty");
	check(cds_list_empty(constant), "a_constant_list_is_empty");
	check(wait_free.head == CDS_WFS_END, "an_empty_stack_is_its_end");
	cds_wfs_push(cds_wfs_stack_cast(&bare_wait_free), &only.wait_free);
	cds_lfs_push(cds_lfs_stack_cast(&bare_lock_free), &only.lock_free);
	check(!cds_wfs_empty(&bare_wait_free) && !cds_lfs_empty(&bare_lock_free),
	      "stacks_are_cast");
	cds_wfs_destroy(&wait_free);
	cds_lfs_destroy(&lock_free);
	cds_wfcq_destroy(&head, &tail);
}

void orders()
{
	const long *seen = nullptr;
	long number = 1;

	uatomic_store(&seen, &number, CMM_RELEASE);
	check(uatomic_load(&seen, CMM_ACQUIRE) == &number && cmm_ptr_eq(seen, &number),
	      "a_pointer_is_stored_and_loaded_in_an_order");
	uatomic_add(&number, 2, CMM_ACQ_REL);
	check(uatomic_cmpxchg(&number, 3, 4, CMM_SEQ_CST_FENCE, CMM_RELAXED) == 3 &&
		      uatomic_load(&number, CMM_SEQ_CST_FENCE) == 4,
	      "a_number_is_changed_in_an_order");
	check(*URCU_FORCE_CAST(long *, seen) == 4, "a_constant_is_cast_away");
}

void table()
{
	cds_lfht *ht = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, nullptr);
	cds_lfht_iter iter;
	item only, *at;
	int key = 9, count = 0;

	only.number = key;
	rcu_read_lock();
	cds_lfht_add(ht, 9, &only.hash);
	cds_lfht_lookup(ht, 9, by_number::match, &key, &iter);
	check(cds_lfht_iter_get_node(&iter) == &only.hash, "a_key_is_found");
	cds_lfht_for_each_entry(ht, &iter, at, hash) count += at->number;
	check(count == 9 && cds_lfht_del(ht, &only.hash) == 0, "a_table_is_walked");
	rcu_read_unlock();
	synchronize_rcu();
	check(cds_lfht_destroy(ht, nullptr) == 0, "a_table_is_destroyed");
}
} // namespace

int main()
{
	rcu_register_thread();
	pointers();
	structures();
	constants();
	orders();
	table();
	rcu_unregister_thread();
	return sums();
}

# SPDX-License-Identifier: MIT
"""Tests of the RCU tables' harness: threads, sides, crossings, and samples that are refused."""

from __future__ import annotations

import math
import unittest
from contextlib import ExitStack
from unittest import mock

from harness import rcu, rounds
from harness.programs import ProgramError
from harness.rcu import PEERS, Side
from harness.spread import Spread
from harness.table import Table


class ThreadsTest(unittest.TestCase):
    def test_threads_go_to_all_cpus_and_then_share_them(self) -> None:
        self.assertEqual(rcu.thread_counts(1), [1, 2, 4])
        self.assertEqual(rcu.thread_counts(2), [1, 2, 4, 8])
        self.assertEqual(rcu.thread_counts(6), [1, 2, 4, 6, 12, 24])
        self.assertEqual(rcu.thread_counts(64), [1, 2, 4, 8, 16, 32, 64, 128, 256])


class CrossingTest(unittest.TestCase):
    def test_a_crossing_lies_between_the_lengths_around_it(self) -> None:
        found = rcu.crossing((10, 1000), (0.8, 1.0))
        self.assertAlmostEqual(found, 100.0)

    def test_ahead_from_the_first_length_on_crosses_there(self) -> None:
        self.assertEqual(rcu.crossing((10, 1000), (0.95, 1.0)), 10.0)

    def test_who_never_catches_up_has_no_crossing(self) -> None:
        self.assertEqual(rcu.crossing((10, 1000), (0.1, 0.5)), math.inf)


class RowTest(unittest.TestCase):
    def add(self, ours: float | None, peer: float | None):
        spreads = {}
        if ours is not None:
            spreads[Side("ours", "memb")] = Spread((ours,))
        if peer is not None:
            spreads[Side(PEERS[0], "memb")] = Spread((peer,))
        return rcu.add_row(Table("t", "", quick=False), "k", "l", "ns", spreads)

    def test_a_target_against_the_peer_allows_for_equal_code(self) -> None:
        self.assertTrue(rcu.no_slower(self.add(1.02, 1.0)).met)
        self.assertFalse(rcu.no_slower(self.add(1.05, 1.0)).met)

    def test_half_of_the_peers_means_half(self) -> None:
        self.assertTrue(rcu.no_slower(self.add(0.5, 1.0), 0.5).met)
        self.assertFalse(rcu.no_slower(self.add(0.51, 1.0), 0.5).met)

    def test_without_both_sides_there_is_no_target(self) -> None:
        self.assertIsNone(rcu.no_slower(self.add(1.0, None)))
        self.assertIsNone(rcu.no_slower(self.add(None, 1.0)))

    def test_locks_stand_beside_under_their_names(self) -> None:
        spreads = {Side("lock", "rwlock"): Spread((1.0,))}
        row = rcu.add_row(Table("t", "", quick=False), "k", "l", "ns", spreads)
        self.assertIsNone(row.ours)
        self.assertEqual(list(row.peers), ["pthread rwlock"])


class AlternateAnswersTest(unittest.TestCase):
    def test_every_figure_keeps_its_rounds_without_the_discarded_one(self) -> None:
        numbers = iter(range(100))
        variants = {"a": lambda: {"x": next(numbers), "y": 7}}
        taken = rounds.alternate_answers(variants, 3)
        self.assertEqual(taken["a"]["x"].samples, (1, 2, 3))
        self.assertEqual(taken["a"]["y"].samples, (7, 7, 7))


class RefusedTest(unittest.TestCase):
    def test_a_sample_of_a_broken_library_is_an_error_and_no_figure(self) -> None:
        subject = mock.Mock()
        subject.ask.return_value = {"reads_per_s": 1e9, "wrong": 2.0}
        with self.assertRaisesRegex(ProgramError, "2 objects reclaimed too early"):
            rcu.ask(subject, "mix 1 1 0 0 1 1 10")


class LocksTest(unittest.TestCase):
    """The measured program itself, where it needs no library."""

    def test_every_lock_reads_updates_and_finds_nothing_wrong(self) -> None:
        with ExitStack() as stack:
            subjects = rcu.subjects(stack, rcu.lock_sides())
            for side, subject in subjects.items():
                with self.subTest(side.label):
                    answer = rcu.ask(subject, rcu.mix(2, 0, 5))
                    self.assertGreater(answer["reads_per_s"], 0)
                    self.assertEqual(answer["updates_per_s"], 0)
                    answer = rcu.ask(subject, rcu.mix(1, 1, 20, delay_cycles=1000))
                    self.assertGreater(answer["reads_per_s"], 0)
                    self.assertIn("updates_per_s", answer)


if __name__ == "__main__":
    unittest.main()

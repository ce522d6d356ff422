# SPDX-License-Identifier: MIT
"""The way from the command to Arrow: what ends it, what damages it, who shares it.

Place in the flow: a shell script stands for the command, so that each case is exact.
"""

import faulthandler
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import unittest
import unittest.mock
import warnings

import lull
import pyarrow
from lull import process

import made

LIMIT_S = 300
STUCK = "cat $here/begin; echo $$ > $here/pid; exec sleep 1000"


def setUpModule() -> None:
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)


def tearDownModule() -> None:
    faulthandler.cancel_dump_traceback_later()


def rows() -> lull.Rows:
    return lull.read().sql("SELECT 1")


def unfinished(batches: int = 1) -> bytes:
    """A stream without its end."""
    whole = made.ipc([made.batch() for _ in range(batches)])
    return whole[:-8]


class Ends(unittest.TestCase):
    def setUp(self) -> None:
        gc.collect()
        self.left = made.Left()

    def assert_nothing_is_left(self) -> None:
        gc.collect()
        self.assertTrue(self.left.nothing(), (made.children(), made.descriptors()))

    def test_an_answer_that_is_read_leaves_nothing(self) -> None:
        with made.command("cat $here/all", all=made.ipc([made.batch(), made.batch(50, 100)])):
            answer = rows()
            self.assertEqual(answer.arrow().num_rows, 150)
            self.assertEqual(answer.arrow()["number"].to_pylist(), list(range(150)))
            self.assertEqual((answer.is_complete, answer.messages), (True, ()))
            # Nor does one that somebody still refers to.
            stream = rows()._begin()
            self.assertEqual(len(list(stream)), 2)
            self.assertTrue(self.left.nothing())
            del stream
        self.assert_nothing_is_left()

    def test_a_whole_answer_is_asked_for_once(self) -> None:
        script = "echo x >> $here/runs; cat $here/all"
        with made.command(script, all=made.ipc([made.batch()])) as here:
            answer = rows()
            answer.arrow()
            answer.pandas()
            answer.polars()
            self.assertEqual(len(list(answer)), 100)
            self.assertIn("100 rows", answer._repr_html_())
            self.assertEqual(answer.batches().read_all().num_rows, 100)
            self.assertEqual((here / "runs").read_text(), "x\n")

    def test_what_a_notebook_shows_whole_is_not_asked_for_again(self) -> None:
        script = "echo $* >> $here/runs; cat $here/all"
        with made.command(script, all=made.ipc([made.batch()])) as here:
            answer = rows()
            answer._repr_html_()
            answer.pandas()
            runs = (here / "runs").read_text().splitlines()
            self.assertEqual(len(runs), 1)
            self.assertIn("--limit=1000", runs[0])

    def test_a_dropped_stream_ends_the_command(self) -> None:
        with made.command(STUCK, begin=unfinished()):
            for _ in range(20):
                stream = rows().batches()
                self.assertEqual(stream.read_next_batch().num_rows, 100)
                self.assertEqual(len(made.children()), 1)
                del stream
                self.assert_nothing_is_left()

    def test_a_loop_that_is_left_ends_the_command(self) -> None:
        with made.command(STUCK, begin=unfinished()):
            for row in rows():
                self.assertEqual(row["number"], 0)
                break
        self.assert_nothing_is_left()

    def test_columns_are_known_before_rows_and_reading_them_ends_the_command(self) -> None:
        with made.command(STUCK, begin=unfinished()):
            answer = rows()
            self.assertEqual(answer.schema.names, ["time", "number", "name", "list"])
        self.assert_nothing_is_left()

    def test_the_end_of_the_interpreter_ends_the_command(self) -> None:
        code = (
            "import lull\n"
            "stream = lull.read().sql('SELECT 1').batches()\n"
            "stream.read_next_batch()\n"
        )
        with made.command(STUCK, begin=unfinished()) as here:
            subprocess.run([sys.executable, "-c", code], check=True, timeout=LIMIT_S)
            pid = int((here / "pid").read_text())
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_ctrl_c_ends_the_waiting_and_the_command(self) -> None:
        main = threading.main_thread().ident
        assert main is not None

        def interrupt() -> None:
            # Bound: the main thread comes to wait, or LIMIT_S ends the test.
            while sys._current_frames()[main].f_code is not process.Process._wait.__code__:
                pass
            signal.pthread_kill(main, signal.SIGINT)

        kept = []

        def read(answer: lull.Rows) -> None:
            kept.append(answer.batches())
            kept[-1].read_all()

        for take in (lambda answer: answer.arrow(), list, read):
            with made.command(STUCK, begin=unfinished()):
                answer = rows()
                self.assertEqual(answer.schema.names[0], "time")
                thread = threading.Thread(target=interrupt)
                with self.assertRaises(KeyboardInterrupt):
                    thread.start()
                    take(answer)
                thread.join()
                # The answer's reader may have a name, and the command is gone all the same.
                self.assertEqual(made.children(), [])
            del answer
            kept.clear()
            self.assert_nothing_is_left()

    def test_standard_error_of_any_size_stops_nothing(self) -> None:
        say = "head -c 5000000 /dev/zero | tr '\\0' 'x' >&2"
        script = f"{say}; cat $here/all; {say}; exit 1"
        with made.command(script, all=made.ipc([made.batch(10_000)])):
            answer = rows()
            with self.assertWarns(lull.Incomplete):
                self.assertEqual(answer.arrow().num_rows, 10_000)
            said = "\n".join(answer.messages)
            self.assertLess(len(said), 100_000)
            self.assertIn(f"({10_000_000 - 65_536} more bytes are left out)", said)
        self.assert_nothing_is_left()

    def test_threads_may_share_a_stream(self) -> None:
        whole = made.ipc([made.batch(10, 10 * at) for at in range(500)])
        with made.command("cat $here/all", all=whole):
            stream = rows().batches()
            found: list[list[int]] = [[], [], [], []]

            def take(mine: list[int]) -> None:
                for batch in stream:
                    mine += batch["number"].to_pylist()

            threads = [threading.Thread(target=take, args=(mine,)) for mine in found]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(sum(found, [])), list(range(5000)))
            del stream
        self.assert_nothing_is_left()

    def test_a_reader_that_is_closed_elsewhere_hears_of_it(self) -> None:
        with made.command(STUCK, begin=unfinished()):
            stream = rows()._begin()
            next(stream)
            found: list[BaseException] = []

            def wait() -> None:
                try:
                    next(stream)
                except BaseException as error:
                    found.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            stream.close()
            thread.join()
            self.assertIsInstance(found[0], lull.Error | StopIteration)
            del stream, found
        self.assert_nothing_is_left()

    def test_a_fork_in_the_middle_leaves_the_stream_to_the_parent(self) -> None:
        whole = made.ipc([made.batch(1000, 1000 * at) for at in range(100)])
        with made.command("cat $here/all", all=whole):
            answer = rows()
            stream = answer.batches()
            stream.read_next_batch()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    stream.read_next_batch()
                except lull.Error as error:
                    status = 2 if "before a fork" in str(error) else 3
                    # The child may begin another, and its end ends that one.
                    del stream
                    gc.collect()
                    if status == 2 and answer.arrow().num_rows == 100_000:
                        status = 0
                finally:
                    os._exit(status)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            rest = sum(batch.num_rows for batch in stream)
            self.assertEqual(rest, 99_000)
            del stream
        self.assert_nothing_is_left()

    def test_the_child_of_a_fork_drops_a_stream_without_ending_the_command(self) -> None:
        with made.command(STUCK, begin=unfinished()) as here:
            stream = rows().batches()
            stream.read_next_batch()
            child = os.fork()
            if child == 0:
                del stream
                gc.collect()
                os._exit(0)
            os.waitpid(child, 0)
            pid = made.children()[0]
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            self.assertNotEqual(state, "Z")
            del stream, here
        self.assert_nothing_is_left()


class Errors(unittest.TestCase):
    def error(self, script: str, **files: bytes) -> str:
        left = made.Left()
        with made.command(script, **files), self.assertRaises(lull.Error) as caught:
            rows().arrow()
        text = str(caught.exception)
        del caught
        gc.collect()
        self.assertTrue(left.nothing(), (made.children(), made.descriptors()))
        return text

    def test_no_command_is_said_with_what_to_do(self) -> None:
        for environment, said in (
            ({"PATH": "/nowhere", "LULL": ""}, "the command lull, which reads traces, is not in"),
            ({"LULL": "/nowhere/lull"}, "LULL is '/nowhere/lull', which is no program"),
            ({"LULL": "/etc/passwd"}, "LULL is '/etc/passwd', which is no program"),
        ):
            with unittest.mock.patch.dict(os.environ, environment):
                with self.assertRaises(lull.Error) as caught:
                    rows().arrow()
            self.assertIn(said, str(caught.exception))
            self.assertIn("make install", str(caught.exception))

    def test_a_command_that_does_not_know_queries_is_old(self) -> None:
        said = self.error("echo \"error: unrecognized subcommand 'query'\" >&2; exit 2")
        self.assertIn("it is older than this package", said)
        self.assertIn("unrecognized subcommand 'query'", said)

    def test_what_is_no_program_is_an_error(self) -> None:
        with made.command("") as here:
            (here / "lull").write_bytes(b"\x7fELF nothing of it")
            with self.assertRaisesRegex(lull.Error, "cannot be started"):
                rows().arrow()

    def test_a_signal_is_named(self) -> None:
        self.assertIn("was ended by SIGKILL; the machine may", self.error("kill -KILL $$"))
        self.assertIn("was ended by SIGTERM", self.error("kill -TERM $$"))
        after = self.error("cat $here/begin; kill -KILL $$", begin=unfinished())
        self.assertIn("was ended by SIGKILL", after)

    def test_an_error_after_rows_is_an_error(self) -> None:
        script = "cat $here/all; echo 'lull: no more' >&2; exit 2"
        self.assertEqual(self.error(script, all=made.ipc([made.batch()])), "no more")

    def test_what_is_no_stream_is_an_error(self) -> None:
        for script in ("true", "echo hello", "head -c 100000 /dev/zero", "yes", "exit 1"):
            with self.subTest(script):
                self.assertIn("what the command wrote is", self.error(script))

    def test_a_stream_without_its_end_is_an_error(self) -> None:
        self.assertIn("is cut off", self.error("cat $here/begin", begin=unfinished(3)))

    def test_a_second_stream_is_an_error(self) -> None:
        whole = made.ipc([made.batch()])
        self.assertIn("more than one", self.error("cat $here/all $here/all", all=whole))

    def test_a_query_that_is_no_argument_is_an_error(self) -> None:
        for query in ("SELECT '\0'", "SELECT '\ud800'", "SELECT 1 " + " " * 200_000):
            with made.command("cat $here/all", all=made.ipc([made.batch()])):
                with self.assertRaises(lull.Error):
                    lull.read().sql(query).arrow()

    def test_columns_that_change_are_an_error(self) -> None:
        script = "cat $here/all; cp $here/other $here/all"
        other = pyarrow.RecordBatch.from_pydict({"x": [1]})
        files = {"all": made.ipc([made.batch()]), "other": made.ipc([other])}
        with made.command(script, **files):
            answer = rows()
            self.assertEqual(len(list(answer)), 100)
            with self.assertRaisesRegex(lull.Error, "the traces have changed"):
                answer.arrow()

    def test_losses_are_warned_of_at_the_callers_line(self) -> None:
        script = "cat $here/all; echo 'lull: 3 events lost' >&2; exit 1"
        with made.command(script, all=made.ipc([made.batch()])):
            answer = rows()
            self.assertIsNone(answer.is_complete)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                answer.arrow()
            self.assertEqual([str(one.message) for one in caught], ["3 events lost"])
            self.assertIs(caught[0].category, lull.Incomplete)
            self.assertEqual(caught[0].filename, __file__)
            self.assertEqual((answer.is_complete, answer.messages), (False, ("3 events lost",)))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaises(lull.Incomplete):
                    list(rows())

    def test_no_row_is_no_loss(self) -> None:
        with made.command("cat $here/all; exit 1", all=made.ipc([made.batch(0)])):
            answer = rows()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(answer.arrow().num_rows, 0)
            self.assertTrue(answer.is_complete)
            self.assertEqual(answer.arrow().schema.names, ["time", "number", "name", "list"])
            self.assertEqual(answer.pandas().dtypes.astype(str)["number"], "Int64")


class Damaged(unittest.TestCase):
    CASES = 400

    def damage(self, draw: random.Random, whole: bytes) -> bytes:
        """A stream with something wrong: cut, changed, or with a part twice or not at all."""
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at, length = draw.randrange(len(data)), draw.choice((1, 4, 8, 64, 1000))
            kind = draw.randrange(6)
            if kind == 0:
                del data[max(at, 1) :]
            elif kind == 1:
                data[at : at + length] = draw.randbytes(length)
            elif kind == 2:
                data[at] ^= 1 << draw.randrange(8)
            elif kind == 3:
                data[at : at + 8] = draw.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"))
            elif kind == 4 and len(data) > length + 1:
                del data[at : at + length]
            else:
                data[at:at] = data[max(at - length, 0) : at]
            if not data:
                break
        return bytes(data)

    def test_damaged_streams_are_errors_and_end_nothing(self) -> None:
        left = made.Left()
        draw = random.Random(2026)
        batches = [made.batch(20), made.batch(300, 20)]
        whole = made.ipc(batches)
        refused = 0
        with made.command("exec cat $here/all", all=b"") as here:
            for case in range(self.CASES):
                (here / "all").write_bytes(self.damage(draw, whole))
                try:
                    table = rows().arrow()
                    # What went through has to be safe to look at.
                    for name in table.schema.names:
                        str(name)
                    [column.to_pylist() for column in table.columns if column.num_chunks]
                except lull.Error:
                    refused += 1
                except ValueError as error:
                    # Times that are times to Arrow and none to Python.
                    self.assertNotIsInstance(error, UnicodeDecodeError, f"case {case}")
        self.assertGreater(refused, self.CASES // 4)
        gc.collect()
        self.assertTrue(left.nothing(), (made.children(), made.descriptors()))


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: MIT
"""Rows of real queries: types, values, what other programs take, what is told.

Place in the flow: tests/python/run has made the traces and installed the wheel.
"""

import concurrent.futures
import copy
import datetime
import faulthandler
import gc
import json
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings
from typing import Any

import duckdb
import lull
import nbclient
import nbformat
import numpy
import pandas
import polars
import pyarrow

import made

LIMIT_S = 600
HOSTILE = "<script>alert(1)</script>&\u202e\x1b[2J"
SHOP = made.TRACES / "shop"
MACHINE = made.TRACES / "machine"
DRAWN = made.TRACES / "drawn"

I64, U64 = 1 << 63, 1 << 64
# The fields of made.KINDS.
ROWS: list[tuple[Any, ...]] = [
    (0, -128, 0, -32768, 0, -(1 << 31), 0, -I64, -0.0, 5e-324, 1, (), (0, b""), b""),
    (255, 127, 65535, 32767, (1 << 32) - 1, (1 << 31) - 1, U64 - 1, I64 - 1, math.inf, -math.inf)
    + (2, (1, 65535), (255, b"text"), "\N{CRAB}".encode()),
    (1, -1, 2, -2, 3, -3, (1 << 53) + 1, -(1 << 53) - 1, 1.5, 0.1, 9, (7,), (1, b"x"), b"a\xffb"),
]


def setUpModule() -> None:
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)


def tearDownModule() -> None:
    faulthandler.cancel_dump_traceback_later()


def ndjson(trace: pathlib.Path, sql: str) -> list[dict[str, Any]]:
    """What the command itself says. Its status may be 1."""
    line = [os.environ["LULL"], "query", "--format", "ndjson", sql, str(trace)]
    output = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in output.stdout.splitlines()]


def as_json(value: Any) -> Any:
    """A value of rows as the command writes it."""
    if isinstance(value, numpy.datetime64):
        # Digits that are zero behind the point are left out, three at a time.
        text = re.sub(r"\.?(000)+$", "", str(value))
        return text
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Kinds(unittest.TestCase):
    """Every type of column, from a trace to each form."""

    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = pathlib.Path(cls.folder.name) / "-kinds"
        made.write_kinds(cls.trace, "all:kinds", ROWS)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def table(self) -> lull.Table:
        return lull.read(self.trace)["all:kinds"]

    def test_arrow_has_the_types_and_values_of_the_trace(self) -> None:
        table = self.table().arrow()
        types = {field.name: field.type for field in table.schema}
        for bits in (8, 16, 32, 64):
            self.assertEqual(types[f"u{bits}"], getattr(pyarrow, f"uint{bits}")())
            self.assertEqual(types[f"i{bits}"], getattr(pyarrow, f"int{bits}")())
        self.assertEqual(types["f32"], pyarrow.float32())
        self.assertEqual(types["f64"], pyarrow.float64())
        self.assertEqual(types["time"], pyarrow.timestamp("ns"))
        self.assertEqual(types["label"], pyarrow.string())
        self.assertTrue(pyarrow.types.is_list(types["list"]))
        self.assertTrue(pyarrow.types.is_struct(types["pair"]))
        names = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"]
        for at, name in enumerate(names):
            wanted = [row[at] for row in ROWS]
            if name == "f32":
                wanted = [float(numpy.float32(value)) for value in wanted]
            self.assertEqual(table[name].to_pylist(), wanted, name)
        self.assertEqual(table["label"].to_pylist()[:2], ["ONE", "TWO"])
        self.assertEqual(table["label_number"].to_pylist(), [1, 2, 9])
        self.assertEqual(table["list"].to_pylist(), [[], [1, 65535], [7]])
        self.assertEqual(table["pair"].to_pylist()[1], {"x": 255, "text": "text"})
        self.assertEqual(table["text"].to_pylist(), ["", "\N{CRAB}", "a\N{REPLACEMENT CHARACTER}b"])
        times = [1_780_000_000_000_001_000 + at for at in range(3)]
        self.assertEqual(table["time"].cast(pyarrow.int64()).to_pylist(), times)

    def test_pandas_and_polars_and_rows_have_the_same_to_the_last_digit(self) -> None:
        table = self.table()
        frame, rows = table.pandas(), list(table)
        self.assertEqual(str(frame["u64"].dtype), "UInt64")
        self.assertEqual(str(frame["i64"].dtype), "Int64")
        self.assertEqual(str(frame["time"].dtype), "datetime64[ns]")
        for name, at in (("u64", 6), ("i64", 7)):
            wanted = [row[at] for row in ROWS]
            self.assertEqual([int(value) for value in frame[name]], wanted)
            self.assertEqual(table.polars()[name].to_list(), wanted)
            self.assertEqual([row[name] for row in rows], wanted)
        self.assertEqual(rows[2]["time"], numpy.datetime64(1_780_000_000_000_001_002, "ns"))
        self.assertEqual(frame["time"][2].value, 1_780_000_000_000_001_002)
        self.assertEqual(rows[1]["pair"], {"x": 255, "text": "text"})
        self.assertEqual(rows[1]["list"], [1, 65535])

    def test_null_changes_no_type(self) -> None:
        sql = 'SELECT CASE WHEN u8 = 1 THEN i64 END AS n, u8 = 1 AS b FROM "all:kinds"'
        rows = lull.read(self.trace).sql(sql)
        frame = rows.pandas()
        self.assertEqual([str(kind) for kind in frame.dtypes], ["Int64", "boolean"])
        self.assertEqual(frame["n"][2], -(1 << 53) - 1)
        self.assertTrue(frame["n"].isna()[0])
        self.assertEqual([row["n"] for row in rows], [None, None, -(1 << 53) - 1])
        self.assertEqual([row["b"] for row in rows], [False, False, True])

    def test_what_is_counted_in_nanoseconds_stays_so(self) -> None:
        sql = (
            'SELECT max(time) - min(time) AS d, [max(time)] AS l, {"t": min(time)} AS s '
            'FROM "all:kinds"'
        ).replace('{"t": min(time)}', "named_struct('t', min(time))")
        row = next(iter(lull.read(self.trace).sql(sql)))
        at = numpy.datetime64(1_780_000_000_000_001_000, "ns")
        self.assertEqual(row["d"], numpy.timedelta64(2, "ns"))
        self.assertEqual(row["l"], [at + numpy.timedelta64(2, "ns")])
        self.assertEqual(row["s"], {"t": at})

    def test_a_path_that_begins_with_a_hyphen_is_a_path(self) -> None:
        before = os.getcwd()
        os.chdir(self.folder.name)
        try:
            traces = lull.read("-kinds", spill="-spill")
            also = lull.read(b"-kinds")
        finally:
            os.chdir(before)
        # The folder is that in which the traces were named.
        self.assertEqual(traces["all:kinds"].arrow().num_rows, 3)
        self.assertEqual(also.sql('-- all\nSELECT * FROM "all:kinds"').arrow().num_rows, 3)
        self.assertIn("all:kinds", traces.tables)


class Hostile(unittest.TestCase):
    def test_names_and_texts_are_shown_as_text(self) -> None:
        name = "x" + HOSTILE.replace("\x1b", "") + "'; DROP"
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "<b>trace"
            row = ROWS[1][:-1] + (HOSTILE.encode(),)
            made.write_kinds(trace, name, [row])
            traces = lull.read(trace)
            self.assertIn(name, traces.tables)
            table = traces[name]
            html = table._repr_html_()
            shown = traces.sql(f'SELECT 1 AS "{HOSTILE}"')._repr_html_()
            self.assertEqual(table.arrow()["text"].to_pylist(), [HOSTILE])
        for text in (html, shown):
            self.assertNotIn("<script", text)
            self.assertNotIn("\u202e", text)
            self.assertNotIn("\x1b", text)
            self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;&amp;\\u202e\\x1b[2J", text)

    def test_a_table_with_a_quote_in_its_name_is_a_table(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "t"
            made.write_kinds(trace, 'a\\"b', ROWS)
            traces = lull.read(trace)
            self.assertIn('a"b', traces.tables)
            self.assertEqual(traces['a"b'].select("u8", "text").arrow().num_rows, 3)
            self.assertEqual(dict(traces['a"b'].columns)["u8"], "UInt8")

    def test_what_is_shown_is_bounded(self) -> None:
        sql = "SELECT repeat('x', 1000000) AS x FROM events"
        html = lull.read(SHOP).sql(sql)._repr_html_()
        self.assertLess(len(html), 20_000)
        self.assertIn("of which the first 20 are shown", html)
        self.assertEqual(html.count("<tr>"), 21)


class Same(unittest.TestCase):
    """What the package gives is what the command writes."""

    def test_rows_are_those_of_the_command(self) -> None:
        compared = 0
        for trace in (SHOP, DRAWN):
            traces = lull.read(trace)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name in traces:
                    quoted = name.replace('"', '""')
                    wanted = ndjson(trace, f'SELECT * FROM "{quoted}"')
                    found = [as_json(row) for row in traces[name]]
                    self.assertEqual(found, wanted, name)
                    compared += len(found)
                    columns = {key for row in found[:1] for key in row}
                    self.assertLessEqual(columns, set(traces.tables[name]))
        self.assertGreater(compared, 1000)

    def test_an_empty_answer_has_its_columns(self) -> None:
        rows = lull.read(SHOP).sql('SELECT time, id, url FROM "http:request_entry" WHERE id < 0')
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(rows.arrow().schema.names, ["time", "id", "url"])
        self.assertEqual(str(rows.pandas()["time"].dtype), "datetime64[ns]")
        self.assertEqual(rows.polars().schema["id"], polars.Int64)
        self.assertTrue(rows.is_complete)
        self.assertEqual(list(rows), [])

    def test_losses_are_warned_of(self) -> None:
        rows = lull.read(DRAWN).sql("SELECT count(*) AS n FROM events")
        with self.assertWarnsRegex(lull.Incomplete, "lost"):
            self.assertGreater(rows.arrow()["n"][0].as_py(), 500)
        self.assertFalse(rows.is_complete)
        self.assertIn("lost", rows.messages[0])

    def test_an_error_shows_its_place(self) -> None:
        with self.assertRaises(lull.Error) as caught:
            lull.read(SHOP).sql('SELECT * FROM "http:reqest_exit"').arrow()
        self.assertEqual(
            str(caught.exception).splitlines(),
            [
                'no table is named "http:reqest_exit"',
                '  SELECT * FROM "http:reqest_exit"',
                "                ^^^^^^^^^^^^^^^^^^",
                '  the nearest is "http:request_exit", "http:request_entry"',
            ],
        )
        with self.assertRaisesRegex(lull.Error, "only queries are run"):
            lull.read(SHOP).sql("DROP TABLE calls").arrow()
        with self.assertRaisesRegex(lull.Error, "no table is named"):
            lull.read(SHOP)["nothing"].columns
        with self.assertRaisesRegex(lull.Error, "no trace to query"):
            lull.read("/nowhere").tables

    def test_two_columns_of_one_name_make_no_dictionary(self) -> None:
        sql = "SELECT a.cpu, b.cpu FROM events a JOIN events b ON a.time = b.time LIMIT 1"
        rows = lull.read(SHOP).sql(sql)
        self.assertEqual(rows.arrow().num_columns, 2)
        with self.assertRaisesRegex(lull.Error, "two columns are called 'cpu'"):
            list(rows)


class Times(unittest.TestCase):
    BEGIN = 1_780_000_000_000_000_000

    def count(self, **times: Any) -> int:
        rows = lull.read(SHOP, **times).sql("SELECT count(*) AS n FROM events")
        return int(rows.arrow()["n"][0].as_py())

    def test_all_forms_name_the_same_time(self) -> None:
        begin, end = self.BEGIN + 10_000_000, self.BEGIN + 12_000_000
        zone = datetime.timezone(datetime.timedelta(hours=5))
        wanted = self.count(since=begin, until=end)
        self.assertGreater(wanted, 0)
        for since, until in (
            (str(begin), str(end)),
            ("2026-05-28T20:26:40.010Z", "2026-05-28T20:26:40.012Z"),
            (
                datetime.datetime.fromtimestamp(begin // 10**9, zone)
                + datetime.timedelta(milliseconds=10),
                datetime.datetime.fromtimestamp(begin // 10**9, datetime.timezone.utc)
                + datetime.timedelta(milliseconds=12),
            ),
            (pandas.Timestamp(begin, tz="UTC"), pandas.Timestamp(end, tz="Europe/Berlin")),
            (numpy.datetime64(begin, "ns"), numpy.datetime64(end // 1000, "us")),
        ):
            self.assertEqual(self.count(since=since, until=until), wanted, since)
        self.assertEqual(self.count(since="+9ms", until="+11ms"), 21)

    def test_a_nanosecond_is_not_rounded_away(self) -> None:
        at = self.BEGIN + 1_000_000
        self.assertEqual(self.count(since=at) - self.count(since=at + 1), 1)
        later = pandas.Timestamp(at + 1, tz="UTC")
        self.assertEqual(self.count(since=at) - self.count(since=later), 1)

    def test_what_names_no_time_is_refused(self) -> None:
        naive = datetime.datetime(2026, 5, 28)
        for time, error in (
            (naive, "has no time zone"),
            (pandas.Timestamp(naive), "has no time zone"),
            (pandas.NaT, "NaT"),
            (numpy.datetime64("NaT"), "NaT"),
            (numpy.datetime64("NaT", "ns"), "NaT"),
        ):
            with self.assertRaisesRegex(ValueError, error):
                lull.read(SHOP, since=time)
        for kind in (1.5, True, b"x"):
            with self.assertRaises(TypeError):
                lull.read(SHOP, until=kind)
        with self.assertRaisesRegex(lull.Error, "^since is 'yesterday': write a time"):
            self.count(since="yesterday")
        with self.assertRaisesRegex(lull.Error, "^until is '--tables': write a time") as refused:
            self.count(until="--tables")
        self.assertNotIn("--help", str(refused.exception))
        with self.assertRaisesRegex(lull.Error, "^memory is 'lots': write a number"):
            self.count(memory="lots")
        with self.assertRaisesRegex(lull.Error, "^since is not before until$"):
            self.count(since="+2s", until="+1s")

    def test_a_time_that_nanoseconds_do_not_reach_is_refused(self) -> None:
        utc = datetime.timezone.utc
        for far in (
            *(numpy.datetime64(text) for text in ("2300", "1600", "3000-01-01", "2262-04-12")),
            numpy.datetime64(1 << 62, "s"),
            numpy.datetime64(-(1 << 62), "Y"),
            numpy.datetime64(1 << 40, "25h"),
            pandas.Timestamp("2400-01-01", tz="UTC"),
            datetime.datetime.min.replace(tzinfo=utc),
            datetime.datetime.max.replace(tzinfo=utc),
        ):
            with self.assertRaisesRegex(ValueError, "no time of a trace"):
                lull.read(SHOP, since=far)
        everything = self.count()
        for early, late in (
            (numpy.datetime64("1678"), numpy.datetime64("2262")),
            (numpy.datetime64("1677-09-22"), numpy.datetime64("2262-04-11")),
            (numpy.datetime64(0, "as"), numpy.datetime64(self.BEGIN + 10**12, "ns")),
            (pandas.Timestamp("1700-01-01", tz="UTC"), pandas.Timestamp("2200-01-01", tz="UTC")),
        ):
            self.assertEqual(self.count(since=early, until=late), everything, early)

    def test_a_handle_can_be_copied_and_sent_before_and_after_tables_were_read(self) -> None:
        traces = lull.read(SHOP, since="+9ms", until="+11ms")
        for _ in range(2):
            for copied in (pickle.loads(pickle.dumps(traces)), copy.deepcopy(traces)):
                self.assertEqual(copied["events"].arrow().num_rows, 21)
                self.assertEqual(copied.tables, traces.tables)
            table = pickle.loads(pickle.dumps(traces["events"]))
            self.assertEqual(table.columns, traces["events"].columns)


class Large(unittest.TestCase):
    def test_a_large_answer_is_streamed_and_may_end_early(self) -> None:
        code = (
            "import resource, sys, lull\n"
            "import pyarrow.compute\n"
            "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
            "traces = lull.read(sys.argv[1])\n"
            "sql = \"SELECT * FROM events LIMIT {}\"\n"
            "def read(rows):\n"
            "    count = 0\n"
            "    for batch in traces.sql(sql.format(rows)).batches(): count += batch.num_rows\n"
            "    assert count == rows, count\n"
            "read(100_000)\n"
            "before = peak()\n"
            "read(1_200_000)\n"
            "print(peak() - before)\n"
        )
        line = [sys.executable, "-c", code, str(MACHINE)]
        grown_mib = int(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
        # The rows have more than 100 MiB.
        self.assertLess(grown_mib, 40)
        left = made.Left()
        batches = lull.read(MACHINE)["events"].batches()
        batches.read_next_batch()
        self.assertEqual(len(made.children()), 1)
        del batches
        gc.collect()
        self.assertTrue(left.nothing(), (made.children(), made.descriptors()))

    def test_columns_come_before_the_rows_are_sorted(self) -> None:
        batches = lull.read(MACHINE).sql("SELECT * FROM events ORDER BY fields").batches()
        fields = pathlib.Path(f"/proc/{made.children()[0]}/stat")
        ticks = [int(fields.read_text().rsplit(")", 1)[1].split()[11])]
        batches.read_next_batch()
        ticks.append(int(fields.read_text().rsplit(")", 1)[1].split()[11]))
        self.assertLess(ticks[0] * 3, ticks[1])

    def test_a_sort_that_is_dropped_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            traces = lull.read(MACHINE, memory="24M", spill=folder)
            sql = "SELECT * FROM events ORDER BY fields, time"
            batches = traces.sql(sql).batches()
            batches.read_next_batch()
            self.assertEqual(os.listdir(folder), [])
            spilled = pathlib.Path(f"/proc/{made.children()[0]}/fd")
            links = [os.readlink(link) for link in spilled.iterdir()]
            self.assertTrue([link for link in links if link.startswith(folder)], links)
            del batches
            gc.collect()
            self.assertEqual(os.listdir(folder), [])

    def test_ten_queries_run_at_once(self) -> None:
        def ask(number: int) -> tuple[int, int]:
            rows = lull.read(SHOP).sql(f"SELECT count(*) AS n, {number} AS number FROM events")
            return tuple(rows.arrow().to_pylist()[0].values())

        left = made.Left()
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            found = list(pool.map(ask, range(30)))
        count = ask(0)[0]
        self.assertEqual(found, [(count, number) for number in range(30)])
        gc.collect()
        self.assertEqual(made.children(), [])
        self.assertEqual(made.descriptors(), left.before)


class Others(unittest.TestCase):
    SQL = "SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY name"

    def test_duckdb_polars_and_pandas_take_rows_by_themselves(self) -> None:
        wanted = [tuple(row.values()) for row in lull.read(SHOP).sql(self.SQL)]
        rows = lull.read(SHOP).sql(self.SQL)
        self.assertEqual(duckdb.sql("SELECT * FROM rows ORDER BY name").fetchall(), wanted)
        self.assertEqual(polars.DataFrame(lull.read(SHOP).sql(self.SQL)).rows(), wanted)
        frame = pandas.DataFrame.from_arrow(lull.read(SHOP).sql(self.SQL))
        self.assertEqual(list(frame.itertuples(index=False, name=None)), wanted)
        self.assertEqual(pyarrow.table(lull.read(SHOP).sql(self.SQL)).num_rows, len(wanted))

    def test_an_error_reaches_who_reads_by_the_capsule(self) -> None:
        with self.assertRaisesRegex(Exception, "no table is named"):
            polars.DataFrame(lull.read(SHOP).sql("SELECT * FROM nothing"))

    def test_a_package_that_is_missing_is_named(self) -> None:
        for name in ("pandas", "polars"):
            with unittest.mock.patch.dict(sys.modules, {name: None}):
                with self.assertRaisesRegex(ModuleNotFoundError, f"pip install {name}"):
                    getattr(lull.read(SHOP)["calls"], name)()

    def test_a_notebook_runs_from_its_first_cell_to_its_last(self) -> None:
        cells = [
            "import lull\nshop = lull.read('shop')",
            "shop['http:request_entry'].select('time', 'url').limit(3)",
            "slow = shop.sql('SELECT * FROM calls WHERE duration > 100000').pandas()\nslow.shape",
            "shop.sql('SELECT nothing FROM calls').pandas()",
        ]
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        book.cells[3].metadata["tags"] = ["raises-exception"]
        client = nbclient.NotebookClient(
            book, timeout=LIMIT_S, resources={"metadata": {"path": str(made.TRACES)}}
        )
        client.execute()
        table = book.cells[1].outputs[0]["data"]["text/html"]
        self.assertIn("<td style=\"text-align: left\">/cart</td>", table)
        self.assertIn("3 rows", table)
        self.assertEqual(book.cells[2].outputs[0]["data"]["text/plain"], "(21, 12)")
        error = book.cells[3].outputs[0]
        self.assertEqual(error["ename"], "Error")
        self.assertNotIn("ArrowInvalid", "".join(error["traceback"]))

    def test_the_version_is_the_projects(self) -> None:
        manifest = pathlib.Path(__file__).parents[2] / "Cargo.toml"
        version = re.search(r'(?m)^version = "(.*)"$', manifest.read_text())
        assert version is not None
        self.assertEqual(lull.__version__, version[1])
        self.assertTrue((pathlib.Path(lull.__file__).parent / "py.typed").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

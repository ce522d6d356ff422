# SPDX-License-Identifier: MIT
"""The examples of docs/guide/python.md print what the guide says.

Place in the flow: tests/python/run has made the trace that the guide is about. With GUIDE=write the
guide gets what the examples print.
"""

import contextlib
import doctest
import io
import os
import pathlib
import unittest
import warnings

import made

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide/python.md"
FENCE = "```python\n"


class Guide(unittest.TestCase):
    def test_examples_print_what_the_guide_says(self) -> None:
        old = GUIDE.read_text()
        new, count = "", 0
        names: dict[str, object] = {}
        before = os.getcwd()
        os.chdir(made.TRACES)
        try:
            for index, part in enumerate(old.split(FENCE)):
                if index == 0:
                    new += part
                    continue
                block, end, rest = part.partition("```\n")
                examples = doctest.DocTestParser().get_examples(block)
                shown = "".join(self.run_example(one.source, names) for one in examples)
                new += FENCE + (shown or block) + end + rest
                count += len(examples)
        finally:
            os.chdir(before)
        if os.environ.get("GUIDE") == "write":
            GUIDE.write_text(new)
        else:
            self.assertEqual(old, new)
        self.assertGreater(count, 15)

    def run_example(self, source: str, names: dict[str, object]) -> str:
        """An example as it stands in the guide, with what it prints."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(compile(source, "<guide>", "single"), names)
            except Exception as error:
                kind = type(error)
                module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
                said.write(f"Traceback (most recent call last):\n  ...\n{module}{kind.__name__}: ")
                said.write(f"{error}\n")
        lines = source.rstrip("\n").split("\n")
        shown = "".join(
            (">>> " if at == 0 else "... ") + line + "\n" for at, line in enumerate(lines)
        )
        for warning in caught:
            shown += f"{warning.category.__name__}: {warning.message}\n"
        # A line of nothing would end the output for a person who reads it as a session.
        return shown.replace("... \n", "...\n") + said.getvalue()


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A new op is an enumerator with its name in one file and a row in another, and whoever forgets one is told by the compiler.

Compiles the op table as it is, with an op more, and with parts of that left out: closed_table_test.py COMPILER SOURCE_DIR"""
import os
import subprocess
import sys
import tempfile
import unittest

COMPILER, SOURCE = sys.argv[1:3]
HEADER, TABLE = "include/espalier/program/op_code.hpp", "src/program/op_table.cpp"

ENUMERATOR = (HEADER, "    clamp,\n", "    clamp,\n    softsign,\n")
NAME = (HEADER, '    {OpCode::clamp, "clamp"},\n', '    {OpCode::clamp, "clamp"},\n    {OpCode::softsign, "softsign"},\n')
WRONG_PLACE = (HEADER, '    {OpCode::add, "add"},\n', '    {OpCode::add, "add"},\n    {OpCode::softsign, "softsign"},\n')
ROW = "function<softsign>({.real = real_smooth<[](double x) { return x / (1 + std::abs(x)); }, 100>, .sign = sign_of_first, .c = \"x0\"}),\n"


def row(text):
    """After that of clamp."""
    return (TABLE, "low_and_high),\n", "low_and_high),\n        " + text)


class ClosedTable(unittest.TestCase):
    def compile(self, *changes):
        """What the compiler says to the table with these changes; empty if it is content."""
        with tempfile.TemporaryDirectory() as folder:
            for path in (HEADER, TABLE):
                with open(os.path.join(SOURCE, path)) as file:
                    text = file.read()
                for changed, old, new in changes:
                    if changed == path:
                        self.assertEqual(text.count(old), 1, old)
                        text = text.replace(old, new)
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w") as file:
                    file.write(text)
            includes = [os.path.join(folder, "include"), os.path.join(SOURCE, "include"), os.path.join(SOURCE, "src/program")]
            command = [COMPILER, "-std=c++20", "-fsyntax-only", *(f"-I{path}" for path in includes), os.path.join(folder, TABLE)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode == 0, not done.stderr.strip(), done.stderr)
            return done.stderr

    def test_one_more_op_touches_two_files(self):
        self.assertEqual(self.compile(ENUMERATOR, NAME, row(ROW)), "")

    def test_an_op_without_a_name_does_not_compile(self):
        self.assertIn("an op without a name", self.compile(ENUMERATOR, row(ROW)))

    def test_nor_does_one_whose_name_stands_elsewhere(self):
        self.assertIn("a name at the place of another", self.compile(ENUMERATOR, WRONG_PLACE, row(ROW)))

    def test_nor_does_one_without_a_row(self):
        self.assertIn("an op without a row", self.compile(ENUMERATOR, NAME))

    def test_nor_does_a_function_without_its_sign_value_or_code(self):
        self.assertIn("without its sign", self.compile(ENUMERATOR, NAME, row(ROW.replace(", .sign = sign_of_first", ""))))
        self.assertIn("without its value", self.compile(ENUMERATOR, NAME, row("function<softsign>({.sign = sign_of_first}),\n")))
        self.assertIn("or its code", self.compile(ENUMERATOR, NAME, row(ROW.replace(', .c = "x0"', ""))))

    def test_nor_does_one_of_several_outputs_which_not_everything_knows(self):
        several = "[] { auto out = " + ROW.replace(",\n", "; out.outputs = 2; return out; }(),\n")
        self.assertIn("a row of several outputs", self.compile(ENUMERATOR, NAME, row(several)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

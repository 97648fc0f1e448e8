#!/usr/bin/python3
"""What was found, shown for people and programs, and checked again from the run file alone."""

import itertools
import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, USAGE, VERIFICATION_FAILED, Case

PROGRAMS = 26
COLUMNS = ["rank", "cost us", "speed-up", "kernels", "loop", "schedules", "rel. error", "verified", "error bound", "found s", "key"]
SMALL = "builtin: rmsnorm_linear, tokens: 2, hidden: 32, out: 64"


class RunThere(Case):
    """A finished run with 26 programs is in the folder `run`."""

    def setUp(self):
        super().setUp()
        yaml = self.superoptimization("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144")
        result = self.finished(self.search(yaml, "--quiet"))
        self.assertEqual((result.code, result.json["results"]), (DONE, PROGRAMS), result.text)

    def shown(self, *arguments) -> str:
        result = self.espalier("show", "run", *arguments)
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        return result.stdout

    def stored_texts(self) -> dict[str, str]:
        """key -> text of every program, as the run file has them."""
        with h5py.File(self.folder / "run" / "run.h5") as run:
            return {f"{int(key):016x}": text for key, text in zip(run["results"]["key"], harness.texts_of(run))}


class Show(RunThere):
    def rows(self, text: str) -> list[str]:
        return re.findall(r"^ +\d+ +[\d.]+ +[\d.]+x .*[0-9a-f]{16}$", text, re.M)

    def parts_of(self, table: str) -> float:
        """The cost that a table of `--explain` ends with, of which all sums were checked."""
        sums = []
        for kernel in table.split("kernel ")[1:-1]:
            times = {name: float(us) for name, us in re.findall(r"^  (\w[\w ]*?) +([\d.]+) us", kernel, re.M)}
            sums.append(times.pop("sum"))
            self.assertAlmostEqual(sum(times.values()), sums[-1], delta=0.004)
        total = float(re.search(r"^\d+ kernels?: ([\d.]+) us$", table, re.M)[1])
        self.assertAlmostEqual(sum(sums), total, delta=0.004)
        return total

    def test_the_parts_of_a_cost_add_up_to_it(self):
        shown = json.loads(self.shown("--json"))
        for one in (shown["results"][0], shown["results"][-1]):
            own, of_input = self.shown("--program", one["id"], "--explain").split("the input\n")

            self.assertAlmostEqual(self.parts_of(own), one["cost_us"], delta=0.001)
            self.assertAlmostEqual(self.parts_of(of_input), shown["input"]["cost_us"], delta=0.001)
            for word in ("bound by", "waves" if "waves" in own else "wave", "in sectors", "with padding to 16x8x16", "limited by"):
                self.assertIn(word, own)
            self.assertIn("an estimate, not a measurement", own)

    def forms(self) -> list[dict]:
        """The cheapest program of each form with the number of its schedules, found from the list of all programs alone."""
        found: dict[str, dict] = {}
        for one in json.loads(self.shown("--json"))["results"]:
            found.setdefault(one["form"], {**one, "schedules": 0})["schedules"] += 1
        return list(found.values())

    def worthwhile(self) -> list[dict]:
        return [one for one in self.forms() if one["speedup"] >= 1]

    def test_the_table_has_its_columns_and_a_row_for_every_form_that_is_not_slower(self):
        text = self.shown()
        expected = self.worthwhile()

        self.assertRegex(text, " +".join(COLUMNS))
        self.assertTrue(0 < len(expected) < PROGRAMS)
        self.assertEqual([(row.split()[0], row.split()[5], row.split()[-1]) for row in self.rows(text)],
                         [(str(one["id"]), str(one["schedules"]), one["key"]) for one in expected][:10])
        self.assertRegex(text, r"(?m)^ input +[\d.]+ +1\.00x")
        self.assertIn("estimates", text)

    def test_all_has_every_program(self):
        rows = self.rows(self.shown("--all"))

        self.assertEqual([row.split()[-1] for row in rows], [one["key"] for one in json.loads(self.shown("--json"))["results"]])
        self.assertEqual(len(rows), PROGRAMS)
        some = self.shown("--all", "--top", 12)
        self.assertEqual(self.rows(some), rows[:12])
        self.assertIn(f"{PROGRAMS - 12} more (--top {PROGRAMS} shows all)", some)

    def test_json_lists_the_forms(self):
        shown = json.loads(self.shown("--json"))

        self.assertEqual(shown["forms"], [{"form": one["form"], "schedules": one["schedules"], "best": one["key"]} for one in self.forms()])
        self.assertEqual(len(shown["forms"]), shown["mugraph"]["algebraic_forms"])
        self.assertEqual(sum(one["schedules"] for one in shown["forms"]), PROGRAMS)
        for one in shown["forms"]:
            self.assertIn(self.shown("--program", one["best"]), [result["text"] for result in shown["results"]])

    def test_every_program_and_the_input_have_their_numerics(self):
        shown = json.loads(self.shown("--json"))

        for one in [shown["input"], *shown["results"]]:
            numerics = one["numerics"]
            self.assertEqual(set(numerics), {"dtype", "rel_error", "largest_magnitude", "overflows", "samples", "inputs"})
            self.assertEqual((numerics["dtype"], numerics["overflows"], numerics["samples"], numerics["inputs"]), ("f16", False, 16, "N(0, 1)"))
            # one rounding to f16 is at most 2^-11 of the value; sums of 4096 products of two normal values are about 64
            self.assertTrue(2**-16 < numerics["rel_error"] < 2**-8, numerics)
            self.assertTrue(64 < numerics["largest_magnitude"] < 64 * 6, numerics)

    def test_the_table_says_the_errors_of_the_json(self):
        errors = {one["key"]: one["numerics"]["rel_error"] for one in json.loads(self.shown("--json"))["results"]}
        text = self.shown("--all")

        for row in self.rows(text):
            self.assertAlmostEqual(float(row.split()[5]) / errors[row.split()[-1]], 1, delta=0.06)
        self.assertRegex(text, r"(?m)^ input +[\d.]+ +1\.00x +\d+ +\d\.\de-\d$")
        self.assertIn("f16 against float64 on sampled elements, inputs N(0, 1)", text)

    def test_top_counts_forms_in_the_table_and_programs_in_json(self):
        forms = len(self.worthwhile())
        for top in (1, 2, 12, PROGRAMS, 1000):
            with self.subTest(top):
                self.assertEqual(len(self.rows(self.shown("--top", top))), min(top, forms))
                self.assertEqual(len(json.loads(self.shown("--json", "--top", top))["results"]), min(top, PROGRAMS))

    def test_json_has_all_programs_from_the_cheapest_on(self):
        shown = json.loads(self.shown("--json"))
        programs = shown["results"]

        self.assertEqual([one["id"] for one in programs], list(range(1, PROGRAMS + 1)))
        self.assertEqual([one["cost_us"] for one in programs], sorted(one["cost_us"] for one in programs))
        for one in programs:
            self.assertAlmostEqual(one["speedup"], shown["input"]["cost_us"] / one["cost_us"])
            self.assertIn(one["verified"], ("random", "proved"))
            self.assertIn(one["scope"], ("shrunk", "full"))
            self.assertGreater(one["sampled_elements"], 0)
            self.assertTrue(0 < one["found_s"] <= shown["total_seconds"], one)
            self.assertGreaterEqual(one["kernels"], one["graph_kernels"])
        self.assertIn("rms_norm", shown["input"]["text"])

    def test_one_program_is_printed_as_the_run_file_has_it(self):
        stored = self.stored_texts()
        for one in json.loads(self.shown("--json"))["results"]:
            self.assertEqual(one["text"], stored[one["key"]])
        first = json.loads(self.shown("--json", "--top", 1))["results"][0]

        self.assertEqual(self.shown("--program", 1), first["text"])
        self.assertEqual(self.shown("--program", 1, "--format", "text"), first["text"])

    def test_every_format_is_well_formed_and_says_the_same(self):
        first = json.loads(self.shown("--json", "--top", 1))["results"][0]
        formats = {name: self.shown("--program", 1, "--format", name) for name in ("text", "dot", "svg", "json", "yaml")}

        program = json.loads(formats["json"])
        picture = xml.etree.ElementTree.fromstring(formats["svg"])

        self.assertEqual([one["name"] for one in program["inputs"]], ["X", "W"])
        self.assertEqual(program["bodies"][0]["schedule"]["loop"], first["loop_range"])
        self.assertTrue(picture.tag.endswith("svg"), picture.tag)
        self.assertRegex(formats["dot"], r"(?s)^digraph .*\{.*\}\s*$")
        self.assertEqual(formats["dot"].count("{"), formats["dot"].count("}"))
        self.assertIn("level: kernel", formats["yaml"])
        ops = [op["op"] for op in program["bodies"][0]["ops"]]
        for name in ops:
            for kind in ("text", "dot", "svg", "yaml"):
                self.assertIn(name, formats[kind], kind)

    def test_the_yaml_holds_what_the_json_holds(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")

        self.assertEqual(yaml.safe_load(self.shown("--program", 2, "--format", "yaml")), json.loads(self.shown("--program", 2, "--format", "json")))

    def test_a_program_that_is_not_there_is_refused(self):
        for rank in ("0", "27", "-1", "99999999999999999999"):
            with self.subTest(rank):
                result = self.espalier("show", "run", "--program", rank)

                self.assertIn(result.code, (USAGE, INVALID_INPUT), result.text)
                self.assertEqual(result.stdout, "", result.text)
                self.assertIn(rank, result.stderr, "the number as it was written")
        self.expect_refused(self.espalier("show", "run", "--program", "27"), "no program 27", "1 to 26")

    def test_bad_usage_is_refused(self):
        for arguments in (["--program", "x"], ["--format", "dot"], ["--program", "1", "--format", "png"], ["--top", "x"], ["--top", "-2"]):
            with self.subTest(arguments):
                result = self.espalier("show", "run", *arguments)

                self.assertIn(result.code, (USAGE, INVALID_INPUT), result.text)
                self.assertIn(arguments[-2], result.stderr)
                self.assertEqual(result.stdout, "", result.text)


class OtherProblem(Case):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.espalier("search", self.experiment("T3"), "--quiet").code, DONE)

    def test_a_run_of_uts_is_shown_as_before(self):
        self.expect_complete("T3")
        for flags in ([], ["--top", "3"]):
            self.assertIn("4,112,897", self.espalier("show", "run", *flags).stdout)

    def test_a_run_of_uts_has_no_programs(self):
        self.expect_refused(self.espalier("show", "run", "--program", "1"), "no programs", "mugraph")
        self.expect_refused(self.espalier("verify", "run"), "run", "no results")


class Verify(RunThere):
    def damage(self, index: int, change) -> str:
        """Changes the text of a stored program and returns its key."""
        with harness.changed(self.folder / "run" / "run.h5") as run:
            texts = harness.texts_of(run)
            after = change(texts[index])
            self.assertNotEqual(texts[index], after)
            texts[index] = after
            ends = [0, *itertools.accumulate(len(text.encode()) for text in texts)]
            run["programs/text"].resize((ends[-1],))
            run["programs/text"][:] = list("".join(texts).encode())
            run["programs/text_offsets"][:] = ends
            return f"{int(run['results'][index]['key']):016x}"

    def expect_not_equal(self, *keys: str) -> None:
        text = self.espalier("verify", "run")
        report = self.espalier("verify", "run", "--json")

        self.assertEqual((text.code, report.code), (VERIFICATION_FAILED, VERIFICATION_FAILED), text.text + report.text)
        for key in keys:
            self.assertRegex(text.stdout, rf"{key}  NOT EQUAL: \w+")
        self.assertIn(f"{PROGRAMS - len(keys)} of {PROGRAMS} programs are equal", text.stdout)
        self.assertEqual({check["key"] for check in report.json["checks"] if not check["holds"]}, set(keys))
        self.assertEqual((report.json["wrong"], len(report.json["checks"])), (len(keys), PROGRAMS))

    def test_a_text_that_is_not_what_its_key_says_is_not_shown_and_not_searched_further(self):
        key = self.damage(3, lambda text: text.replace("threads 128", "threads 256", 1))

        for command in (["show", "run"], ["show", "run", "--program", "1"], ["report", "run"], ["search", "experiment.yaml"]):
            self.expect_refused(self.espalier(*command), "run.h5", key, "not the program that was verified")

    def test_all_programs_are_equal_to_the_input(self):
        result = self.espalier("verify", "run")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        self.assertEqual(len(re.findall(r"^ +\d+  [0-9a-f]{16}  equal on [1-9]\d* elements", result.stdout, re.M)), PROGRAMS)
        self.assertIn(f"{PROGRAMS} of {PROGRAMS} programs are equal", result.stdout)

    def test_as_json(self):
        report = self.espalier("verify", "run", "--json").json

        self.assertEqual((report["programs"], report["wrong"], len(report["checks"])), (PROGRAMS, 0, PROGRAMS))
        self.assertEqual({check["key"] for check in report["checks"]}, set(self.stored_texts()))
        for check in report["checks"]:
            self.assertTrue(check["holds"] and check["elements"] > 0 and 0 <= check["error_bound"] < 1e-9, check)

    def test_every_time_on_other_inputs_unless_a_seed_is_given(self):
        first, second, third = (self.espalier("verify", "run", "--json", *arguments).json for arguments in ([], [], ["--seed", "5"]))

        self.assertNotEqual(first["seed"], second["seed"])
        self.assertEqual(third["seed"], 5)
        self.assertEqual(third, self.espalier("verify", "run", "--json", "--seed", "5").json)

    def test_it_changes_nothing(self):
        before = harness.hashes(self.folder / "run")

        self.espalier("verify", "run")

        self.assertEqual(harness.hashes(self.folder / "run"), before)

    def test_a_program_with_another_op_is_not_equal(self):
        self.expect_not_equal(self.damage(3, lambda text: text.replace("= div ", "= mul ")))

    def test_several_damaged_programs_are_all_named(self):
        self.expect_not_equal(self.damage(0, lambda text: text.replace("= div ", "= mul ")), self.damage(7, lambda text: text.replace("= div ", "= add ")))

    def test_what_is_no_program_any_more_is_named_and_the_others_are_still_checked(self):
        self.expect_not_equal(self.damage(5, lambda text: "not a program"))

    def test_what_is_no_run_is_refused(self):
        self.expect_refused(self.espalier("verify", "nowhere"), "nowhere", "not a run folder")


class VerifyFull(Case):
    def test_every_element_of_the_output(self):
        self.finished(self.search(self.superoptimization(SMALL, "{from: full, max_kernel_ops: 1}"), "--quiet"))

        report = self.espalier("verify", "run", "--full", "--json")

        self.assertEqual(report.code, DONE, report.text)
        self.assertEqual({check["elements"] for check in report.json["checks"]}, {2 * 64})
        self.assertEqual(report.json["wrong"], 0)
        self.assertIn("every element", self.espalier("verify", "run", "--full").stdout)


if __name__ == "__main__":
    harness.main()

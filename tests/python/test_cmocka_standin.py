"""tests/neon/cmocka.h against the cmocka that it stands in for: each assertion where it holds and where it does not."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-unused"]
WITH = {"cmocka": ["-lcmocka"], "standin": [f"-I{ROOT}/tests/neon", *WARNINGS]}
BODIES = [
    "assert_true(two == 2)", "assert_true(two == 3)", "assert_true((uint64_t)1 << 40)",
    "assert_false(two == 3)", "assert_false(two == 2)",
    "assert_null(NULL)", "assert_null(text)", "assert_non_null(text)", "assert_non_null(NULL)",
    "assert_int_equal(two, 2)", "assert_int_equal(two, 3)", "assert_int_equal(-1, (int64_t)-1)",
    "assert_int_equal(two, two + (1LL << 32))", "assert_int_not_equal(two, 3)", "assert_int_not_equal(two, 2)",
    "assert_ptr_equal(text, text)", "assert_ptr_equal(text, text + 1)",
    "assert_in_range(two, 2, 3)", "assert_in_range(two, 0, 1)", "assert_in_range(two, 3, 4)",
    "assert_in_range(-1, 0, 9)",
    'assert_string_equal(text, "abc")', 'assert_string_equal(text, "abd")', 'assert_string_equal(text, "abcd")',
    'assert_memory_equal(text, "abd", 2)', 'assert_memory_equal(text, "abd", 3)',
    "fail()", 'fail_msg("%d", two)', "skip()", "(void)two",
    "assert_int_equal(++two, 3); assert_int_equal(two--, 3)",  # arguments are evaluated once
    "deeper()", "assert_int_equal(two, 2)",  # a failure far down ends one test only
]
PROGRAM = """
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *text = "abc";
static int two;
static void deeper(void) { assert_true(two == 1); }
static int set_up(void **state) { (void)state; two = 2; return SET_UP; }
static int tear_down(void **state) { (void)state; return TEAR_DOWN; }
%s
int main(void) {
    const struct CMUnitTest tests[] = {%s};
    return cmocka_run_group_tests_name("group", tests, set_up, tear_down);
}
"""


def outcome(folder, name, bodies, set_up=0, tear_down=0):
    """Whether the program failed, how many tests passed, and what became of each."""
    tests = [f"static void test_{i}(void **state) {{ (void)state; {body}; }}" for i, body in enumerate(bodies)]
    source, program = folder / f"{name}.c", folder / name
    source.write_text(PROGRAM % ("\n".join(tests), ", ".join(f"cmocka_unit_test(test_{i})" for i in range(len(tests)))))
    subprocess.run(["gcc", "-std=c11", f"-DSET_UP={set_up}", f"-DTEAR_DOWN={tear_down}", source, *WITH[name],
                    "-o", program], check=True)
    done = subprocess.run([program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    passed = re.search(r"^\[  PASSED  \] (\d+) test\(s\)\.$", done.stdout, re.MULTILINE)
    ends = re.findall(r"^\[ *(OK|FAILED|SKIPPED) *\] (test_\d+)$", done.stdout, re.MULTILINE)
    return done.returncode != 0, int(passed.group(1)), {bodies[int(test[5:])]: end for end, test in ends}


def test_every_assertion(tmp_path):
    failed, passed, ends = outcome(tmp_path, "standin", BODIES)
    assert (failed, passed, ends) == outcome(tmp_path, "cmocka", BODIES)
    assert set(ends) == set(BODIES) and set(ends.values()) == {"OK", "FAILED", "SKIPPED"}


@pytest.mark.parametrize("body", ["(void)two", "fail()", "skip()"])
@pytest.mark.parametrize("set_up", [0, -1])
def test_group(tmp_path, body, set_up):
    assert outcome(tmp_path, "standin", [body], set_up) == outcome(tmp_path, "cmocka", [body], set_up)


def test_tear_down_that_fails(tmp_path):
    """cmocka prints it and returns 0, which nobody would see."""
    assert outcome(tmp_path, "standin", ["(void)two"], tear_down=-1) == (True, 1, {"(void)two": "OK"})

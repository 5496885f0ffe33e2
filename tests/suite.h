/* SPDX-License-Identifier: MIT */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>
#include <stdlib.h>

/*
 * A test ends after 150 s, unless it has its own limit. Check's 4 s are too
 * few for a program that others leave little of the processors' time.
 */
__attribute__((constructor)) static void set_timeout(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "150", 0);
}

/* Runs @suite, takes ownership of it, and prints TAP. Returns the exit status
 * for main(). */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif

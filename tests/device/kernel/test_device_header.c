/* SPDX-License-Identifier: MIT */
/*
 * Invariant: qemu-dev/switchtec_regs.h says what the installed kernel's
 * switchtec.h says.
 */
#include <check.h>
#include <stdlib.h>
#include "kernel_facts.h"
#include "switchtec_regs.h"
#include "../../suite.h"

#define FACT(ours, theirs) {#ours, ours},

static const struct {
    const char *name;
    uint64_t value;
} facts[] = {
#include "facts.h"
};

START_TEST(ours_is_the_kernels)
{
    ck_assert_msg(facts[_i].value == kernel_facts[_i],
                  "%s is 0x%llx, the kernel's is 0x%llx", facts[_i].name,
                  (unsigned long long)facts[_i].value,
                  (unsigned long long)kernel_facts[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_header");
    TCase *tcase = tcase_create("header");

    tcase_add_loop_test(tcase, ours_is_the_kernels, 0,
                        sizeof(facts) / sizeof(facts[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

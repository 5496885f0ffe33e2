/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a jump is written only over the beginning of a function that is
 * as its compiler made it and is called, and then each call of it reaches the
 * replacement. The codes are from the Intel 64 SDM, volume 2.
 */
#include <check.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "timed_code.h"
#include "../suite.h"

/* The rest of each array is zeros, which no check looks at. */
typedef struct {
    const char *refusal; /* NULL: none */
    uint8_t code[32];
    size_t size;
} Beginning;

static const Beginning beginnings[] = {
    /* push %r15; mov %r9,%r15; push %r14; mov %r8,%r14; push %r13 */
    {NULL,
     {0x41, 0x57, 0x4d, 0x89, 0xcf, 0x41, 0x56, 0x4d, 0x89, 0xc6, 0x41, 0x55},
     32},
    /* endbr64; sub $8,%rsp; mov %rdi,%rax */
    {NULL, {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8}, 17},
    /* push %rbx; mov %rdi,%rbx; call */
    {NULL, {0x53, 0x48, 0x89, 0xfb, 0xe8, 1, 2, 3, 4}, 32},
    {"too short", {0x53, 0x48, 0x89, 0xfb}, 16},
    {"with a jump", {0xe9, 1, 2, 3, 4}, 32},
    {"with a jump", {0xeb, 5}, 32},
    {"with a jump", {0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 1, 2, 3, 4}, 32},
    /* jmp *0x10(%rip), as of a table of a linker */
    {"with a jump", {0xff, 0x25, 0x10}, 32},
    /* movabs $0,%rax; jmp *%rax */
    {"with a jump", {0x48, 0xb8, [10] = 0xff, 0xe0}, 32},
    {"breakpoint", {0xcc, 0x48, 0x89, 0xfb}, 32},
    {"breakpoint", {0xf3, 0x0f, 0x1e, 0xfa, 0xcc}, 32},
};

START_TEST(only_a_plain_beginning_is_replaced)
{
    const Beginning *b = &beginnings[_i];
    const char *why = timed_code_refusal(b->code, b->size);

    if (b->refusal) {
        ck_assert_ptr_nonnull(why);
        ck_assert_msg(strstr(why, b->refusal), "%s", why);
    } else {
        ck_assert_msg(!why, "%s", why);
    }
}
END_TEST

/* A call's distance counts from the end of its five bytes. */
START_TEST(calls_and_jumps_are_found)
{
    uint8_t code[64] = {0};

    memcpy(code + 20, (uint8_t[]){0xe8, 0x10, 0, 0, 0}, 5);
    memcpy(code + 59, (uint8_t[]){0xe9, 0xc0, 0xff, 0xff, 0xff}, 5);
    ck_assert(timed_code_leads_to(code, sizeof(code), code + 25 + 16));
    ck_assert(timed_code_leads_to(code, sizeof(code), code));
    ck_assert(!timed_code_leads_to(code, sizeof(code), code + 8));
    /* The last call is cut off. */
    ck_assert(!timed_code_leads_to(code, sizeof(code) - 1, code));
    ck_assert(!timed_code_leads_to(code, 0, code));
}
END_TEST

static int replaced_by;

static void replacement(int argument)
{
    replaced_by = argument;
}

/* With and without an ENDBR64 before it */
START_TEST(a_call_reaches_the_replacement)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    /* push %rbx; mov %rdi,%rbx; nops; pop %rbx; ret */
    static const uint8_t body[] = {0x53, 0x48, 0x89, 0xfb, 0x90, 0x90, 0x90,
                                   0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                   0x90, 0x90, 0x90, 0x5b, 0xc3};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0;
    uint8_t *code = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(int);

    if (code == MAP_FAILED) {
        return; /* this system has no code that can be written */
    }
    if (_i == 1) {
        memcpy(code, endbr64, sizeof(endbr64));
        at = sizeof(endbr64);
    }
    memcpy(code + at, body, sizeof(body));
    ck_assert_ptr_null(timed_code_refusal(code, at + sizeof(body)));
    memcpy(&function, &code, sizeof(function));
    function(3);
    ck_assert_int_eq(replaced_by, 0);
    timed_code_jump(code, (const void *)replacement);
    function(4);
    ck_assert_int_eq(replaced_by, 4);
    ck_assert_int_eq(memcmp(code, endbr64, sizeof(endbr64)) == 0, _i == 1);
    /* A function is replaced once. */
    ck_assert_ptr_nonnull(timed_code_refusal(code, at + sizeof(body)));
    munmap(code, page);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("timed_code");
    TCase *tcase = tcase_create("code");

    tcase_add_loop_test(tcase, only_a_plain_beginning_is_replaced, 0,
                        sizeof(beginnings) / sizeof(beginnings[0]));
    tcase_add_test(tcase, calls_and_jumps_are_found);
    tcase_add_loop_test(tcase, a_call_reaches_the_replacement, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}

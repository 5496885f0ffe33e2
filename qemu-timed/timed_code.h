/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code of x86-64, as far as the replacement of a function needs it
 * (Intel 64 SDM, volume 2). No QEMU is needed here.
 */
#ifndef TIMED_CODE_H
#define TIMED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes that timed_code_jump() writes */
#define TIMED_CODE_MAX 17

/*
 * NULL if a jump may be written over the beginning of a function of @size
 * bytes, or the reason why not.
 */
const char *timed_code_refusal(const uint8_t *function, size_t size);

/*
 * True if there is a call of, or a jump to @function in the code. A compiler
 * that sees the whole program may have put copies of the function's body there
 * instead.
 */
bool timed_code_leads_to(const uint8_t *code, size_t size,
                         const uint8_t *function);

/*
 * Writes a jump to @to over the beginning of @function. An ENDBR64 there stays,
 * so the function can be called by a pointer also if the CPU enforces that.
 */
void timed_code_jump(uint8_t *function, const void *to);

#endif /* TIMED_CODE_H */

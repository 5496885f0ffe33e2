/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timed_code.h"
#include <string.h>

#ifndef HOST_X86_64
#error "qemu-timed/timed_code.c knows the code of x86-64 only"
#endif

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Opcodes; a relative jump or call is followed by 32 bits. */
#define CALL 0xe8
#define JUMP 0xe9
#define JUMP_SHORT 0xeb
#define BREAKPOINT 0xcc
#define INDIRECT 0xff /* of a group: /4 is JMP */
#define NOTRACK 0x3e  /* a prefix */
#define RELATIVE_BYTES 5

static size_t landing_bytes(const uint8_t *function, size_t size)
{
    return size >= sizeof(endbr64) &&
                   memcmp(function, endbr64, sizeof(endbr64)) == 0
               ? sizeof(endbr64)
               : 0;
}

/* At most 13 bytes are read. */
static bool is_jump(const uint8_t *at)
{
    /* movabs $ADDRESS, %rax comes before the jump. */
    const uint8_t *after = at[0] == 0x48 && at[1] == 0xb8 ? at + 10 : at;

    if (after[0] == NOTRACK) {
        after++;
    }
    return after[0] == JUMP || after[0] == JUMP_SHORT ||
           (after[0] == INDIRECT && (after[1] >> 3 & 7) == 4);
}

const char *timed_code_refusal(const uint8_t *function, size_t size)
{
    const uint8_t *begin = function + landing_bytes(function, size);

    if (size < TIMED_CODE_MAX) {
        return "it is too short for a jump";
    }
    if (is_jump(begin)) {
        return "it begins with a jump, so somebody has replaced it before";
    }
    if (*begin == BREAKPOINT) {
        return "a debugger has a breakpoint there";
    }
    return NULL;
}

bool timed_code_leads_to(const uint8_t *code, size_t size,
                         const uint8_t *function)
{
    int32_t distance;
    size_t i;

    for (i = 0; i + RELATIVE_BYTES <= size; i++) {
        if ((code[i] & ~1) != CALL) {
            continue;
        }
        memcpy(&distance, code + i + 1, sizeof(distance));
        if (code + i + RELATIVE_BYTES + distance == function) {
            return true;
        }
    }
    return false;
}

void timed_code_jump(uint8_t *function, const void *to)
{
    uint64_t address = (uintptr_t)to;
    uint8_t *at = function + landing_bytes(function, TIMED_CODE_MAX);

    /* movabs $ADDRESS, %rax; notrack jmp *%rax: @to needs no ENDBR64 */
    memcpy(at, (uint8_t[]){0x48, 0xb8}, 2);
    memcpy(at + 2, &address, sizeof(address));
    memcpy(at + 10, (uint8_t[]){NOTRACK, INDIRECT, 0xe0}, 3);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's own functions that have no hook are replaced: a jump to the
 * replacement is written over their beginning, when this object is loaded and
 * nothing calls them yet. Nothing of the old function runs any more, so it does
 * not matter what stood there.
 */
#include "timed.h"
#include <sys/mman.h>
#include "qemu/error-report.h"

/* movabs $ADDRESS, %rax; jmp *%rax */
#define JUMP_BYTES 12

#ifdef HOST_X86_64
static void write_jump(uint8_t *at, const void *to)
{
    uint64_t address = (uintptr_t)to;

    at[0] = 0x48;
    at[1] = 0xb8;
    memcpy(at + 2, &address, sizeof(address));
    at[10] = 0xff;
    at[11] = 0xe0;
}
#else
#error "qemu-timed/timed_patch.c knows the jump of x86-64 only"
#endif

void timed_patch(const char *name, void *function, const void *replacement)
{
    uintptr_t page = qemu_real_host_page_size();
    uintptr_t begin = (uintptr_t)function & -page;
    uintptr_t end = ROUND_UP((uintptr_t)function + JUMP_BYTES, page);

    /* Other threads may run other functions of these pages. */
    if (mprotect((void *)begin, end - begin,
                 PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
        error_report("virtual time replaces QEMU's function %s, but its code "
                     "cannot be written: %s",
                     name, strerror(errno));
        exit(1);
    }
    write_jump(function, replacement);
    mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC);
}

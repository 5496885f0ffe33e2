/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's own functions that have no hook are replaced: a jump to the
 * replacement is written over their beginning, when this object is loaded and
 * nothing calls them yet. Nothing of the old function runs any more. Before
 * that, this file looks if it would have the effect that is meant.
 */
#include "timed.h"
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include "qemu/error-report.h"
#include "timed_code.h"

static G_NORETURN void refuse(const char *name, const char *why)
{
    error_report("virtual time replaces QEMU's function %s, but %s. The page "
                 "about timed clusters says what it needs of a QEMU.",
                 name, why);
    exit(1);
}

/* The program itself comes first. Its code has all that QEMU does. */
static int find_call(struct dl_phdr_info *program, size_t size, void *function)
{
    const ElfW(Phdr) *part;
    unsigned i;

    for (i = 0; i < program->dlpi_phnum; i++) {
        part = &program->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) &&
            timed_code_leads_to((const void *)(program->dlpi_addr +
                                               part->p_vaddr),
                                part->p_memsz, function)) {
            return 1;
        }
    }
    return -1;
}

static void check(const char *name, void *function)
{
    const ElfW(Sym) *symbol;
    const char *why;
    Dl_info info;

    if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
        !symbol || info.dli_saddr != function) {
        refuse(name, "its size is not known");
    }
    why = timed_code_refusal(function, symbol->st_size);
    if (why) {
        refuse(name, why);
    }
    if (dl_iterate_phdr(find_call, function) != 1) {
        refuse(name, "QEMU's own code does not call it: it was built with "
                     "link-time optimization");
    }
}

void timed_patch(const char *name, void *function, const void *replacement)
{
    uintptr_t page = qemu_real_host_page_size();
    uintptr_t begin = (uintptr_t)function & -page;
    uintptr_t end = ROUND_UP((uintptr_t)function + TIMED_CODE_MAX, page);
    g_autofree char *why = NULL;

    check(name, function);
    /* Other threads may run other functions of these pages. */
    if (mprotect((void *)begin, end - begin,
                 PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
        why = g_strdup_printf(
            "its code cannot be written: %s. Security modules can refuse code "
            "that is writable (SELinux: execmod; systemd: "
            "MemoryDenyWriteExecute)",
            strerror(errno));
        refuse(name, why);
    }
    timed_code_jump(function, replacement);
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC) < 0) {
        refuse(name, "its code cannot be executed any more");
    }
}

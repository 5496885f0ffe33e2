/* SPDX-License-Identifier: MIT */
#ifndef FAB_DEVMEM_H
#define FAB_DEVMEM_H

#include <glib.h>

#include "fab_tlp.h"

/*
 * A dmabuf that is bound to receive queues, as Linux' device memory TCP has it
 * (Documentation/networking/devmem.rst, net/core/devmem.c). The buffer is a
 * pool of pages. A packet's fragment takes a page. When the user receives the
 * fragment, it gets a token, and the page is the user's until the token comes
 * back. Contents are not simulated.
 *
 * A page is free, with the driver (posted to the NIC, or received and not yet
 * given to the user), or with the user.
 */
typedef struct FabDevmem FabDevmem;

/* Limits of one call that returns tokens (SO_DEVMEM_DONTNEED). */
#define FAB_DEVMEM_TOKENS    128u
#define FAB_DEVMEM_FRAGMENTS 1024u

/* A run of tokens, like struct dmabuf_token. */
typedef struct FabDevmemTokens {
    uint32_t first, count;
} FabDevmemTokens;

typedef struct FabDevmemCounters {
    uint64_t given;     /* tokens */
    uint64_t returned;  /* tokens */
    uint64_t unknown;   /* tokens that were returned and not given */
    uint64_t exhausted; /* times that no page was free */
    uint32_t most_held; /* pages with the user at the same time */
} FabDevmemCounters;

/* Binds a buffer of @size_bytes at @addr, cut into pages of @page_bytes. */
FabDevmem *fab_devmem_bind(FabBusAddr addr, uint64_t size_bytes,
                           uint32_t page_bytes);

/* Ends the binding: no page can be taken any more, and those with the user
 * come back at once. Linux does so when the netlink socket that made the
 * binding is closed, which the end of its process does. */
void fab_devmem_unbind(FabDevmem *devmem);
bool fab_devmem_is_bound(const FabDevmem *devmem);

/* Frees @devmem (nullable). */
void fab_devmem_free(FabDevmem *devmem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabDevmem, fab_devmem_free)

/* Takes a free page for the driver. False: none is free. */
bool fab_devmem_take(FabDevmem *devmem, uint32_t *ret_page);
FabBusAddr fab_devmem_addr(const FabDevmem *devmem, uint32_t page);
/* The driver gives a page back that no user has. */
void fab_devmem_put(FabDevmem *devmem, uint32_t page);

/* Gives a fragment in a page of the driver to the user. Returns its token. */
uint32_t fab_devmem_give(FabDevmem *devmem, uint32_t page);

/*
 * The user returns @count runs of tokens by one call. Returns the number of
 * fragments that were freed: at most FAB_DEVMEM_FRAGMENTS, and tokens that the
 * user does not have free none. Returns -EINVAL, and frees nothing, if @count
 * is above FAB_DEVMEM_TOKENS.
 */
int fab_devmem_dontneed(FabDevmem *devmem, const FabDevmemTokens *tokens,
                        unsigned count);

uint32_t fab_devmem_free_pages(const FabDevmem *devmem);
uint32_t fab_devmem_held(const FabDevmem *devmem);
const FabDevmemCounters *fab_devmem_counters(const FabDevmem *devmem);

#endif

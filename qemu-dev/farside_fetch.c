/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "farside_fetch.h"
#include "farside_time.h"

/* No request crosses a boundary of 4 KiB (PCIe 5.0 s2.2.7). */
#define PAGE_BYTES 4096u
/* A block ends at a multiple of this, for example of an entry of a queue. */
#define LINE_BYTES 64u
/* Pages whose last read is known */
#define PAGES 1024

typedef struct Page {
    uint64_t number;
    uint32_t bytes;  /* that the device took in a row; 0: the page is unknown */
    bool is_refused; /* it is not in RAM, so there are no blocks */
    unsigned epoch;  /* of the refusal */
} Page;

struct FarsideFetch {
    FarsideRequester *requester;
    Page pages[PAGES]; /* indexed by the number's last bits */
    /* The row: pieces that the device takes one after the other */
    uint64_t begin;
    uint64_t next; /* the address of the next piece */
    int64_t time;
    unsigned epoch;
    bool is_open; /* it may go on */
    /* The block: bytes from @next on */
    unsigned at, end;
    uint8_t block[PAGE_BYTES];
};

/* Changes when no block is valid any more. */
static unsigned epoch;

void farside_fetch_expire(void)
{
    epoch++;
}

static void main_loop_turns(Notifier *notifier, void *data)
{
    farside_fetch_expire();
}

/*
 * Outside of virtual time: the main loop lets other threads run between two
 * turns.
 */
static Notifier main_loop_notifier = {.notify = main_loop_turns};
static unsigned users; /* of the notifier */

static Page *page_of(FarsideFetch *s, uint64_t address)
{
    uint64_t number = address / PAGE_BYTES;

    return &s->pages[number % PAGES];
}

/* The device has taken all that it wanted. */
static void close_row(FarsideFetch *s)
{
    Page *page = page_of(s, s->begin);
    uint64_t number = s->begin / PAGE_BYTES;

    if (s->is_open) {
        page->is_refused = page->number == number && page->is_refused;
        page->number = number;
        page->bytes = s->next - s->begin;
    }
    s->is_open = false;
    s->at = s->end = 0;
}

void farside_fetch_drop(FarsideFetch *s)
{
    close_row(s);
    if (!farside_time()) {
        farside_fetch_expire();
    }
}

/* The next bytes of the row are valid. */
static bool goes_on(const FarsideFetch *s, uint64_t address)
{
    return s->is_open && s->next == address && s->epoch == epoch &&
           (!farside_time() || s->time == farside_time_now());
}

/*
 * Outside of virtual time a refusal lasts no longer than a block would, because
 * the peer's IOMMU or driver may allow the page later. In virtual time each
 * attempt would take time.
 */
static bool is_refused(const Page *page)
{
    return page->is_refused && (farside_time() || page->epoch == epoch);
}

/* The number of bytes that the device will probably take from @address on. */
static uint64_t guess(const FarsideFetch *s, const Page *page, uint64_t address,
                      unsigned size)
{
    uint64_t row = s->is_open ? address - s->begin : 0, known;

    if (!farside_time() && row < LINE_BYTES) {
        /*
         * The first piece may be all. The second one tells of a row, which is
         * probably as long as the last one in this page.
         */
        known = page && page->bytes > row ? page->bytes - row : 0;
        return row ? MAX(known, LINE_BYTES - address % LINE_BYTES) : size;
    }
    if (s->is_open) {
        /* Twice as much as up to here */
        return MAX(row, LINE_BYTES);
    }
    if (page && page->bytes > 0) {
        return page->bytes;
    }
    return address % PAGE_BYTES ? LINE_BYTES : PAGE_BYTES;
}

/* The size of the block at @address, for a piece of @size bytes. */
static unsigned block_size(FarsideFetch *s, uint64_t address, unsigned size,
                           uint64_t left)
{
    const Page *page = page_of(s, address);
    uint64_t wanted, end;

    if (page->number != address / PAGE_BYTES) {
        page = NULL;
    }
    wanted = guess(s, page, address, size);
    if (wanted <= size || (page && is_refused(page))) {
        return size;
    }
    end = QEMU_ALIGN_UP(address + wanted, LINE_BYTES);
    end = MIN(end, QEMU_ALIGN_DOWN(address, PAGE_BYTES) + PAGE_BYTES);
    return MAX(MIN(end - address, left), size);
}

static uint64_t take(FarsideFetch *s, unsigned size)
{
    uint64_t value = ldn_le_p(s->block + s->at, size);

    s->at += size;
    s->next += size;
    return value;
}

/* Fetches a block of @bytes. Returns @size if the piece must be read alone. */
static unsigned fetch(FarsideFetch *s, const FarsideNear *near,
                      uint64_t address, uint8_t *block, unsigned size,
                      unsigned bytes)
{
    FarsideFetched result;

    if (bytes == size) {
        return size;
    }
    result = farside_requester_fetch(s->requester, near, address, block, bytes);
    if (result == FARSIDE_FETCH_REFUSED) {
        *page_of(s, address) = (Page){
            .number = address / PAGE_BYTES,
            .is_refused = true,
            .epoch = epoch,
        };
    }
    return result == FARSIDE_FETCHED ? bytes : size;
}

/*
 * The part of a block of @bytes that is valid if a peer's request was performed
 * since it was asked for. In virtual time that is the line, because hardware
 * would have asked for it as a whole.
 */
static unsigned still_valid(uint64_t address, unsigned size, unsigned bytes)
{
    if (!farside_time()) {
        return size;
    }
    return MIN(bytes, MAX(size, LINE_BYTES - address % LINE_BYTES));
}

bool farside_fetch_read(FarsideFetch *s, const FarsideNear *near,
                        uint64_t address, unsigned size, uint64_t left,
                        uint64_t *ret_value)
{
    uint8_t block[PAGE_BYTES];
    unsigned before, bytes;
    uint64_t begin;

    if (!goes_on(s, address)) {
        close_row(s);
        if (!farside_time()) {
            /* Elsewhere the device may learn of newer data. */
            farside_fetch_expire();
        }
    }
    if (s->is_open && s->end - s->at >= size) {
        *ret_value = take(s, size);
        return true;
    }
    begin = s->is_open ? s->begin : address;
    bytes = block_size(s, address, size, left);
    before = epoch;
    /* Time passes, and others may use @s meanwhile. */
    bytes = fetch(s, near, address, block, size, bytes);
    if (epoch != before) {
        bytes = still_valid(address, size, bytes);
    }
    if (bytes == size) {
        if (!farside_requester_read(s->requester, near, address, size,
                                    ret_value)) {
            close_row(s);
            return false;
        }
        stn_le_p(block, size, *ret_value);
    }
    if (epoch != before && !farside_time()) {
        /* The device may read something else from here on. */
        begin = address;
    }
    close_row(s);
    s->epoch = epoch;
    memcpy(s->block, block, bytes);
    s->is_open = true;
    s->begin = begin;
    s->next = address;
    s->time = farside_time_now();
    s->at = 0;
    s->end = bytes;
    *ret_value = take(s, size);
    return true;
}

void farside_fetch_forget(FarsideFetch *s)
{
    memset(s->pages, 0, sizeof(s->pages));
    s->is_open = false;
    s->at = s->end = 0;
}

FarsideFetch *farside_fetch_new(FarsideRequester *requester)
{
    FarsideFetch *s = g_new0(FarsideFetch, 1);

    s->requester = requester;
    if (!farside_time() && users++ == 0) {
        main_loop_poll_add_notifier(&main_loop_notifier);
    }
    return s;
}

void farside_fetch_free(FarsideFetch *s)
{
    if (s && !farside_time() && --users == 0) {
        main_loop_poll_remove_notifier(&main_loop_notifier);
    }
    g_free(s);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "farside_config.h"
#include "farside_peer_ram.h"

#define TYPE_FARSIDE_NTB_PEER_RAM "farside-switchtec-peer-ram"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideNtbPeerRam, FARSIDE_NTB_PEER_RAM)

/*
 * The most bytes of RAM that this process maps of one peer, and of all peers.
 * RAM that a peer replaces stays mapped until the end of an RCU grace period.
 * QEMU's bitmaps take 100 MiB for each TiB of such RAM.
 */
#define PEER_RAM_MAX (1 * TiB)
#define PEER_RAM_MAPPED_MAX (2 * PEER_RAM_MAX)

/*
 * A region of the peer's memory. It is a separate object, because a flat view
 * of the address space may use it until the end of an RCU grace period.
 */
struct FarsideNtbPeerRam {
    Object parent_obj;
    MemoryRegion mr;
    uint64_t address;
    uint64_t size;
    uint64_t offset;    /* in the file of mr */
    uint32_t idle_refs; /* references while no device has mapped any of it */
};

/*
 * Bytes mapped by all devices. Accesses are atomic, because the last reference
 * to a region may be dropped without the big lock.
 */
static uint64_t peer_ram_mapped;

struct FarsidePeerRam {
    MemoryRegion memory;
    AddressSpace space;
    FarsideNtbPeerRam *ram[FARSIDE_WIRE_FDS];
    unsigned mapped; /* of ram[] */
    unsigned count;  /* mapped, or 0 while they are hidden */
};

unsigned farside_peer_ram_count(const FarsidePeerRam *s)
{
    return s->count;
}

void farside_peer_ram_range(const FarsidePeerRam *s, unsigned i,
                            uint64_t *ret_address, uint64_t *ret_size)
{
    *ret_address = s->ram[i]->address;
    *ret_size = s->ram[i]->size;
}

void farside_peer_ram_file(const FarsidePeerRam *s, unsigned i,
                           FarsidePeerRamFile *ret_file)
{
    MemoryRegion *mr = &s->ram[i]->mr;

    ret_file->fd = memory_region_get_fd(mr);
    ret_file->offset = s->ram[i]->offset;
    ret_file->page = qemu_ram_pagesize(mr->ram_block);
}

AddressSpace *farside_peer_ram_space(FarsidePeerRam *s)
{
    return &s->space;
}

bool farside_peer_ram_is_in_use(const FarsidePeerRam *s)
{
    unsigned i;

    for (i = 0; i < s->count; i++) {
        if (qatomic_read(&OBJECT(s->ram[i])->ref) >
            s->ram[i]->idle_refs) {
            return true;
        }
    }
    return false;
}

/* Taking it away */

void farside_peer_ram_cut(MemoryRegion *mr)
{
    if (mmap(memory_region_get_ram_ptr(mr), memory_region_size(mr),
             PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0) == MAP_FAILED) {
        warn_report_once("%s: cannot take the peer's memory from devices that "
                         "use it: %s",
                         TYPE_FARSIDE_NTB, strerror(errno));
    }
}

/* Takes the RAM out of the address space, too. */
static void take_away(FarsidePeerRam *s, FarsideNtbPeerRam *ram)
{
    memory_region_del_subregion(&s->memory, &ram->mr);
    farside_peer_ram_cut(&ram->mr);
    object_unref(OBJECT(ram));
}

void farside_peer_ram_hide(FarsidePeerRam *s)
{
    s->count = 0;
}

void farside_peer_ram_remove(FarsidePeerRam *s)
{
    unsigned i;

    for (i = 0; i < s->mapped; i++) {
        take_away(s, s->ram[i]);
        s->ram[i] = NULL;
    }
    s->mapped = 0;
}

/* Mapping it */

/*
 * True if the owner cannot shrink the file below this range. An access behind
 * the end of a file raises SIGBUS.
 */
static bool file_is_safe(int fd, uint64_t offset, uint64_t size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
           st.st_size >= 0 && (uint64_t)st.st_size >= offset &&
           (uint64_t)st.st_size - offset >= size;
}

bool farside_peer_ram_is_sane(const struct farside_wire_ram *m,
                                unsigned fd_count)
{
    uint64_t mask = qemu_real_host_page_size() - 1;
    uint64_t total = 0;
    unsigned i, j;

    if (m->count > FARSIDE_WIRE_FDS || m->count != fd_count) {
        return false;
    }
    for (i = 0; i < m->count; i++) {
        const struct farside_wire_ram_region *r = &m->region[i];

        if (((r->address | r->size | r->offset) & mask) || r->size == 0 ||
            r->size > PEER_RAM_MAX || r->address > (1ull << 52) ||
            r->offset > (1ull << 52)) {
            return false;
        }
        total += r->size;
        for (j = 0; j < i; j++) {
            if (r->address < m->region[j].address + m->region[j].size &&
                m->region[j].address < r->address + r->size) {
                return false;
            }
        }
    }
    return total <= PEER_RAM_MAX;
}

bool farside_peer_ram_map(MemoryRegion *mr, Object *owner, uint64_t size,
                          int fd, uint64_t offset, Error **errp)
{
    Error *err = NULL;

    if (fd < 0) {
        error_setg_errno(errp, errno, "no file");
        return false;
    }
    if (size > PEER_RAM_MAPPED_MAX - qatomic_read(&peer_ram_mapped)) {
        error_setg(errp, "the peers have more memory than can be mapped");
        close(fd);
        return false;
    }
    memory_region_init_ram_from_fd(mr, owner, "farside-peer-ram", size,
                                   RAM_SHARED, fd, offset, &err);
    if (err) {
        error_propagate(errp, err);
        close(fd);
        return false;
    }
    qatomic_add(&peer_ram_mapped, size);
    return true;
}

void farside_peer_ram_unmapped(const MemoryRegion *mr)
{
    qatomic_sub(&peer_ram_mapped, memory_region_size((MemoryRegion *)mr));
}

/* Takes ownership of @fd. */
static void peer_ram_add(FarsidePeerRam *s,
                         const struct farside_wire_ram_region *region, int fd)
{
    FarsideNtbPeerRam *ram;
    Error *err = NULL;

    if (!file_is_safe(fd, region->offset, region->size)) {
        warn_report_once("%s: the peer's memory is not in a memfd with "
                         "F_SEAL_SHRINK, so every access to it is a message, "
                         "which is slow",
                         TYPE_FARSIDE_NTB);
        close(fd);
        return;
    }
    ram = FARSIDE_NTB_PEER_RAM(object_new(TYPE_FARSIDE_NTB_PEER_RAM));
    ram->address = region->address;
    ram->size = region->size;
    ram->offset = region->offset;
    if (!farside_peer_ram_map(&ram->mr, OBJECT(ram), region->size, fd,
                              region->offset, &err)) {
        warn_report_once("%s: every access to a part of the peer's memory is "
                         "a message, which is slow: %s",
                         TYPE_FARSIDE_NTB, error_get_pretty(err));
        error_free(err);
        object_unref(OBJECT(ram));
        return;
    }
    memory_region_add_subregion(&s->memory, ram->address, &ram->mr);
    s->ram[s->count++] = ram;
}

void farside_peer_ram_take(FarsidePeerRam *s,
                           const struct farside_wire_ram *ram,
                           const int *files)
{
    unsigned i;

    memory_region_transaction_begin();
    for (i = 0; i < ram->count; i++) {
        peer_ram_add(s, &ram->region[i], files[i]);
    }
    memory_region_transaction_commit();
    for (i = 0; i < s->count; i++) {
        s->ram[i]->idle_refs = OBJECT(s->ram[i])->ref;
    }
    s->mapped = s->count;
}

void farside_peer_ram_renew(FarsidePeerRam *s)
{
    struct farside_wire_ram ram = {.count = s->mapped};
    int files[FARSIDE_WIRE_FDS];
    unsigned i;

    for (i = 0; i < ram.count; i++) {
        ram.region[i] = (struct farside_wire_ram_region) {
            .address = s->ram[i]->address,
            .size = s->ram[i]->size,
            .offset = s->ram[i]->offset,
        };
        files[i] = fcntl(memory_region_get_fd(&s->ram[i]->mr), F_DUPFD_CLOEXEC,
                         0);
    }
    farside_peer_ram_remove(s);
    farside_peer_ram_take(s, &ram, files);
}

/* Life */

FarsidePeerRam *farside_peer_ram_new(Object *owner)
{
    FarsidePeerRam *s = g_new0(FarsidePeerRam, 1);

    memory_region_init(&s->memory, owner, "farside-peer-memory", UINT64_MAX);
    return s;
}

void farside_peer_ram_start(FarsidePeerRam *s)
{
    address_space_init(&s->space, &s->memory, "farside-peer-memory");
}

void farside_peer_ram_stop(FarsidePeerRam *s)
{
    address_space_destroy(&s->space);
}

void farside_peer_ram_free(FarsidePeerRam *s)
{
    g_free(s);
}

static void peer_ram_finalize(Object *obj)
{
    farside_peer_ram_unmapped(&FARSIDE_NTB_PEER_RAM(obj)->mr);
}

static const TypeInfo peer_ram_info = {
    .name = TYPE_FARSIDE_NTB_PEER_RAM,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(FarsideNtbPeerRam),
    .instance_finalize = peer_ram_finalize,
};

void farside_peer_ram_register_type(void)
{
    type_register_static(&peer_ram_info);
}

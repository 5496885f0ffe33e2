/* SPDX-License-Identifier: MIT */
#include "topo_part.h"

#include <string.h>

#include "topo_part_priv.h"

#define BAR_REGISTERS  6
/* As many as a switch has ports, and an NTB cables. */
#define ROOT_PORTS_MAX 63

struct TopoPart {
    char *name;
    const char *description; /* nullable; borrowed */
    const GPtrArray *fitted; /* of TopoFitted; borrowed */
    TopoPartKind kind;
    TopoPlace place;
    TopoValues *values;
    GArray *bars;       /* of TopoBar */
    GArray *root_ports; /* of TopoRootPort */
    GArray *ways;       /* of TopoWay */
};

/* The state of topo_part_new(). */
typedef struct Maker {
    TopoPart *part;
    const char *user;
    TopoPlace place;
    TopoErrors *errors;
    bool good;
} Maker;

const char *topo_part_kind_name(TopoPartKind kind)
{
    return topo_schema_part(kind)->name;
}

const char *topo_part_name(const TopoPart *part)
{
    return part->name;
}

TopoPartKind topo_part_kind(const TopoPart *part)
{
    return part->kind;
}

const char *topo_part_description(const TopoPart *part)
{
    return part->description;
}

const GPtrArray *topo_part_fitted(const TopoPart *part)
{
    return part->fitted;
}

unsigned topo_part_n_values(const TopoPart *part)
{
    return part->values->section->n_keys;
}

void topo_part_value(const TopoPart *part, unsigned index,
                     TopoPartValue *ret_value)
{
    const TopoValue *value = &part->values->values[index];

    *ret_value = (TopoPartValue){
        .key = part->values->section->keys[index].key,
        .given = value->given,
        .place = value->place,
        .source = value->source,
    };
    if (value->node && value->node->kind != TOPO_NODE_SCALAR) {
        g_autoptr(GString) text = g_string_new(NULL);

        topo_node_write(value->node, text);
        ret_value->text = g_strdup(text->str);
    } else {
        ret_value->text = g_strdup(value->text);
    }
}

void topo_part_value_clear(TopoPartValue *value)
{
    g_clear_pointer(&value->text, g_free);
}

TopoPlace topo_part_place(const TopoPart *part, const char *key)
{
    return topo_values_get(part->values, key)->place;
}

bool topo_part_has(const TopoPart *part, const char *key)
{
    return topo_values_get(part->values, key)->valid;
}

bool topo_part_bool(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_BOOL)->number !=
           0;
}

int64_t topo_part_int(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_INT)->number;
}

int64_t topo_part_bytes(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_BYTES)->number;
}

int64_t topo_part_time(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_TIME)->number;
}

int64_t topo_part_rate(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_RATE)->number;
}

uint64_t topo_part_address(const TopoPart *part, const char *key)
{
    return (uint64_t)topo_values_typed(part->values, key,
                                       1u << TOPO_TYPE_ADDRESS)
        ->number;
}

unsigned topo_part_speed(const TopoPart *part, const char *key)
{
    return (unsigned)topo_values_typed(part->values, key, 1u << TOPO_TYPE_SPEED)
        ->number;
}

unsigned topo_part_width(const TopoPart *part, const char *key)
{
    return (unsigned)topo_values_typed(part->values, key, 1u << TOPO_TYPE_WIDTH)
        ->number;
}

int64_t topo_part_credits(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key, 1u << TOPO_TYPE_CREDITS)
        ->number;
}

const char *topo_part_text(const TopoPart *part, const char *key)
{
    return topo_values_typed(part->values, key,
                             1u << TOPO_TYPE_WORD | 1u << TOPO_TYPE_TEXT)
        ->text;
}

const TopoBar *topo_part_bars(const TopoPart *part, unsigned *ret_count)
{
    *ret_count = part->bars->len;
    return part->bars->len > 0 ? &g_array_index(part->bars, TopoBar, 0) : NULL;
}

const TopoRootPort *topo_part_root_ports(const TopoPart *part,
                                         unsigned *ret_count)
{
    *ret_count = part->root_ports->len;
    return part->root_ports->len > 0
               ? &g_array_index(part->root_ports, TopoRootPort, 0)
               : NULL;
}

const TopoWay *topo_part_ways(const TopoPart *part, unsigned *ret_count)
{
    *ret_count = part->ways->len;
    return part->ways->len > 0 ? &g_array_index(part->ways, TopoWay, 0) : NULL;
}

int topo_part_find_root_port(const TopoPart *part, const char *name)
{
    unsigned i;

    for (i = 0; i < part->root_ports->len; i++) {
        if (strcmp(g_array_index(part->root_ports, TopoRootPort, i).name,
                   name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void check_missing(Maker *maker)
{
    const TopoPart *part = maker->part;
    const TopoSection *section = part->values->section;
    g_autoptr(GString) missing = g_string_new(NULL);
    g_autofree char *where = NULL;
    const char *help = NULL;
    unsigned i;

    for (i = 0; i < section->n_keys; i++) {
        const TopoKey *key = &section->keys[i];

        if ((key->flags & TOPO_KEY_REQUIRED) != 0 &&
            !part->values->values[i].given) {
            g_string_append_printf(missing, "%s%s", help ? ", " : "", key->key);
            help = help ? help : key->help;
        }
    }
    if (!help) {
        return;
    }
    where = topo_place_to_string(part->place);
    topo_errors_add(maker->errors, maker->place,
                    "%s: part '%s' (%s) lacks %s; give the chip's numbers "
                    "there or in `parts:` (%s)",
                    maker->user, part->name, where, missing->str, help);
    maker->good = false;
}

static void read_bars(Maker *maker)
{
    g_autoptr(GPtrArray) items = topo_values_items(maker->part->values, "bars");
    unsigned number = 0;
    unsigned i;

    for (i = 0; i < items->len; i++) {
        const TopoNode *item = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_bar, item, maker->errors);
        TopoBar bar = {
            .place = item->place,
            .number = number,
            .size_bytes = (uint64_t)topo_values_number(values, "size"),
            .address_bits = (unsigned)topo_values_number(values, "width"),
            .prefetchable = topo_values_number(values, "prefetchable") != 0,
        };

        if (bar.address_bits == 32 && bar.size_bytes > UINT64_C(1) << 31) {
            topo_errors_add(maker->errors,
                            topo_values_get(values, "size")->place,
                            "a 32-bit BAR holds at most 2GiB; write width: 64");
        }
        number += bar.address_bits == 64 ? 2 : 1;
        if (number > BAR_REGISTERS) {
            topo_errors_add(maker->errors, item->place,
                            "part '%s' has too many BARs; all of them must fit "
                            "into %d registers, and a 64-bit BAR takes two",
                            maker->part->name, BAR_REGISTERS);
            return;
        }
        g_array_append_val(maker->part->bars, bar);
    }
}

static void read_root_ports(Maker *maker)
{
    g_autoptr(GPtrArray) items =
        topo_values_items(maker->part->values, "root_ports");
    unsigned i;

    if (items->len == 0 &&
        topo_values_given(maker->part->values, "root_ports")) {
        topo_errors_add(maker->errors,
                        topo_part_place(maker->part, "root_ports"),
                        "a CPU needs a root port; write for example "
                        "[{name: rp0, speed: 8.0GT/s, width: x16}]");
    }
    if (items->len > ROOT_PORTS_MAX) {
        topo_errors_add(maker->errors,
                        topo_part_place(maker->part, "root_ports"),
                        "a CPU has at most %d root ports, not %u; use "
                        "switches to have more ports",
                        ROOT_PORTS_MAX, items->len);
        return;
    }
    for (i = 0; i < items->len; i++) {
        const TopoNode *item = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_root_port, item, maker->errors);
        TopoRootPort port = {
            .place = item->place,
            .name = topo_values_text(values, "name"),
            .speed_mtps = (unsigned)topo_values_number(values, "speed"),
            .width = (unsigned)topo_values_number(values, "width"),
            .node = (unsigned)topo_values_number(values, "node"),
        };

        if (!port.name) {
            continue;
        }
        if (topo_part_find_root_port(maker->part, port.name) >= 0) {
            topo_errors_add(maker->errors, item->place,
                            "duplicate root port '%s'; choose another name",
                            port.name);
            continue;
        }
        g_array_append_val(maker->part->root_ports, port);
    }
}

/* The value of @key of a way; without one, that of `nodes`. */
static int64_t way_number(const Maker *maker, const TopoValues *values,
                          const char *key)
{
    g_autofree char *usual = g_strconcat("nodes.", key, NULL);

    return topo_values_given(values, key)
               ? topo_values_number(values, key)
               : topo_values_number(maker->part->values, usual);
}

static void read_ways(Maker *maker)
{
    g_autoptr(GPtrArray) items = topo_values_items(maker->part->values, "ways");

    for (unsigned i = 0; i < items->len; i++) {
        const TopoNode *item = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_way, item, maker->errors);
        TopoWay way = {
            .from = (unsigned)topo_values_number(values, "from"),
            .to = (unsigned)topo_values_number(values, "to"),
            .latency_ps = way_number(maker, values, "latency"),
            .bandwidth_bytes_s = topo_values_given(values, "bandwidth")
                                     ? topo_values_number(values, "bandwidth")
                                     : 0,
            .write_bytes = way_number(maker, values, "writes"),
            .acknowledge_ps = way_number(maker, values, "acknowledge"),
        };

        if (way.from == way.to) {
            topo_errors_add(maker->errors, item->place,
                            "a way leads from one node to another; node %u has "
                            "none to itself",
                            way.from);
            continue;
        }
        g_array_append_val(maker->part->ways, way);
    }
}

/* Reports if the value of @key exceeds that of @limit. */
static void check_at_most(Maker *maker, const char *key, const char *limit)
{
    const TopoValue *value = topo_values_get(maker->part->values, key);
    const TopoValue *most = topo_values_get(maker->part->values, limit);

    if (value->valid && most->valid && value->number > most->number) {
        topo_errors_add(maker->errors, value->place,
                        "%s: %s is more than %s; write at most %s", key,
                        value->text, limit, most->text);
    }
}

/* Tags of 14 bits (PCIe 6.0 s2.2.6.2: values below 1024 are not used). Only
 * TLPs of FLIT mode have room for them. */
#define TAGS_OF_14_BITS 15360

static void check_tags(Maker *maker)
{
    const TopoValue *tags = topo_values_get(maker->part->values, "tags");
    const TopoValue *speed = topo_values_get(maker->part->values, "speed");

    if (tags->valid && speed->valid && tags->number == TAGS_OF_14_BITS &&
        speed->number < 64000) {
        topo_errors_add(maker->errors, tags->place,
                        "tags: only FLIT mode has tags of 14 bits, and %s has "
                        "none; write at most 768, or speed: 64.0GT/s",
                        speed->text);
    }
}

/* Reports a cache whose ways do not divide its entries. */
static void check_ways(Maker *maker, const char *key, const char *of)
{
    const TopoValue *ways = topo_values_get(maker->part->values, key);
    const TopoValue *entries = topo_values_get(maker->part->values, of);

    if (ways->valid && entries->valid && ways->number > 0 &&
        entries->number % ways->number != 0) {
        topo_errors_add(maker->errors, ways->place,
                        "%s: %s does not divide %s, %s; write a divisor", key,
                        ways->text, of, entries->text);
    }
}

/* Reports a part that has only some of @keys, which belong together. */
static void check_group(Maker *maker, const char *group,
                        const char *const *keys)
{
    const TopoValues *values = maker->part->values;
    const char *given = NULL, *missing = NULL;
    unsigned i;

    for (i = 0; keys[i]; i++) {
        if (topo_values_given(values, keys[i])) {
            given = keys[i];
        } else {
            missing = keys[i];
        }
    }
    if (given && missing) {
        topo_errors_add(maker->errors, topo_values_get(values, given)->place,
                        "%s: part '%s' has %s but not %s; give both, or leave "
                        "`%s:` out",
                        maker->user, maker->part->name, given, missing, group);
    }
}

/* The same for the keys of a stage that takes a time for each beat, such as
 * "service". */
static void check_beats(Maker *maker, const char *section)
{
    static const char *const names[] = {"beat", "clock", "gap"};
    char *keys[G_N_ELEMENTS(names) + 1] = {NULL};
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        keys[i] = g_strdup_printf("%s.%s", section, names[i]);
    }
    check_group(maker, section, (const char *const *)keys);
    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        g_free(keys[i]);
    }
}

/* Reports a part that has only some of the keys of `memory.cache:`, or a size
 * that its sets do not fill. */
static void check_cache(Maker *maker)
{
    static const char *const keys[] = {
        "memory.cache.size", "memory.cache.latency", "memory.cache.ways",
        "memory.cache.io_ways", NULL};
    const TopoValues *values = maker->part->values;
    int64_t ways = topo_values_number(values, "memory.cache.ways");
    int64_t size = topo_values_number(values, "memory.cache.size");

    check_group(maker, "memory.cache", keys);
    if (ways > 0 && size % (64 * ways) != 0) {
        topo_errors_add(maker->errors,
                        topo_values_get(values, "memory.cache.size")->place,
                        "memory.cache.size: %s is not a multiple of 64 B times "
                        "%s ways; write one",
                        topo_values_text(values, "memory.cache.size"),
                        topo_values_text(values, "memory.cache.ways"));
    }
    check_at_most(maker, "memory.cache.latency", "memory.latency");
    check_at_most(maker, "memory.cache.io_ways", "memory.cache.ways");
}

/* Reports a part that has only some of the keys of `move:`, or a buffer that is
 * too small. */
static void check_mover(Maker *maker)
{
    static const char *const keys[] = {"move.setup", "move.chunk",
                                       "move.buffer", NULL};

    static const char *const copy[] = {"move.copy_below", "move.copy", NULL};

    check_group(maker, "move", keys);
    check_group(maker, "move", copy);
    check_at_most(maker, "move.chunk", "move.buffer");
}

/* The registers of a NIC in its first BAR: 4 KiB for all, and 16 B a queue, as
 * the model has them. */
#define TOPO_NIC_REGS     4096
#define TOPO_NIC_REG_STEP 16

static void check_drive(Maker *maker)
{
    static const char *const keys[] = {
        "nvme.overhead",        "nvme.read_latency",
        "nvme.write_latency",   "nvme.read_bandwidth",
        "nvme.write_bandwidth", "nvme.commands",
        "nvme.max_transfer",    NULL,
    };

    check_group(maker, "nvme", keys);
}

static void check_nic(Maker *maker)
{
    static const char *const keys[] = {
        "nic.rate",       "nic.queues",      "nic.descriptor",
        "nic.completion", "nic.rx_prefetch", "nic.tx_prefetch",
        "nic.cache",      "nic.tx_batch",    "nic.rx_buffer",
        "nic.tx_buffer",  "nic.latency",     NULL,
    };
    static const char *const prefetches[] = {"nic.rx_prefetch",
                                             "nic.tx_prefetch"};
    const TopoValues *values = maker->part->values;
    int64_t bar;
    unsigned i;

    check_group(maker, "nic", keys);
    if (!topo_values_given(values, "nic.rate")) {
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(prefetches); i++) {
        check_at_most(maker, prefetches[i], "nic.cache");
    }
    check_at_most(maker, "nic.completion", "dma.write_size");
    check_at_most(maker, "nic.tx_completion", "dma.write_size");
    bar = TOPO_NIC_REGS +
          topo_values_number(values, "nic.queues") * TOPO_NIC_REG_STEP;
    if (topo_values_given(values, "nic.queues") &&
        (maker->part->bars->len == 0 ||
         (int64_t)g_array_index(maker->part->bars, TopoBar, 0).size_bytes <
             bar)) {
        topo_errors_add(maker->errors,
                        topo_values_get(values, "nic.queues")->place,
                        "nic.queues: the registers of %s queues need the first "
                        "BAR to have %" G_GINT64_FORMAT
                        " bytes; write fewer, or a larger BAR",
                        topo_values_text(values, "nic.queues"), bar);
    }
}

static void check_cpu(Maker *maker)
{
    static const char *const tcp_keys[] = {"tcp.packet", "tcp.ack",  "tcp.send",
                                           "tcp.call",   "tcp.copy", NULL};
    const TopoValues *values = maker->part->values;
    int64_t low = topo_values_number(values, "mmio.low_base") +
                  topo_values_number(values, "mmio.low_size");
    const TopoValue *high = topo_values_get(values, "mmio.high_base");

    read_root_ports(maker);
    read_ways(maker);
    check_cache(maker);
    check_at_most(maker, "completion_size", "mps");
    check_group(maker, "tcp", tcp_keys);
    if (low > INT64_C(1) << 32) {
        topo_errors_add(maker->errors,
                        topo_values_get(values, "mmio.low_size")->place,
                        "mmio.low_base and mmio.low_size reach beyond 4 GiB; "
                        "make one of them smaller");
    }
    /* RAM that does not fit below mmio.low_base continues above 4 GiB. */
    if (high->valid && topo_values_number(values, "memory.size") >
                           high->number - (INT64_C(1) << 32)) {
        topo_errors_add(maker->errors,
                        topo_values_get(values, "memory.size")->place,
                        "memory.size reaches into mmio.high_base; write less, "
                        "or a higher base");
    }
    check_ways(maker, "iommu.iotlb_ways", "iommu.iotlb_entries");
    check_ways(maker, "iommu.l2_ways", "iommu.l2_entries");
    if (topo_values_number(values, "iommu.l2_entries") > 0) {
        check_at_most(maker, "iommu.hit", "iommu.l2_hit");
    }
}

static void check_ntb(Maker *maker)
{
    const TopoValues *values = maker->part->values;
    int64_t entries = topo_values_number(values, "window.entries");

    read_bars(maker);
    check_beats(maker, "service");
    check_at_most(maker, "window.reserved", "window.entries");
    if (entries > 0 && topo_values_given(values, "window.size") &&
        topo_values_number(values, "window.size") / entries < 4096) {
        topo_errors_add(maker->errors,
                        topo_values_get(values, "window.entries")->place,
                        "an entry of the window is smaller than 4KiB; write "
                        "fewer entries or a larger window.size");
    }
}

void topo_part_describe(TopoPart *part, const char *description,
                        const GPtrArray *fitted)
{
    part->description = description;
    part->fitted = fitted;
}

TopoPart *topo_part_new(const char *name, TopoPartKind kind, TopoPlace where,
                        const TopoValues *values, const char *user,
                        TopoPlace place, TopoErrors *errors)
{
    g_autoptr(TopoPart) part = g_new0(TopoPart, 1);
    Maker maker = {part, user, place, errors, true};
    unsigned before = topo_errors_count(errors);

    part->name = g_strdup(name);
    part->kind = kind;
    part->place = where;
    part->values = topo_values_copy(values);
    part->bars = g_array_new(FALSE, TRUE, sizeof(TopoBar));
    part->root_ports = g_array_new(FALSE, TRUE, sizeof(TopoRootPort));
    part->ways = g_array_new(FALSE, TRUE, sizeof(TopoWay));
    check_missing(&maker);
    switch (kind) {
    case TOPO_PART_CPU:
        check_cpu(&maker);
        break;
    case TOPO_PART_SWITCH:
        check_beats(&maker, "service");
        break;
    case TOPO_PART_NTB:
        check_ntb(&maker);
        break;
    case TOPO_PART_GPU:
    case TOPO_PART_ENDPOINT:
        read_bars(&maker);
        check_beats(&maker, "service");
        check_beats(&maker, "dma.read_move");
        check_beats(&maker, "dma.write_move");
        check_beats(&maker, "dma.move_bus");
        check_at_most(&maker, "dma.write_size", "mps");
        check_at_most(&maker, "dma.read_size", "mrrs");
        check_tags(&maker);
        check_ways(&maker, "ats.ways", "ats.entries");
        if (kind == TOPO_PART_GPU) {
            check_at_most(&maker, "threads.sector", "threads.line");
        }
        if (kind == TOPO_PART_ENDPOINT) {
            check_drive(&maker);
            check_mover(&maker);
            check_nic(&maker);
        }
        break;
    case TOPO_PART_N_KINDS:
        g_assert_not_reached();
    }
    if (!maker.good || topo_errors_count(errors) > before) {
        return NULL;
    }
    return g_steal_pointer(&part);
}

void topo_part_free(TopoPart *part)
{
    if (!part) {
        return;
    }
    g_free(part->name);
    topo_values_free(part->values);
    g_array_unref(part->bars);
    g_array_unref(part->root_ports);
    g_array_unref(part->ways);
    g_free(part);
}

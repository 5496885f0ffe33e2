/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "farside_ntb.h"
#include "farside_switchtec.h"
#include "farside_switchtec_ctrl.h"
#include "farside_switchtec_regs.h"
#include "wire/farside_trace.h"

typedef struct FarsideSwitchtec {
    FarsideNtb parent_obj;

    SwitchtecOptions options;
} FarsideSwitchtec;

DECLARE_INSTANCE_CHECKER(FarsideSwitchtec, FARSIDE_SWITCHTEC,
                         TYPE_FARSIDE_SWITCHTEC)

typedef struct {
    FarsideChip chip;
    const SwitchtecOptions *options;
    SwitchtecCtrl *ctrl;
    SwitchtecRegs *regs;
} Switchtec;

static Switchtec *of(FarsideChip *chip)
{
    return container_of(chip, Switchtec, chip);
}

/* Shape */

static bool switchtec_check(PCIDevice *pci, Error **errp)
{
    const SwitchtecOptions *options = &FARSIDE_SWITCHTEC(pci)->options;

    if (options->generation < 3 || options->generation > 5) {
        error_setg(errp, "property 'generation' must be 3, 4 or 5");
        return false;
    }
    if (options->vectors < 4 || options->vectors > SWITCHTEC_MSIX_MAX) {
        error_setg(errp, "property 'vectors' must be 4 to %d",
                   SWITCHTEC_MSIX_MAX);
        return false;
    }
    if (options->lut_entries < 1 || options->lut_entries > SWITCHTEC_MAX_LUT) {
        error_setg(errp, "property 'lut-entries' must be 1 to %d",
                   SWITCHTEC_MAX_LUT);
        return false;
    }
    return true;
}

static void switchtec_describe(PCIDevice *pci, FarsideShape *ret_shape)
{
    static const uint16_t device_ids[] = {
        SWITCHTEC_DEVICE_ID_GEN3,
        SWITCHTEC_DEVICE_ID_GEN4,
        SWITCHTEC_DEVICE_ID_GEN5,
    };
    const SwitchtecOptions *options = &FARSIDE_SWITCHTEC(pci)->options;
    unsigned block = SWITCHTEC_NTB_DBMSG + FARSIDE_NTB(pci)->config.partition *
                                               SWITCHTEC_NTB_DBMSG_STRIDE;

    *ret_shape = (FarsideShape) {
        .vendor_id = SWITCHTEC_VENDOR_ID,
        .device_id = device_ids[options->generation - 3],
        .registers_size = SWITCHTEC_GAS_SIZE,
        .msix_table = block + SWITCHTEC_DBMSG_MSIX,
        .msix_pba = block + SWITCHTEC_DBMSG_PBA,
        .vectors = options->vectors,
    };
}

/* Registers */

static void switchtec_reset(FarsideChip *chip)
{
    switchtec_regs_reset(of(chip)->regs);
    switchtec_ctrl_reset(of(chip)->ctrl);
}

static uint64_t switchtec_read(FarsideChip *chip, unsigned offset,
                               unsigned size)
{
    return switchtec_regs_read(of(chip)->regs, offset, size);
}

static void switchtec_write(FarsideChip *chip, unsigned offset, uint64_t value,
                            unsigned size)
{
    switchtec_regs_write(of(chip)->regs, offset, value, size);
}

/* The peer */

static void switchtec_introduce(FarsideChip *chip,
                                struct farside_wire_hello *hello)
{
    hello->generation = of(chip)->options->generation;
    hello->lut_entries = of(chip)->options->lut_entries;
    hello->req_ids = FARSIDE_SWITCHTEC_REQ_IDS;
}

static const char *switchtec_check_peer(FarsideChip *chip, unsigned peer,
                                        const struct farside_wire_hello *hello)
{
    if (hello->generation != of(chip)->options->generation) {
        return "property 'generation' is not the same at both ends";
    }
    if (hello->lut_entries != of(chip)->options->lut_entries) {
        return "property 'lut-entries' is not the same at both ends";
    }
    if (hello->req_ids != FARSIDE_SWITCHTEC_REQ_IDS) {
        return "the peer's requester ID table has another size";
    }
    return NULL;
}

static void switchtec_peer_reset(FarsideChip *chip, unsigned peer)
{
    switchtec_ctrl_peer_reset(of(chip)->ctrl);
}

static void switchtec_link_event(FarsideChip *chip, unsigned peer)
{
    switchtec_regs_link_event(of(chip)->regs);
}

static void switchtec_ring(FarsideChip *chip, unsigned peer, uint64_t bits)
{
    switchtec_regs_ring(of(chip)->regs, bits);
}

static void switchtec_message(FarsideChip *chip, unsigned peer, unsigned index,
                              uint32_t value)
{
    switchtec_regs_message(of(chip)->regs, index, value);
}

/* Messages about control blocks */

static bool on_lock(void *opaque, const FarsideLinkMessage *m)
{
    switchtec_ctrl_on_lock(of(opaque)->ctrl, m->body);
    return true;
}

static bool on_locked(void *opaque, const FarsideLinkMessage *m)
{
    switchtec_ctrl_on_locked(of(opaque)->ctrl, m->body);
    return true;
}

static bool on_config(void *opaque, const FarsideLinkMessage *m)
{
    switchtec_ctrl_on_config(of(opaque)->ctrl, m->body);
    return true;
}

static bool on_configured(void *opaque, const FarsideLinkMessage *m)
{
    switchtec_ctrl_on_configured(of(opaque)->ctrl, m->body);
    return true;
}

static bool on_release(void *opaque, const FarsideLinkMessage *m)
{
    switchtec_ctrl_on_release(of(opaque)->ctrl, m->body);
    return true;
}

#define ROW(type, body, function)                                              \
    [FARSIDE_WIRE_##type - FARSIDE_WIRE_LOCK] = {                              \
        .size_min = sizeof(struct body),                                       \
        .size_max = sizeof(struct body),                                       \
        .receive = function,                                                   \
    }

static const FarsideLinkType types[] = {
    ROW(LOCK, farside_wire_lock, on_lock),
    ROW(LOCKED, farside_wire_ctrl, on_locked),
    ROW(CONFIG, farside_wire_ctrl, on_config),
    ROW(CONFIGURED, farside_wire_configured, on_configured),
    ROW(RELEASE, farside_wire_lock, on_release),
};

static uint8_t *put_block(const SwitchtecOptions *options,
                          const struct farside_wire_ctrl *m, uint8_t *at)
{
    unsigned i;

    at = farside_trace_put32(at, m->lock_id);
    at = farside_trace_put16(at, options->lut_entries);
    at = farside_trace_put16(at, FARSIDE_SWITCHTEC_REQ_IDS);
    for (i = 0; i < FARSIDE_TRACE_BLOCK_BARS; i++) {
        at = farside_trace_put32(at, m->bar[i].ctl);
        at = farside_trace_put32(at, m->bar[i].win_size);
        at = farside_trace_put64(at, m->bar[i].xlate);
        at = farside_trace_put32(at, m->bar[i].ext_win_size);
        at = farside_trace_put32(at, 0);
    }
    for (i = 0; i < options->lut_entries; i++) {
        at = farside_trace_put64(at, m->lut[i]);
    }
    for (i = 0; i < FARSIDE_SWITCHTEC_REQ_IDS; i++) {
        at = farside_trace_put32(at, m->req_id[i]);
    }
    return at;
}

QEMU_BUILD_BUG_ON(FARSIDE_TRACE_BLOCK_HEAD +
                      FARSIDE_TRACE_BLOCK_BARS * FARSIDE_TRACE_BLOCK_BAR +
                      8 * SWITCHTEC_MAX_LUT + 4 * FARSIDE_SWITCHTEC_REQ_IDS >
                  FARSIDE_RECORD_MAX);

static uint8_t *switchtec_record(PCIDevice *pci, unsigned type,
                                 const void *body, uint8_t *at)
{
    const struct farside_wire_configured *result = body;
    const struct farside_wire_lock *lock = body;

    switch (type) {
    case FARSIDE_WIRE_LOCKED:
    case FARSIDE_WIRE_CONFIG:
        return put_block(&FARSIDE_SWITCHTEC(pci)->options, body, at);
    case FARSIDE_WIRE_CONFIGURED:
        at = farside_trace_put32(at, result->lock_id);
        at = farside_trace_put32(at, result->bar_error);
        at = farside_trace_put32(at, result->lut_error);
        return farside_trace_put32(at, result->req_id_error);
    default:
        return farside_trace_put32(at, lock->id);
    }
}

/* Life */

static FarsideChip *switchtec_new(const FarsideConfig *config, PCIDevice *pci,
                                  const FarsideParts *parts)
{
    Switchtec *s = g_new0(Switchtec, 1);

    s->chip.class = farside_ntb_chip(pci);
    s->options = &FARSIDE_SWITCHTEC(pci)->options;
    s->ctrl = switchtec_ctrl_new(config, s->options, pci, parts);
    s->regs = switchtec_regs_new(config, s->options, pci, parts, s->ctrl);
    return &s->chip;
}

static void switchtec_free(FarsideChip *chip)
{
    switchtec_regs_free(of(chip)->regs);
    switchtec_ctrl_free(of(chip)->ctrl);
    g_free(of(chip));
}

static const Property switchtec_properties[] = {
    DEFINE_PROP_BOOL("check-requester", FarsideSwitchtec,
                     parent_obj.config.check_requester, false),
    DEFINE_PROP_UINT8("generation", FarsideSwitchtec, options.generation, 3),
    DEFINE_PROP_UINT8("vectors", FarsideSwitchtec, options.vectors, 32),
    DEFINE_PROP_UINT16("lut-entries", FarsideSwitchtec, options.lut_entries,
                       64),
};

static void switchtec_add_properties(ObjectClass *klass)
{
    device_class_set_props(DEVICE_CLASS(klass), switchtec_properties);
}

static const FarsideChipClass switchtec_class = {
    .type = TYPE_FARSIDE_SWITCHTEC,
    .description = "PCIe non-transparent bridge (Switchtec)",
    .instance_size = sizeof(FarsideSwitchtec),
    .add_properties = switchtec_add_properties,
    .number = FARSIDE_WIRE_CHIP_SWITCHTEC,
    .messages = SWITCHTEC_MSGS,
    .hosts_max = FARSIDE_NTB_PARTITIONS,
    .check = switchtec_check,
    .describe = switchtec_describe,
    .new = switchtec_new,
    .free = switchtec_free,
    .reset = switchtec_reset,
    .read = switchtec_read,
    .write = switchtec_write,
    .introduce = switchtec_introduce,
    .check_peer = switchtec_check_peer,
    .peer_reset = switchtec_peer_reset,
    .link_event = switchtec_link_event,
    .ring = switchtec_ring,
    .message = switchtec_message,
    .types = types,
    .type_first = FARSIDE_WIRE_LOCK,
    .type_count = ARRAY_SIZE(types),
    .record = switchtec_record,
};

void farside_switchtec_register_types(void)
{
    farside_ntb_register(&switchtec_class);
}

type_init(farside_switchtec_register_types)

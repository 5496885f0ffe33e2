/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "farside_switchtec_regs.h"

/* The vector of all events; the driver finds it in the registers. */
#define EVENT_VECTOR 0

/* Port functions of a partition: its upstream port and its virtual endpoint */
#define PFF_USP(part) (2 * (part))
#define PFF_VEP(part) (2 * (part) + 1)
#define PFFS          (2 * FARSIDE_NTB_PARTITIONS)

struct SwitchtecRegs {
    const FarsideConfig *config;
    const SwitchtecOptions *options;
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideRequester *requester;
    SwitchtecCtrl *ctrl;
    FarsideInterrupts *interrupts;

    /* Management calls */
    uint8_t mrpc_input[SWITCHTEC_MRPC_PAYLOAD];
    uint8_t mrpc_output[SWITCHTEC_MRPC_PAYLOAD];
    uint32_t mrpc_cmd;
    uint32_t mrpc_status;
    uint32_t mrpc_ret;

    /* Event headers */
    uint32_t mrpc_event;
    uint32_t link_event[PFFS];

    /* Doorbells (outbound, inbound) and messages */
    uint64_t odb_mask;
    uint64_t idb;
    uint64_t idb_mask;
    uint8_t vec_map[SWITCHTEC_DOORBELLS];
    uint32_t msg_map;
    bool msg_map_valid; /* the driver has written msg_map */
    uint32_t omsg[SWITCHTEC_MSGS];
    uint32_t imsg[SWITCHTEC_MSGS];
    uint32_t imsg_state[SWITCHTEC_MSGS];
};

static uint32_t merge(uint32_t old, uint32_t value, uint32_t mask)
{
    return (old & ~mask) | (value & mask);
}

static uint32_t low_half(uint64_t value)
{
    return value;
}

static uint32_t high_half(uint64_t value)
{
    return value >> 32;
}

static uint32_t half(uint64_t value, unsigned offset)
{
    return offset & 4 ? high_half(value) : low_half(value);
}

/* The 64-bit value of a write to one half of a register */
static uint64_t whole(uint32_t value, unsigned offset)
{
    return offset & 4 ? (uint64_t)value << 32 : value;
}

void switchtec_regs_reset(SwitchtecRegs *s)
{
    memset(s->mrpc_input, 0, sizeof(s->mrpc_input));
    memset(s->mrpc_output, 0, sizeof(s->mrpc_output));
    s->mrpc_cmd = 0;
    s->mrpc_status = 0;
    s->mrpc_ret = 0;
    s->mrpc_event = 0;
    memset(s->link_event, 0, sizeof(s->link_event));
    s->odb_mask = 0;
    s->idb = 0;
    s->idb_mask = 0;
    memset(s->vec_map, 0, sizeof(s->vec_map));
    s->msg_map = 0;
    s->msg_map_valid = false;
    memset(s->omsg, 0, sizeof(s->omsg));
    memset(s->imsg, 0, sizeof(s->imsg));
    memset(s->imsg_state, 0, sizeof(s->imsg_state));
}

/* Interrupts and events */

static void interrupt(SwitchtecRegs *s, unsigned vector)
{
    farside_interrupts_raise(s->interrupts, vector);
}

static void event_raise(SwitchtecRegs *s, uint32_t *header)
{
    uint32_t count = (*header + (1u << SWITCHTEC_EVENT_COUNT_SHIFT)) &
                     SWITCHTEC_EVENT_COUNT_MASK;

    *header = (*header & ~SWITCHTEC_EVENT_COUNT_MASK) | count |
              SWITCHTEC_EVENT_OCCURRED;
    /* Even if OCCURRED was set: the driver never clears that of the link. */
    if (*header & SWITCHTEC_EVENT_EN_IRQ) {
        interrupt(s, EVENT_VECTOR);
    }
}

static void event_write(uint32_t *header, uint32_t value, uint32_t mask)
{
    *header &= ~(value & mask & SWITCHTEC_EVENT_OCCURRED);
    *header = merge(*header, value, mask & SWITCHTEC_EVENT_ENABLES);
}

void switchtec_regs_link_event(SwitchtecRegs *s)
{
    event_raise(s, &s->link_event[PFF_USP(farside_config_peer(s->config))]);
}

/* Management calls */

static void mrpc_run(SwitchtecRegs *s)
{
    uint32_t offset, length, value, i;

    memset(s->mrpc_output, 0, sizeof(s->mrpc_output));
    s->mrpc_status = SWITCHTEC_MRPC_STATUS_DONE;
    s->mrpc_ret = 0;
    switch (SWITCHTEC_MRPC_CMD_ID_MASK & s->mrpc_cmd) {
    case SWITCHTEC_MRPC_ECHO:
        stl_le_p(s->mrpc_output, ~ldl_le_p(s->mrpc_input));
        break;
    case SWITCHTEC_MRPC_GAS_READ:
        offset = ldl_le_p(s->mrpc_input);
        length = ldl_le_p(s->mrpc_input + 4);
        if (length > SWITCHTEC_MRPC_PAYLOAD || offset > SWITCHTEC_GAS_SIZE ||
            length > SWITCHTEC_GAS_SIZE - offset) {
            s->mrpc_status = SWITCHTEC_MRPC_STATUS_ERROR;
            s->mrpc_ret = SWITCHTEC_MRPC_RET_PARAM;
            break;
        }
        for (i = 0; i < length; i++) {
            value = switchtec_regs_read(s, offset + i, 1);
            s->mrpc_output[i] = value;
        }
        break;
    default:
        qemu_log_mask(LOG_UNIMP,
                      "%s: management call %" PRIu32 " is not supported\n",
                      TYPE_FARSIDE_SWITCHTEC, s->mrpc_cmd);
        s->mrpc_status = SWITCHTEC_MRPC_STATUS_ERROR;
        s->mrpc_ret = SWITCHTEC_MRPC_RET_CALL;
    }
    event_raise(s, &s->mrpc_event);
}

static uint32_t mrpc_read(SwitchtecRegs *s, unsigned offset)
{
    if (offset < SWITCHTEC_MRPC_OUTPUT) {
        return ldl_le_p(s->mrpc_input + offset);
    }
    if (offset < SWITCHTEC_MRPC_CMD) {
        return ldl_le_p(s->mrpc_output + offset - SWITCHTEC_MRPC_OUTPUT);
    }
    switch (offset) {
    case SWITCHTEC_MRPC_CMD:
        return s->mrpc_cmd;
    case SWITCHTEC_MRPC_STATUS:
        return s->mrpc_status;
    case SWITCHTEC_MRPC_RET:
        return s->mrpc_ret;
    default:
        /* DMA_VER is 0: the driver reads results here, not in its memory. */
        return 0;
    }
}

static void mrpc_write(SwitchtecRegs *s, unsigned offset, uint32_t value,
                       uint32_t mask)
{
    uint8_t *p;

    if (offset < SWITCHTEC_MRPC_OUTPUT) {
        p = s->mrpc_input + offset;
        stl_le_p(p, merge(ldl_le_p(p), value, mask));
    } else if (offset == SWITCHTEC_MRPC_CMD) {
        s->mrpc_cmd = merge(s->mrpc_cmd, value, mask);
        mrpc_run(s);
    }
}

/* Software events and system information */

static uint32_t sw_event_read(SwitchtecRegs *s, unsigned offset)
{
    unsigned entry;
    bool local;

    if (offset == SWITCHTEC_SW_EVENT_PART_BITMAP) {
        local = s->mrpc_event & SWITCHTEC_EVENT_OCCURRED;
        return local ? 1u << s->config->partition : 0;
    }
    if (offset < SWITCHTEC_SW_EVENT_HDR) {
        return 0;
    }
    entry = (offset - SWITCHTEC_SW_EVENT_HDR) / SWITCHTEC_SW_EVENT_STRIDE;
    if (entry < SWITCHTEC_SW_EVENT_COUNT &&
        (offset - SWITCHTEC_SW_EVENT_HDR) % SWITCHTEC_SW_EVENT_STRIDE == 0) {
        return SWITCHTEC_EVENT_NOT_SUPP;
    }
    return 0;
}

static uint16_t device_id(SwitchtecRegs *s)
{
    return pci_get_word(s->pci->config + PCI_DEVICE_ID);
}

static void put_text(uint8_t *p, const char *text, size_t size)
{
    memset(p, ' ', size);
    memcpy(p, text, MIN(size, strlen(text)));
}

static uint32_t sys_info_read(SwitchtecRegs *s, unsigned offset)
{
    uint8_t info[SWITCHTEC_SYS_INFO_SIZE] = {0};

    stl_le_p(info + SWITCHTEC_SYS_DEVICE_ID, device_id(s));
    stl_le_p(info + SWITCHTEC_SYS_DEVICE_VERSION, 1);
    stl_le_p(info + SWITCHTEC_SYS_FIRMWARE_VERSION, 0x01000000);
    if (s->options->generation == 3) {
        stl_le_p(info + SWITCHTEC_SYS_GEN3_PARTITION_ID, s->config->partition);
        put_text(info + SWITCHTEC_SYS_GEN3_VENDOR, "FARSIDE", 8);
        put_text(info + SWITCHTEC_SYS_GEN3_PRODUCT, "EMULATED NTB", 16);
        put_text(info + SWITCHTEC_SYS_GEN3_REVISION, "1", 4);
        put_text(info + SWITCHTEC_SYS_GEN3_COMPONENT_VENDOR, "FARSIDE", 8);
        stw_le_p(info + SWITCHTEC_SYS_GEN3_COMPONENT_ID, device_id(s));
        info[SWITCHTEC_SYS_GEN3_COMPONENT_REVISION] = 1;
    } else {
        stl_le_p(info + SWITCHTEC_SYS_GEN4_PARTITION_ID, s->config->partition);
        put_text(info + SWITCHTEC_SYS_GEN4_VENDOR, "FARSIDE", 8);
        put_text(info + SWITCHTEC_SYS_GEN4_PRODUCT, "EMULATED NTB", 24);
        put_text(info + SWITCHTEC_SYS_GEN4_REVISION, "1", 2);
    }
    return ldl_le_p(info + offset);
}

/* Partition configuration */

static uint32_t part_cfg_read(SwitchtecRegs *s, unsigned part, unsigned offset)
{
    unsigned entry;

    if (part >= FARSIDE_NTB_PARTITIONS) {
        return 0;
    }
    if (offset >= SWITCHTEC_PART_DSP_PFF &&
        offset < SWITCHTEC_PART_DSP_PFF + 4 * SWITCHTEC_PART_DSP_PFF_COUNT) {
        return SWITCHTEC_PFF_NONE;
    }
    if (offset >= SWITCHTEC_PART_EVENT_HDR) {
        entry =
            (offset - SWITCHTEC_PART_EVENT_HDR) / SWITCHTEC_PART_EVENT_STRIDE;
        if (entry >= SWITCHTEC_PART_EVENT_COUNT ||
            (offset - SWITCHTEC_PART_EVENT_HDR) % SWITCHTEC_PART_EVENT_STRIDE) {
            return 0;
        }
        if (entry == SWITCHTEC_PART_EVENT_MRPC_COMP &&
            part == s->config->partition) {
            return s->mrpc_event;
        }
        return SWITCHTEC_EVENT_NOT_SUPP;
    }
    switch (offset) {
    case SWITCHTEC_PART_USP_PFF:
        return PFF_USP(part);
    case SWITCHTEC_PART_VEP_PFF:
        return PFF_VEP(part);
    case SWITCHTEC_PART_PORT_CNT:
        return 1;
    case SWITCHTEC_PART_VECTORS:
        return EVENT_VECTOR;
    case SWITCHTEC_PART_EVENT_SUMMARY:
        return part == s->config->partition &&
                       (s->mrpc_event & SWITCHTEC_EVENT_OCCURRED)
                   ? 1u << SWITCHTEC_PART_EVENT_MRPC_COMP
                   : 0;
    default:
        return 0;
    }
}

static void part_cfg_write(SwitchtecRegs *s, unsigned part, unsigned offset,
                           uint32_t value, uint32_t mask)
{
    if (part == s->config->partition &&
        offset == SWITCHTEC_PART_EVENT_HDR + SWITCHTEC_PART_EVENT_MRPC_COMP *
                                                 SWITCHTEC_PART_EVENT_STRIDE) {
        event_write(&s->mrpc_event, value, mask);
    }
}

/* NTB information */

static uint32_t ntb_info_read(SwitchtecRegs *s, unsigned offset)
{
    unsigned part, field;

    switch (offset) {
    case SWITCHTEC_NTB_PARTITION_COUNT:
        return FARSIDE_NTB_PARTITIONS | s->config->partition << 8;
    case SWITCHTEC_NTB_EP_MAP:
        return (1u << FARSIDE_NTB_PARTITIONS) - 1;
    case SWITCHTEC_NTB_REQUESTER_ID:
        return pci_requester_id(s->pci);
    }
    if (offset >= SWITCHTEC_NTB_PART_INFO) {
        part =
            (offset - SWITCHTEC_NTB_PART_INFO) / SWITCHTEC_NTB_PART_INFO_STRIDE;
        field =
            (offset - SWITCHTEC_NTB_PART_INFO) % SWITCHTEC_NTB_PART_INFO_STRIDE;
        /*
         * Only the own partition shows its target. The kernel's quirk reads the
         * low target of partition 0 as the high half of EP_MAP. On partition 0
         * it therefore visits the control block of partition 33, which reads as
         * zero.
         */
        if (part == s->config->partition &&
            field == SWITCHTEC_NTB_PART_TARGET_LOW) {
            return 1u << farside_config_peer(s->config);
        }
    }
    return 0;
}

/* Doorbells and messages */

void switchtec_regs_ring(SwitchtecRegs *s, uint64_t bits)
{
    uint64_t vectors = 0;
    unsigned i;

    s->idb |= bits;
    bits &= s->idb_mask;
    for (i = 0; i < SWITCHTEC_DOORBELLS; i++) {
        if (bits >> i & 1 && s->vec_map[i] < SWITCHTEC_MSIX_MAX) {
            vectors |= 1ull << s->vec_map[i];
        }
    }
    for (i = 0; i < SWITCHTEC_MSIX_MAX; i++) {
        if (vectors >> i & 1) {
            interrupt(s, i);
        }
    }
}

void switchtec_regs_message(SwitchtecRegs *s, unsigned index, uint32_t value)
{
    uint32_t source = farside_config_peer(s->config)
                      << SWITCHTEC_IMSG_SRC_SHIFT;
    unsigned i, wanted = index | farside_config_peer(s->config) << 2;

    /* Before the first write, the map would match message 0 of partition 0. */
    if (!s->msg_map_valid) {
        return;
    }
    for (i = 0; i < SWITCHTEC_MSGS; i++) {
        if ((s->msg_map >> (8 * i) & 0xff) != wanted) {
            continue;
        }
        s->imsg[i] = value;
        s->imsg_state[i] &= SWITCHTEC_IMSG_ENABLE;
        s->imsg_state[i] |= SWITCHTEC_IMSG_STATUS | source;
        if (s->imsg_state[i] & SWITCHTEC_IMSG_ENABLE) {
            interrupt(s, s->vec_map[SWITCHTEC_MSG_VEC + i]);
        }
    }
}

static uint32_t dbmsg_read(SwitchtecRegs *s, unsigned part, unsigned offset)
{
    unsigned i;

    if (part != s->config->partition) {
        return 0;
    }
    if (offset >= SWITCHTEC_DBMSG_VEC_MAP && offset < SWITCHTEC_DBMSG_MSG_MAP) {
        return ldl_le_p(s->vec_map + offset - SWITCHTEC_DBMSG_VEC_MAP);
    }
    if (offset >= SWITCHTEC_DBMSG_OMSG && offset < SWITCHTEC_DBMSG_IMSG) {
        i = (offset - SWITCHTEC_DBMSG_OMSG) / 8;
        return (offset - SWITCHTEC_DBMSG_OMSG) % 8 ? 0 : s->omsg[i];
    }
    if (offset >= SWITCHTEC_DBMSG_IMSG &&
        offset < SWITCHTEC_DBMSG_IMSG + 8 * SWITCHTEC_MSGS) {
        i = (offset - SWITCHTEC_DBMSG_IMSG) / 8;
        return offset & 4 ? s->imsg_state[i] : s->imsg[i];
    }
    switch (offset & ~4u) {
    case SWITCHTEC_DBMSG_ODB_MASK:
        return half(s->odb_mask, offset);
    case SWITCHTEC_DBMSG_IDB:
        return half(s->idb, offset);
    case SWITCHTEC_DBMSG_IDB_MASK:
        return half(s->idb_mask, offset);
    case SWITCHTEC_DBMSG_MSG_MAP:
        return offset & 4 ? 0 : s->msg_map;
    default:
        return 0;
    }
}

static void odb_write(SwitchtecRegs *s, uint64_t bits)
{
    struct farside_wire_doorbell m = {.bits = bits & s->odb_mask};

    if (m.bits) {
        farside_peer_send(s->peer, FARSIDE_WIRE_DOORBELL, &m, sizeof(m));
    }
}

static void idb_mask_write(SwitchtecRegs *s, uint64_t value, uint64_t mask)
{
    uint64_t enabled = value & mask & ~s->idb_mask;

    s->idb_mask = (s->idb_mask & ~mask) | (value & mask);
    /* A pending doorbell raises its interrupt when the mask enables it. */
    switchtec_regs_ring(s, s->idb & enabled);
}

static void omsg_write(SwitchtecRegs *s, unsigned index, uint32_t value,
                       uint32_t mask)
{
    struct farside_wire_message m = {.index = index};

    s->omsg[index] = merge(s->omsg[index], value, mask);
    m.value = s->omsg[index];
    if (!farside_requester_wait(s->requester, true)) {
        return;
    }
    farside_peer_send(s->peer, FARSIDE_WIRE_MESSAGE, &m, sizeof(m));
}

static void imsg_write(SwitchtecRegs *s, unsigned index, uint32_t value,
                       uint32_t mask)
{
    uint32_t *state = &s->imsg_state[index];
    bool enabled = *state & SWITCHTEC_IMSG_ENABLE;

    *state &= ~(value & mask & SWITCHTEC_IMSG_STATUS);
    *state = merge(*state, value, mask & SWITCHTEC_IMSG_ENABLE);
    if (!enabled && (*state & SWITCHTEC_IMSG_ENABLE) &&
        (*state & SWITCHTEC_IMSG_STATUS)) {
        interrupt(s, s->vec_map[SWITCHTEC_MSG_VEC + index]);
    }
}

static void dbmsg_write(SwitchtecRegs *s, unsigned part, unsigned offset,
                        uint32_t value, uint32_t mask)
{
    uint64_t bits = whole(value & mask, offset);
    uint8_t *p;

    if (part != s->config->partition) {
        return;
    }
    if (offset >= SWITCHTEC_DBMSG_VEC_MAP && offset < SWITCHTEC_DBMSG_MSG_MAP) {
        p = s->vec_map + offset - SWITCHTEC_DBMSG_VEC_MAP;
        stl_le_p(p, merge(ldl_le_p(p), value, mask));
        return;
    }
    if (offset >= SWITCHTEC_DBMSG_OMSG && offset < SWITCHTEC_DBMSG_IMSG) {
        if ((offset - SWITCHTEC_DBMSG_OMSG) % 8 == 0) {
            omsg_write(s, (offset - SWITCHTEC_DBMSG_OMSG) / 8, value, mask);
        }
        return;
    }
    if (offset >= SWITCHTEC_DBMSG_IMSG &&
        offset < SWITCHTEC_DBMSG_IMSG + 8 * SWITCHTEC_MSGS) {
        if (offset & 4) {
            imsg_write(s, (offset - SWITCHTEC_DBMSG_IMSG) / 8, value, mask);
        }
        return;
    }
    switch (offset & ~4u) {
    case SWITCHTEC_DBMSG_ODB:
        odb_write(s, bits);
        break;
    case SWITCHTEC_DBMSG_ODB_MASK:
        s->odb_mask = (s->odb_mask & ~whole(mask, offset)) | bits;
        break;
    case SWITCHTEC_DBMSG_IDB:
        s->idb &= ~bits;
        break;
    case SWITCHTEC_DBMSG_IDB_MASK:
        idb_mask_write(s, bits, whole(mask, offset));
        break;
    case SWITCHTEC_DBMSG_MSG_MAP:
        if (!(offset & 4)) {
            s->msg_map = merge(s->msg_map, value, mask);
            s->msg_map_valid = true;
        }
        break;
    }
}

/* Port functions */

static uint32_t pff_read(SwitchtecRegs *s, unsigned pff, unsigned offset)
{
    unsigned entry, part = pff / 2;
    /* Link Status: the speed of the generation, width x8 */
    uint32_t link = (uint32_t)(s->options->generation | 8 << 4) << 16;

    if (pff >= PFFS) {
        return 0;
    }
    if (offset >= SWITCHTEC_PFF_EVENT_HDR) {
        entry = (offset - SWITCHTEC_PFF_EVENT_HDR) / SWITCHTEC_PFF_EVENT_STRIDE;
        if (entry >= SWITCHTEC_PFF_EVENT_COUNT ||
            (offset - SWITCHTEC_PFF_EVENT_HDR) % SWITCHTEC_PFF_EVENT_STRIDE) {
            return 0;
        }
        return entry == SWITCHTEC_PFF_EVENT_LINK_STATE
                   ? s->link_event[pff]
                   : SWITCHTEC_EVENT_NOT_SUPP;
    }
    switch (offset) {
    case SWITCHTEC_PFF_ID:
        return SWITCHTEC_VENDOR_ID | (uint32_t)device_id(s) << 16;
    case SWITCHTEC_PFF_CLASS:
        return PCI_CLASS_BRIDGE_OTHER << 16;
    case SWITCHTEC_PFF_LINK:
        return part == s->config->partition || farside_peer_link_is_up(s->peer)
                   ? link
                   : 0;
    case SWITCHTEC_PFF_EVENT_SUMMARY:
        return s->link_event[pff] & SWITCHTEC_EVENT_OCCURRED
                   ? 1u << SWITCHTEC_PFF_EVENT_LINK_STATE
                   : 0;
    default:
        return 0;
    }
}

static void pff_write(SwitchtecRegs *s, unsigned pff, unsigned offset,
                      uint32_t value, uint32_t mask)
{
    if (pff < PFFS &&
        offset == SWITCHTEC_PFF_EVENT_HDR + SWITCHTEC_PFF_EVENT_LINK_STATE *
                                                SWITCHTEC_PFF_EVENT_STRIDE) {
        event_write(&s->link_event[pff], value, mask);
    }
}

/* All of BAR 0 */

static uint32_t word_read(SwitchtecRegs *s, unsigned offset)
{
    unsigned i;

    if (offset < SWITCHTEC_SW_EVENT) {
        return mrpc_read(s, offset);
    }
    if (offset < SWITCHTEC_SYS_INFO) {
        return sw_event_read(s, offset);
    }
    if (offset < SWITCHTEC_SYS_INFO + SWITCHTEC_SYS_INFO_SIZE) {
        return sys_info_read(s, offset - SWITCHTEC_SYS_INFO);
    }
    if (offset < SWITCHTEC_PART_CFG) {
        return 0;
    }
    if (offset < SWITCHTEC_NTB_PARTITION_COUNT) {
        i = offset - SWITCHTEC_PART_CFG;
        return part_cfg_read(s, i / SWITCHTEC_PART_CFG_STRIDE,
                             i % SWITCHTEC_PART_CFG_STRIDE);
    }
    if (offset < SWITCHTEC_NTB_CTRL) {
        return ntb_info_read(s, offset);
    }
    if (offset < SWITCHTEC_NTB_DBMSG) {
        i = offset - SWITCHTEC_NTB_CTRL;
        return switchtec_ctrl_read(s->ctrl, i / SWITCHTEC_NTB_CTRL_STRIDE,
                                   i % SWITCHTEC_NTB_CTRL_STRIDE);
    }
    if (offset < SWITCHTEC_PFF) {
        i = offset - SWITCHTEC_NTB_DBMSG;
        return dbmsg_read(s, i / SWITCHTEC_NTB_DBMSG_STRIDE,
                          i % SWITCHTEC_NTB_DBMSG_STRIDE);
    }
    i = offset - SWITCHTEC_PFF;
    return pff_read(s, i / SWITCHTEC_PFF_STRIDE, i % SWITCHTEC_PFF_STRIDE);
}

static void word_write(SwitchtecRegs *s, unsigned offset, uint32_t value,
                       uint32_t mask)
{
    unsigned i;

    if (offset < SWITCHTEC_SW_EVENT) {
        mrpc_write(s, offset, value, mask);
    } else if (offset < SWITCHTEC_PART_CFG) {
        return;
    } else if (offset < SWITCHTEC_NTB_PARTITION_COUNT) {
        i = offset - SWITCHTEC_PART_CFG;
        part_cfg_write(s, i / SWITCHTEC_PART_CFG_STRIDE,
                       i % SWITCHTEC_PART_CFG_STRIDE, value, mask);
    } else if (offset < SWITCHTEC_NTB_CTRL) {
        return;
    } else if (offset < SWITCHTEC_NTB_DBMSG) {
        i = offset - SWITCHTEC_NTB_CTRL;
        switchtec_ctrl_write(s->ctrl, i / SWITCHTEC_NTB_CTRL_STRIDE,
                             i % SWITCHTEC_NTB_CTRL_STRIDE, value, mask);
    } else if (offset < SWITCHTEC_PFF) {
        i = offset - SWITCHTEC_NTB_DBMSG;
        dbmsg_write(s, i / SWITCHTEC_NTB_DBMSG_STRIDE,
                    i % SWITCHTEC_NTB_DBMSG_STRIDE, value, mask);
    } else {
        i = offset - SWITCHTEC_PFF;
        pff_write(s, i / SWITCHTEC_PFF_STRIDE, i % SWITCHTEC_PFF_STRIDE, value,
                  mask);
    }
}

uint64_t switchtec_regs_read(SwitchtecRegs *s, unsigned address, unsigned size)
{
    uint64_t value = 0;
    unsigned i, offset, shift, length;

    for (i = 0; i < size; i += length) {
        offset = address + i;
        shift = offset % 4;
        length = MIN(4 - shift, size - i);
        if (offset >= SWITCHTEC_GAS_SIZE) {
            break;
        }
        value |= (word_read(s, offset & ~3u) >> (8 * shift) &
                  MAKE_64BIT_MASK(0, 8 * length))
                 << (8 * i);
    }
    return value;
}

void switchtec_regs_write(SwitchtecRegs *s, unsigned address, uint64_t value,
                          unsigned size)
{
    unsigned i, offset, shift, length;
    uint32_t mask;

    for (i = 0; i < size; i += length) {
        offset = address + i;
        shift = offset % 4;
        length = MIN(4 - shift, size - i);
        if (offset >= SWITCHTEC_GAS_SIZE) {
            break;
        }
        mask = MAKE_64BIT_MASK(8 * shift, 8 * length);
        word_write(s, offset & ~3u, (value >> (8 * i)) << (8 * shift), mask);
    }
}

SwitchtecRegs *switchtec_regs_new(const FarsideConfig *config,
                                  const SwitchtecOptions *options,
                                  PCIDevice *pci, const FarsideParts *parts,
                                  SwitchtecCtrl *ctrl)
{
    SwitchtecRegs *s = g_new0(SwitchtecRegs, 1);

    s->config = config;
    s->options = options;
    s->pci = pci;
    s->peer = parts->far[0].peer;
    s->requester = parts->far[0].requester;
    s->interrupts = parts->interrupts;
    s->ctrl = ctrl;
    return s;
}

void switchtec_regs_free(SwitchtecRegs *s)
{
    g_free(s);
}

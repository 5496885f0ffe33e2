/* SPDX-License-Identifier: MIT */
/* Configuration space (PCIe 5.0 s7.5) of the dumps of `lspci -x` to `-xxxx`. */
#include "inv_machine_priv.h"

#define STATUS            0x06
#define STATUS_HAS_CAPS   0x10
#define BASE_CLASS        0x0b
#define HEADER_TYPE       0x0e
#define SECONDARY         0x19
#define CAPABILITIES      0x34
#define HEADER_BYTES      0x40
#define CAPABILITY_PCIE   0x10
#define BASE_CLASS_BRIDGE 0x06

/* Offsets in the PCI Express capability (s7.5.3). */
#define LINK_CAPABILITIES 0x0c
#define DEVICE_CONTROL    0x08
#define LINK_CONTROL      0x10
#define LINK_STATUS       0x12
#define DEVICE_CONTROL_2  0x28

/* Extended capabilities (s7.6.3). */
#define EXTENDED        0x100
#define EXTENDED_ACS    0x000d
#define EXTENDED_SR_IOV 0x0010
#define EXTENDED_DEV_3  0x002f /* PCIe 6.0 s7.7.9 */

/* The bytes of a dump. */
typedef struct Config {
    const uint8_t *bytes;
    unsigned n;
} Config;

/* Returns 0 for what is not in the dump. */
static unsigned u16(const Config *config, unsigned offset)
{
    return offset + 2 <= config->n
               ? config->bytes[offset] | (unsigned)config->bytes[offset + 1]
                                             << 8
               : 0;
}

/* Returns the rate of the encoding of Max Link Speed (PCIe 6.0 s7.5.3.6; 7 is
 * that of PCIe 7.0); 0: none has it. */
static double speed_gtps(unsigned code)
{
    static const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64, 128};

    return code < G_N_ELEMENTS(speeds) ? speeds[code] : 0;
}

static void decode_link(InvMachine *machine, InvFunction *function,
                        const Config *config, unsigned at)
{
    unsigned capabilities = u16(config, at + LINK_CAPABILITIES);
    unsigned status = u16(config, at + LINK_STATUS);
    unsigned lanes = status >> 4 & 0x3f;

    function->pub.speed_mtps =
        inv_machine_speed(machine, function, speed_gtps(capabilities & 0xf));
    if (capabilities & 0xf && !function->pub.speed_mtps) {
        inv_machine_note(machine,
                         "the code of the link speed is not known; it is taken "
                         "as that of the generic part",
                         NULL);
    }
    function->pub.width =
        inv_machine_width(machine, function, capabilities >> 4 & 0x3f);
    function->link_width = inv_machine_width(machine, function, lanes);
    function->link_mtps =
        lanes ? inv_machine_speed(machine, function, speed_gtps(status & 0xf))
              : 0;
}

static void decode_control(InvFunction *function, const Config *config,
                           unsigned at)
{
    unsigned control = u16(config, at + DEVICE_CONTROL);
    unsigned mps = control >> 5 & 7, mrrs = control >> 12 & 7;
    InvSettings *settings = &function->settings;

    settings->relaxed_ordering = control >> 4 & 1;
    settings->extended_tags = control >> 8 & 1;
    /* 6 and 7 are reserved. */
    settings->mps_bytes = mps < 6 ? 128u << mps : 0;
    settings->mrrs_bytes = mrrs < 6 ? 128u << mrrs : 0;
    if (at + DEVICE_CONTROL_2 + 2 <= config->n) {
        unsigned control_2 = u16(config, at + DEVICE_CONTROL_2);

        settings->id_ordering = control_2 >> 8 & 1;
        settings->ten_bit_tags = control_2 >> 12 & 1;
    }
}

/* Reads the PCI Express capability, if the dump has it. */
static void decode_express(InvMachine *machine, InvFunction *function,
                           const Config *config)
{
    unsigned at = config->bytes[CAPABILITIES] & ~3u;

    if (!(u16(config, STATUS) & STATUS_HAS_CAPS)) {
        return;
    }
    /* A list that points at itself ends after as many steps as it can have. */
    for (unsigned i = 0; i < 48 && at >= HEADER_BYTES && at + 0x14 <= config->n;
         i++) {
        if (config->bytes[at] == CAPABILITY_PCIE) {
            function->port = (InvPort)(config->bytes[at + 2] >> 4);
            decode_control(function, config, at);
            if (function->port < INV_PORT_INTEGRATED) {
                unsigned control = u16(config, at + LINK_CONTROL);

                decode_link(machine, function, config, at);
                function->settings.rcb_bytes = control >> 3 & 1 ? 128 : 64;
                function->settings.flits_off = control >> 13 & 1;
            }
            machine->has_links = true;
            return;
        }
        at = config->bytes[at + 1] & ~3u;
    }
}

/* Reads ACS (s7.7.8), SR-IOV (s9.3.3) and Device 3. */
static void decode_extended(InvFunction *function, const Config *config)
{
    InvSettings *settings = &function->settings;
    unsigned at = EXTENDED;

    if (config->n > EXTENDED) {
        settings->acs_can_redirect = 0;
    }
    for (unsigned i = 0; i < 960 && at >= EXTENDED && at + 4 <= config->n;
         i++) {
        unsigned id = u16(config, at);

        if (id == EXTENDED_ACS && at + 8 <= config->n) {
            unsigned control = u16(config, at + 6);

            settings->acs_can_redirect = u16(config, at + 4) >> 2 & 1;
            settings->acs_redirect = control >> 2 & 1;
            settings->acs_completions = control >> 3 & 1;
            settings->acs_direct = control >> 6 & 1;
        } else if (id == EXTENDED_SR_IOV && at + 0x18 <= config->n &&
                   (u16(config, at + 8) & 1)) {
            settings->vfs = u16(config, at + 0x10);
            settings->vf_offset = u16(config, at + 0x14);
            settings->vf_stride = u16(config, at + 0x16);
        } else if (id == EXTENDED_DEV_3 && at + 10 <= config->n) {
            settings->fourteen_bit_tags = u16(config, at + 8) >> 2 & 1;
        }
        at = u16(config, at + 2) >> 4;
    }
}

void inv_config_decode(InvMachine *machine, InvFunction *function,
                       const uint8_t *bytes, unsigned n)
{
    Config config = {bytes, n};
    unsigned type;

    if (n < HEADER_BYTES) {
        return;
    }
    /* No function has Vendor ID ffff: nothing answered. */
    function->is_asleep = u16(&config, 0) == 0xffff;
    if (function->is_asleep) {
        return;
    }
    type = bytes[HEADER_TYPE] & 0x7f;
    function->pub.vendor_id = u16(&config, 0);
    function->pub.device_id = u16(&config, 2);
    function->pub.class_code = bytes[9] | bytes[10] << 8 | bytes[11] << 16;
    function->pub.is_bridge =
        bytes[BASE_CLASS] == BASE_CLASS_BRIDGE && (type == 1 || type == 2);
    if (function->pub.is_bridge) {
        function->pub.secondary = bytes[SECONDARY];
        function->pub.subordinate = bytes[SECONDARY + 1];
    }
    decode_express(machine, function, &config);
    decode_extended(function, &config);
}

/* SPDX-License-Identifier: MIT */
#include "device_pair.h"
#include <check.h>
#include <glib.h>
#include "switchtec_regs.h"

#define LUT_SIZE   0x10000ull
#define CTL_DIRECT 0x10u

/* LUT entries of the lender, and of the borrower */
#define ENTRY_MSI  1
#define ENTRY_CMB  16
#define CMB_SIZE   (1u << 20)
#define ENTRY_NVME 2
#define ENTRY_OPEN 3

#define CMB_DEVFN 0x38
#define CMB_BAR   0xe8010000ull /* the controller's registers */
#define CMB_BAR2  0xe8100000ull /* its memory */

/* A machine that gets little of the processors' time answers late. */
#define PATIENT "completion-timeout=60000"

struct DevicePair {
    DeviceRig *lender;
    DeviceRig *borrower;
    DeviceCable *cable;
};

static uint64_t block(unsigned part)
{
    return RIG_BAR0 + SWITCHTEC_NTB_CTRL +
           (uint64_t)part * SWITCHTEC_NTB_CTRL_STRIDE;
}

static void part_begin(DeviceRig *rig, unsigned part)
{
    rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
}

static void part_end(DeviceRig *rig, unsigned part)
{
    rig_part_op(rig, part, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

static void set_lut(DeviceRig *rig, unsigned part, unsigned entry,
                    uint64_t target)
{
    rig_write(rig, block(part) + 0x60, 4, RIG_LUT_CTL);
    rig_write(rig, block(part) + SWITCHTEC_CTRL_LUT + 8 * entry, 8,
              target | (uint64_t)(1 - part) << 1 | 1);
}

/* Each host sets up the other's windows onto its own memory and devices. */
static void open_windows(DevicePair *pair)
{
    part_begin(pair->borrower, 0);
    rig_write(pair->borrower, block(0) + 0x80, 4, CTL_DIRECT);
    rig_write(pair->borrower, block(0) + 0x84, 4,
              (unsigned)__builtin_ctzll(RIG_RAM) | RIG_RAM);
    rig_write(pair->borrower, block(0) + 0x88, 8, 1);
    set_lut(pair->borrower, 0, ENTRY_MSI, 0xfee00000);
    part_end(pair->borrower, 0);
    part_begin(pair->lender, 1);
    set_lut(pair->lender, 1, ENTRY_NVME, PAIR_NVME_BAR);
    part_end(pair->lender, 1);
}

static DevicePair *make(const char *drive, const char *const *lender,
                        const char *const *borrower, const char *properties,
                        bool with_cable)
{
    DevicePair *pair = g_new0(DevicePair, 1);
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    g_autofree char *path = NULL;

    g_ptr_array_add(arguments, (void *)"-drive");
    g_ptr_array_add(arguments, (void *)drive);
    g_ptr_array_add(arguments, (void *)"-device");
    g_ptr_array_add(arguments, (void *)"nvme,drive=d,serial=far,addr=06.0");
    for (; lender && *lender; lender++) {
        g_ptr_array_add(arguments, (void *)*lender);
    }
    g_ptr_array_add(arguments, NULL);
    pair->lender =
        rig_new_with(NULL, properties, (const char *const *)arguments->pdata);
    if (with_cable) {
        path = g_strconcat(rig_link_path(pair->lender), ".cable", NULL);
        pair->cable = cable_new(path, rig_link_path(pair->lender));
    }
    pair->borrower = rig_new_with(path ? path : rig_link_path(pair->lender),
                                  PATIENT, borrower);
    rig_wait_link(pair->lender, 0, true);
    rig_wait_link(pair->borrower, 1, true);
    rig_pci_write(pair->lender, PAIR_NVME_DEVFN, 0x10, (uint32_t)PAIR_NVME_BAR);
    rig_pci_write(pair->lender, PAIR_NVME_DEVFN, 0x14, 0);
    rig_pci_write(pair->lender, PAIR_NVME_DEVFN, 0x04, 0x6);
    open_windows(pair);
    return pair;
}

DevicePair *pair_new(const char *drive, const char *const *arguments)
{
    return make(drive, NULL, arguments, PATIENT, false);
}

DevicePair *pair_new_with_cable(const char *drive, const char *const *lender,
                                const char *const *borrower)
{
    return make(drive, lender, borrower, PATIENT, true);
}

DevicePair *pair_new_checking(const char *drive, const char *const *lender)
{
    return make(drive, lender, NULL, PATIENT ",check-requester=on", false);
}

void pair_free(DevicePair *pair)
{
    if (!pair) {
        return;
    }
    rig_free(pair->borrower);
    rig_free(pair->lender);
    cable_free(pair->cable);
    g_free(pair);
}

DeviceRig *pair_lender(DevicePair *pair)
{
    return pair->lender;
}

DeviceRig *pair_borrower(DevicePair *pair)
{
    return pair->borrower;
}

DeviceCable *pair_cable(DevicePair *pair)
{
    return pair->cable;
}

DeviceNvme pair_local_nvme(DevicePair *pair)
{
    return (DeviceNvme){
        .rig = pair->lender,
        .bar = PAIR_NVME_BAR,
        .ram = rig_ram(pair->lender),
    };
}

DeviceNvme pair_borrowed_nvme(DevicePair *pair)
{
    return (DeviceNvme){
        .rig = pair->borrower,
        .bar = RIG_BAR2 + ENTRY_NVME * LUT_SIZE,
        .offset = RIG_BAR4,
        .ram = rig_ram(pair->borrower),
    };
}

uint64_t pair_msi_window(void)
{
    return RIG_BAR2 + ENTRY_MSI * LUT_SIZE;
}

uint64_t pair_open(DevicePair *pair, uint64_t target)
{
    part_begin(pair->lender, 1);
    set_lut(pair->lender, 1, ENTRY_OPEN, target);
    part_end(pair->lender, 1);
    return RIG_BAR2 + ENTRY_OPEN * LUT_SIZE;
}

void pair_admit(DevicePair *pair, unsigned index, uint16_t requester_id)
{
    part_begin(pair->lender, 0);
    rig_write(pair->lender, block(0) + SWITCHTEC_CTRL_REQ_ID + 4 * index, 4,
              requester_id ? (uint32_t)requester_id << 16 | 1 : 0);
    part_end(pair->lender, 0);
}

void pair_open_back(DevicePair *pair, uint64_t target)
{
    part_begin(pair->borrower, 0);
    set_lut(pair->borrower, 0, ENTRY_MSI, target);
    part_end(pair->borrower, 0);
}

DeviceNvme pair_cmb_nvme(DevicePair *pair, bool of_borrower)
{
    DeviceRig *rig = of_borrower ? pair->borrower : pair->lender;

    rig_pci_write(rig, CMB_DEVFN, 0x10, (uint32_t)CMB_BAR);
    rig_pci_write(rig, CMB_DEVFN, 0x14, 0);
    rig_pci_write(rig, CMB_DEVFN, 0x18, (uint32_t)CMB_BAR2);
    rig_pci_write(rig, CMB_DEVFN, 0x1c, 0);
    rig_pci_write(rig, CMB_DEVFN, 0x04, 0x6);
    return (DeviceNvme){.rig = rig, .bar = CMB_BAR, .ram = rig_ram(rig)};
}

uint64_t pair_open_cmb(DevicePair *pair, bool of_borrower)
{
    DeviceRig *rig = of_borrower ? pair->borrower : pair->lender;
    unsigned part = of_borrower ? 0 : 1, i;

    part_begin(rig, part);
    for (i = 0; i < CMB_SIZE / LUT_SIZE; i++) {
        set_lut(rig, part, ENTRY_CMB + i, CMB_BAR2 + i * LUT_SIZE);
    }
    part_end(rig, part);
    return RIG_BAR2 + ENTRY_CMB * LUT_SIZE;
}

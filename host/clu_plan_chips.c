/* SPDX-License-Identifier: MIT */
#include "clu_plan_chips.h"

#include <string.h>

#include "clu_plan_options.h"
#include "clu_property.h"

#define TYPE_PREFIX "farside-"

#define BAR_MIN       (64ULL << 10) /* bytes; the device has the same limits */
#define BAR_MAX       (256ULL << 30)
/* Two BARs of 32 bits have half of it each. */
#define SPLIT_BAR_MAX (2ULL << 30)

/* Linux finds no memory that is aligned to much more. */
#define ALIGNED_BAR "1M"

static const char *const bars[] = {"bar2-size", "bar4-size"};

/* Properties that only a Switchtec has */
static const char *const of_switchtec[] = {"generation", "lut-entries",
                                           "vectors", "check-requester"};

char *clu_plan_ntb_type(TopoChip chip)
{
    return g_strconcat(TYPE_PREFIX, topo_chip_name(chip), NULL);
}

bool clu_plan_is_ntb_type(const char *type)
{
    for (TopoChip chip = 0; chip < TOPO_N_CHIPS; chip++) {
        if (g_str_has_prefix(type, TYPE_PREFIX) &&
            strcmp(type + strlen(TYPE_PREFIX), topo_chip_name(chip)) == 0) {
            return true;
        }
    }
    return false;
}

const char *clu_plan_aligned_bar(TopoChip chip)
{
    return chip == TOPO_CHIP_INTEL_GEN1 || chip == TOPO_CHIP_INTEL_GEN1_SPLIT ||
                   chip == TOPO_CHIP_INTEL_GEN3 || chip == TOPO_CHIP_INTEL_GEN4
               ? ALIGNED_BAR
               : NULL;
}

static void check_end(const TopoLink *link, const TopoVmDevice *vm,
                      TopoErrors *errors)
{
    uint64_t bytes;

    for (unsigned i = 0; i < G_N_ELEMENTS(of_switchtec); i++) {
        if (link->chip != TOPO_CHIP_SWITCHTEC &&
            clu_plan_has_option(vm, of_switchtec[i])) {
            topo_errors_add(errors, clu_plan_option_place(vm, of_switchtec[i]),
                            "%s is an option of chip switchtec, and %s has "
                            "chip %s; leave it out",
                            of_switchtec[i], link->name,
                            topo_chip_name(link->chip));
        }
    }
    if (link->chip == TOPO_CHIP_EPF && clu_plan_has_option(vm, bars[0])) {
        topo_errors_add(errors, clu_plan_option_place(vm, bars[0]),
                        "%s is the size of a window, and BAR 2 of chip %s has "
                        "doorbells; leave it out",
                        bars[0], topo_chip_name(link->chip));
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(bars); i++) {
        const char *text = clu_plan_option_value(vm, bars[i]);
        bool is_split = i == 1 && link->chip == TOPO_CHIP_INTEL_GEN1_SPLIT;

        if (text &&
            (!clu_property_parse_size(text, &bytes) || bytes < BAR_MIN ||
             bytes > (is_split ? SPLIT_BAR_MAX : BAR_MAX) ||
             (bytes & (bytes - 1)) != 0)) {
            topo_errors_add(errors, clu_plan_option_place(vm, bars[i]),
                            "%s is %s, and the size of a BAR is a power of 2; "
                            "write one from 64K to %s",
                            bars[i], text, is_split ? "2G" : "256G");
        }
    }
}

void clu_plan_check_link(const TopoLink *link, TopoErrors *errors)
{
    for (unsigned i = 0; i < 2; i++) {
        if (link->end[i] && link->end[i]->vm) {
            check_end(link, link->end[i]->vm, errors);
        }
    }
}

void clu_plan_check_chips(const TopoDescription *description,
                          TopoErrors *errors)
{
    for (unsigned i = 0; i < description->links->len; i++) {
        clu_plan_check_link(description->links->pdata[i], errors);
    }
}

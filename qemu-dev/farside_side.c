/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_ntb.h"
#include "farside_side.h"

static FarsideSide *of(FarsideChip *chip)
{
    return container_of(chip, FarsideSide, chip);
}

bool farside_side_reaches(FarsideChip *chip)
{
    FarsideSide *s = of(chip);

    return !s->gates || farside_twin_is_up(s->twin);
}

void farside_side_ring(FarsideSide *s, uint64_t bits)
{
    struct farside_wire_doorbell bell = {.bits = bits};

    if (bits && farside_side_reaches(&s->chip) &&
        farside_peer_link_is_up(s->peer)) {
        farside_peer_send(s->peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    }
}

/* BAR 0 */

uint64_t farside_side_read(FarsideChip *chip, unsigned offset, unsigned size)
{
    return farside_bank_read(of(chip)->bank, offset, size);
}

void farside_side_write(FarsideChip *chip, unsigned offset, uint64_t value,
                        unsigned size)
{
    farside_bank_write(of(chip)->bank, offset, value, size);
}

/* The peer */

bool farside_side_serve_read(FarsideChip *chip, unsigned peer, uint64_t offset,
                             unsigned size, uint64_t *ret_value)
{
    return farside_side_reaches(chip) &&
           farside_bank_serve_read(of(chip)->bank, offset, size, ret_value);
}

bool farside_side_serve_write(FarsideChip *chip, unsigned peer, uint64_t offset,
                              uint64_t value, unsigned size)
{
    FarsideSide *s = of(chip);

    return (s->twin &&
            farside_twin_serve_write(s->twin, offset, value, size)) ||
           (farside_side_reaches(chip) &&
            farside_bank_serve_write(s->bank, offset, value, size));
}

void farside_side_peer_reset(FarsideChip *chip, unsigned peer)
{
    farside_twin_peer_reset(of(chip)->twin);
}

void farside_side_link_event(FarsideChip *chip, unsigned peer)
{
    farside_twin_link_event(of(chip)->twin);
}

/* Life */

void farside_side_reset(FarsideSide *s)
{
    farside_interrupts_reset(s->interrupts);
    farside_bank_reset(s->bank);
    if (s->twin) {
        farside_twin_reset(s->twin);
    }
}

void *farside_side_new(size_t size, const FarsideBankLayout *layout,
                       const FarsideConfig *config, PCIDevice *pci,
                       const FarsideParts *parts)
{
    FarsideSide *s = g_malloc0(size);

    s->chip.class = farside_ntb_chip(pci);
    s->config = config;
    s->pci = pci;
    s->peer = parts->far[0].peer;
    s->interrupts = parts->interrupts;
    s->bank = farside_bank_new(layout, &s->chip, parts->registers);
    return s;
}

void farside_side_add_twin(FarsideSide *s, bool gates,
                           const FarsideParts *parts,
                           void (*changed)(FarsideChip *chip))
{
    s->gates = gates;
    s->twin = farside_twin_new(s->config, parts, &s->chip, gates, changed);
}

void farside_side_free(FarsideChip *chip)
{
    farside_twin_free(of(chip)->twin);
    farside_bank_free(of(chip)->bank);
    g_free(of(chip));
}

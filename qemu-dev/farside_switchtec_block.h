/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a control block holds, without the lock that guards it: its registers
 * from SWITCHTEC_CTRL_BAR_ENTRY on, the windows that they make, and which of
 * them may come into force.
 */
#ifndef FARSIDE_SWITCHTEC_BLOCK_H
#define FARSIDE_SWITCHTEC_BLOCK_H

#include "farside_switchtec.h"
#include "farside_windows.h"

/* Each BAR has a direct window, and may use all entries of the LUT. */
#define SWITCHTEC_BLOCK_WINDOWS (FARSIDE_NTB_WINDOWS * (SWITCHTEC_MAX_LUT + 1))

/* Restores the read-only bit that is set if the BAR has windows. */
void switchtec_block_keep_valid(struct farside_wire_ctrl *block);
/* Closes all windows that lead to the partition @part. */
void switchtec_block_close(struct farside_wire_ctrl *block, unsigned part);

/*
 * Puts the windows that lead to the partition @part into @list, which has room
 * for SWITCHTEC_BLOCK_WINDOWS. Returns their number.
 */
unsigned switchtec_block_windows(const struct farside_wire_ctrl *block,
                                 unsigned part, FarsideWindow *list);
/*
 * Puts the Requester IDs that may enter the windows into @ids, which has room
 * for FARSIDE_SWITCHTEC_REQ_IDS. Returns their number.
 */
unsigned switchtec_block_ids(const struct farside_wire_ctrl *block,
                             uint16_t *ids);

/*
 * False if the block cannot come into force. @ret_errors then has the first
 * entry of each table that is wrong, counted from 1.
 */
bool switchtec_block_is_sane(const struct farside_wire_ctrl *block,
                             const FarsideConfig *config,
                             const SwitchtecOptions *options,
                             struct farside_wire_configured *ret_errors);

/*
 * A register. @offset is a multiple of 4, from SWITCHTEC_CTRL_BAR_ENTRY on.
 * @proxy has device and function of the Requester ID beyond the bridge.
 */
uint32_t switchtec_block_read(const struct farside_wire_ctrl *block,
                              const SwitchtecOptions *options, uint8_t proxy,
                              unsigned offset);
/* Only the bits of @mask are written. */
void switchtec_block_write(struct farside_wire_ctrl *block,
                           const SwitchtecOptions *options, unsigned offset,
                           uint32_t value, uint32_t mask);

#endif /* FARSIDE_SWITCHTEC_BLOCK_H */

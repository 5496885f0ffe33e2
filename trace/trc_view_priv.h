/* SPDX-License-Identifier: MIT */
#ifndef TRC_VIEW_PRIV_H
#define TRC_VIEW_PRIV_H

#include "trc_view.h"

/* The end that sent the record. */
const TrcInterface *trc_view_sender(const TrcCrossing *crossing);

/* Returns true for a read without a completion, if the end that should have
 * answered it was traced. */
bool trc_view_is_unanswered(const TrcCrossing *crossing);

static inline bool trc_kind_is_request(TrcKind kind)
{
    return kind == TRC_MRD || kind == TRC_MWR || kind == TRC_MSI;
}

static inline bool trc_kind_is_completion(TrcKind kind)
{
    return kind == TRC_CPL || kind == TRC_CPLD;
}

#endif

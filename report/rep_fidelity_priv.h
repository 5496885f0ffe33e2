/* SPDX-License-Identifier: MIT */
#ifndef REP_FIDELITY_PRIV_H
#define REP_FIDELITY_PRIV_H

#include "rep_fidelity.h"

struct RepFidelity {
    const TopoDescription *description;
    GPtrArray *curves; /* of RepFidelityCurve * */
    GPtrArray *points; /* of RepFidelityPoint * */
    RepErrors calibrated, predicted, measured;
};

/* Fills the empty @fidelity from three tables. @published and @measured are
 * nullable. */
bool rep_fidelity_join(RepFidelity *fidelity, const Table *model,
                       const Table *published, const Table *measured,
                       GError **error);

#endif

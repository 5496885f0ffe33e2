/* SPDX-License-Identifier: MIT */
#ifndef EXP_PARAMS_PRIV_H
#define EXP_PARAMS_PRIV_H

#include "fab_endpoint.h"
#include "fab_root.h"
#include "topo_description.h"

/* Turn values of a part into parameters of a component. */

/* Returns the link speed of @mtps MT/s, which must be one of PCIe's. */
FabSpeed exp_params_speed(unsigned mtps);

/* Returns the credits that @part has at @key; may be FAB_CREDITS_INFINITE. */
uint32_t exp_params_credits(const TopoPart *part, const char *key);

/* Returns the arbitration that @word, one of the schema's choices, names. */
FabArbitration exp_params_arbitration(const char *word);

/* Returns the port parameters that every kind of part has. */
FabPortParams exp_params_port(const TopoPart *part, unsigned speed_mtps,
                              unsigned width);

FabRootParams exp_params_root(const TopoPart *part, bool iommu);

FabEndpointParams exp_params_endpoint(const TopoPart *part);

/* Fills @bars, which has FAB_BARS entries. */
void exp_params_bars(const TopoPart *part, FabBar *bars);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef EXP_PARAMS_PRIV_H
#define EXP_PARAMS_PRIV_H

#include "fab_endpoint.h"
#include "fab_root.h"
#include "topo_description.h"

/* Parts of a description as parameters of components. */

/* The speed of @mtps million transfers a second, which is one of PCIe's. */
FabSpeed exp_params_speed(unsigned mtps);

/* The credits that @part gives under @key, perhaps FAB_CREDITS_INFINITE. */
uint32_t exp_params_credits(const TopoPart *part, const char *key);

/* The arbitration that @word, one of the schema's, stands for. */
FabArbitration exp_params_arbitration(const char *word);

/* Parameters that the ports of every kind of part have in common. */
FabPortParams exp_params_port(const TopoPart *part, unsigned speed_mtps,
                              unsigned width);

FabRootParams exp_params_root(const TopoPart *part, bool iommu);

FabEndpointParams exp_params_endpoint(const TopoPart *part);

/* Fills the FAB_BARS entries of @bars. */
void exp_params_bars(const TopoPart *part, FabBar *bars);

#endif

/* SPDX-License-Identifier: MIT */
#include "fab_lend_priv.h"

FabLend *lend_find(const Lending *lending, const FabComponent *component)
{
    for (unsigned i = 0; lending && i < lending->lends->len; i++) {
        FabLend *lend = lending->lends->pdata[i];

        if (lend_component(lend) == component) {
            return lend;
        }
    }
    return NULL;
}

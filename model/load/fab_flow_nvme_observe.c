/* SPDX-License-Identifier: MIT */
#include "fab_flow_nvme_priv.h"

/* The stage that @command is in. */
static FabNvmeStage command_stage(const NvmeFlow *self, const Command *command)
{
    const SimTime *at = command->stamps.at;

    if (!at[FAB_NVME_SUBMIT]) {
        return FAB_NVME_SUBMIT;
    } else if (!at[FAB_NVME_DOORBELL]) {
        return FAB_NVME_DOORBELL;
    } else if (!at[FAB_NVME_FETCH]) {
        return FAB_NVME_FETCH;
    } else if (!at[FAB_NVME_LIST]) {
        return FAB_NVME_LIST;
    } else if (self->params.write && !at[FAB_NVME_DATA]) {
        return FAB_NVME_DATA;
    } else if (!at[FAB_NVME_MEDIA]) {
        return FAB_NVME_MEDIA;
    } else if (!at[FAB_NVME_DATA]) {
        return FAB_NVME_DATA;
    }
    return FAB_NVME_COMPLETION;
}

void fab_nvme_flow_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    static const char *const names[FAB_NVME_STAGES] = {
        "submit", "doorbell", "fetch", "list",
        "media",  "data",     "entry", "notice",
    };
    const NvmeFlow *self = (const NvmeFlow *)flow;
    FabNvmeStage stage = FAB_NVME_SUBMIT;

    ret_wait->ops = 0;
    for (uint32_t i = 0; i < self->params.depth; i++) {
        ret_wait->ops += self->ops[i].is_busy;
    }
    for (uint32_t i = 0; i < self->command_count; i++) {
        const Command *command = &self->commands[i];

        if (command->op && stage != FAB_NVME_MEDIA) {
            FabNvmeStage its = command_stage(self, command);

            stage = its == FAB_NVME_MEDIA ? its : MAX(stage, its);
        }
    }
    if (stage == FAB_NVME_COMPLETION && entry_is_new(self)) {
        stage = FAB_NVME_NOTICE;
    }
    ret_wait->step = names[stage];
    ret_wait->own = stage == FAB_NVME_MEDIA || stage == FAB_NVME_NOTICE;
    ret_wait->posted = stage == FAB_NVME_COMPLETION;
}

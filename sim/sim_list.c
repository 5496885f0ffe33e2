/* SPDX-License-Identifier: MIT */
#include "sim_list.h"

#include <string.h>

void sim_list_init(SimList *list)
{
    list->entries[0].time = -1;
    sim_list_empty(list);
}

void sim_list_empty(SimList *list)
{
    list->head = 1;
    list->end = 1;
}

void sim_list_rewind(SimList *list)
{
    uint32_t count = sim_list_count(list);

    memmove(&list->entries[1], &list->entries[list->head],
            count * sizeof(list->entries[0]));
    list->head = 1;
    list->end = 1 + count;
}

void sim_list_remove(SimList *list, SimEvent *event)
{
    SimListEntry *at = &list->entries[list->head];

    while (at->event != event) {
        at++;
    }
    list->end--;
    memmove(at, at + 1, (size_t)(&list->entries[list->end] - at) * sizeof(*at));
    event->slot = 0;
}

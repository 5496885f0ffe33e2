/* SPDX-License-Identifier: MIT */
#ifndef FAB_FIFO_PRIV_H
#define FAB_FIFO_PRIV_H

#include "fab_fabric.h"

/* A queue of TLPs. */
typedef struct FabFifo {
    FabTlp *head; /* NULL: it is empty */
    FabTlp *tail; /* meaningful if it is not empty */
    uint32_t count;
} FabFifo;

static inline void fab_fifo_push(FabFifo *fifo, FabTlp *tlp)
{
    FabTlp **link = fifo->head ? &fifo->tail->next : &fifo->head;

    tlp->next = NULL;
    *link = tlp;
    fifo->tail = tlp;
    fifo->count++;
}

static inline FabTlp *fab_fifo_pop(FabFifo *fifo)
{
    FabTlp *tlp = fifo->head;

    fifo->head = tlp->next;
    fifo->count--;
    return tlp;
}

/* The last TLP; NULL if there is none. */
static inline FabTlp *fab_fifo_last(const FabFifo *fifo)
{
    return fifo->head ? fifo->tail : NULL;
}

/* Enters the posted request @tlp into @fifo, whose TLPs have the order of their
 * posted_before. Most TLPs come in that order. */
void fab_fifo_insert_posted(FabFifo *fifo, FabTlp *tlp);

/* Gives all TLPs of @fifo back to the pool. */
void fab_fifo_clear(FabFabric *fabric, FabFifo *fifo);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef EXP_END_PRIV_H
#define EXP_END_PRIV_H

#include "topo_description.h"
#include "trc_file.h"

/* One end of a link of a trace: its host in a description, and what the machine
 * has told about itself. */
typedef struct ExpEnd {
    const TopoHost *host; /* nullable: the description has none of its name */
    const char *link;  /* name of the link, as the trace has it; "" if none */
    GArray *functions; /* of TrcFunction: those of its machine */
    uint16_t ntb;      /* Requester ID of the NTB, which stands for the CPU */
    bool has_begun;    /* there was a Start */
} ExpEnd;

/* @name is that of the interface, HOST:LINK; borrowed. */
void exp_end_init(ExpEnd *end, const TopoDescription *description,
                  const char *name);
void exp_end_done(ExpEnd *end);

/* Forgets what the machine has told. */
void exp_end_reset(ExpEnd *end);
/* Takes a record of kind Start. */
void exp_end_start(ExpEnd *end, const TrcRecord *record);

/* Returns the function with this Requester ID; NULL if there is none. */
const TrcFunction *exp_end_function(const ExpEnd *end, uint16_t requester_id);

/* Returns the function that has a BAR at @address of the machine; NULL if there
 * is none, because the address is one of memory. */
const TrcFunction *exp_end_bar(const ExpEnd *end, uint64_t address,
                               unsigned *ret_bar, uint64_t *ret_offset);

/* Returns the device of this name of the end's host; NULL if there is none. */
const TopoDevice *exp_end_device(const ExpEnd *end, const char *name);

#endif

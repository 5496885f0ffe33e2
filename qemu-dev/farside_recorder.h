/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of a trace (wire/farside_trace.h) of the link to one peer. It
 * records each message that this end of the link transmits, except HELLO, just
 * before the message goes to the link, and the time at which posted requests
 * and completions of the peer arrive. While no trace is on, the recorder does
 * nothing.
 */
#ifndef FARSIDE_RECORDER_H
#define FARSIDE_RECORDER_H

#include "hw/pci/pci.h"
#include "farside_chip.h"
#include "farside_config.h"
#include "wire/farside_trace.h"

typedef struct FarsideRecorder FarsideRecorder;

/* The place in a window through which a request came. */
typedef struct FarsideNear {
    unsigned window;
    uint64_t offset; /* in the BAR */
    uint16_t requester_id; /* of the function that made the request */
    bool is_cpu;           /* a CPU has made it */
    bool is_device;        /* a device has made it, whose code is under way */
    const char *device;    /* in a timed cluster, whose DMA it is, or NULL */
} FarsideNear;

/* The pointers are borrowed; @peer is the peer's index. */
FarsideRecorder *farside_recorder_new(const FarsideConfig *config,
                                      unsigned peer, PCIDevice *pci,
                                      const FarsideChipClass *chip);
/* Ends the trace. The recorder cannot be started again. */
void farside_recorder_stop(FarsideRecorder *s);
/* Frees a recorder that was stopped (nullable). */
void farside_recorder_free(FarsideRecorder *s);

/*
 * Opens the file at @path, or no file if @path is NULL or empty. Recording goes
 * on as before until farside_recorder_switch(), which has to follow. Returns
 * false, and sets @errp, if the file cannot be opened or is no trace.
 */
bool farside_recorder_prepare(FarsideRecorder *s, const char *path,
                              Error **errp);
/*
 * Ends the trace, and begins a new one in the prepared file, if there is one.
 */
void farside_recorder_switch(FarsideRecorder *s, bool link_up);
bool farside_recorder_is_on(const FarsideRecorder *s);

/* @near is NULL for a read that did not come through a window. */
void farside_recorder_read(FarsideRecorder *s, const FarsideNear *near,
                           const struct farside_wire_read *m);
void farside_recorder_write(FarsideRecorder *s, const FarsideNear *near,
                            const struct farside_wire_write *m,
                            const void *data);
/* @m is the read that @c answers. */
void farside_recorder_completion(FarsideRecorder *s,
                                 const struct farside_wire_read *m,
                                 const struct farside_wire_completion *c,
                                 const void *data);
/*
 * Records an access to a register of the peer, or the answer to one of the
 * peer's. @what is FARSIDE_TRACE_REGISTER_*, @offset the status of an answer.
 */
void farside_recorder_register(FarsideRecorder *s, unsigned what, uint16_t tag,
                               uint64_t offset, unsigned size, uint64_t value);
/* Records a message of @type, except requests and completions. */
void farside_recorder_message(FarsideRecorder *s, unsigned type,
                              const void *body);
/*
 * A message of the peer has arrived. Records nothing unless it is a posted
 * request, but for a register's, or a completion.
 */
void farside_recorder_arrival(FarsideRecorder *s, unsigned type,
                              const void *body);
/* The link has gone up or down. */
void farside_recorder_state(FarsideRecorder *s, bool link_up);

#endif /* FARSIDE_RECORDER_H */

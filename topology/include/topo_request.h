/* SPDX-License-Identifier: MIT */
#ifndef TOPO_REQUEST_H
#define TOPO_REQUEST_H

#include <stdbool.h>

#include <glib.h>

#include "topo_address.h"
#include "topo_error.h"

/*
 * A request for a device of a host, by attributes that all hosts of one type
 * share. It names no single piece of hardware, so that it stays valid on every
 * such host, and when a card is replaced. A request by slot is valid on hosts
 * that have the same cards in the same slots.
 */
typedef struct TopoRequest {
    TopoPlace place;
    bool has_slot; /* by slot: device, vendor and fabric are NULL */
    TopoPciAddress slot;
    TopoPlace slot_place;
    char *device;
    TopoPlace device_place;
    char *vendor; /* NULL: any */
    TopoPlace vendor_place;
    char *fabric; /* NULL: the only one */
    TopoPlace fabric_place;
    unsigned instance; /* from 0 */
    TopoPlace instance_place;
    bool is_virtual;
    unsigned virtual_function; /* from 0; 0 unless is_virtual */
    TopoPlace virtual_place;
    char *partition; /* NULL: none */
} TopoRequest;

/* One request in the words of a command line, or the file of several. */
typedef struct TopoRequestWords {
    char *file; /* NULL: the request is in the others */
    char *device, *vendor, *fabric, *slot;
    int instance;
    int virtual_function; /* -1: the physical function */
} TopoRequestWords;

/* False and G_OPTION_ERROR unless @words are a file or a request. */
bool topo_request_words_check(const TopoRequestWords *words, GError **error);

/* Returns the requests of @words, an array of TopoRequest, to be freed; NULL
 * after adding to @errors. A file has a map with the list `ib_interfaces`, in
 * YAML or in JSON; comments as in C++ ("//") are accepted at the end of a line
 * or alone in one, since examples of such files have them. The places of a
 * request on the command line are the options --device and so on. */
GPtrArray *topo_requests_of_words(const TopoRequestWords *words,
                                  TopoErrors *errors);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FAB_FAULT_PRIV_H
#define FAB_FAULT_PRIV_H

#include "fab_fault.h"
#include "fab_port_priv.h"

/*
 * The faults of a link, which both of its ports share. Links without faults
 * have none, so that the usual way of a TLP has no test for them: transmit()
 * asks `special`, and a port that must look at what comes in has another
 * function for its arrivals.
 */
typedef struct FabFaults FabFaults;

/* Frees the faults of the link of @port, if @port owns them. */
void fab_faults_free(FabPort *port);

/* @port puts the new @tlp on the wire: faults may begin, and it may be
 * poisoned. */
void fab_fault_sent(FabPort *port, FabTlp *tlp);

/* @port puts a DLLP on the wire. Only links with a FabReplay tell this. */
void fab_fault_dllp(FabPort *port);

/* @tlp comes in at @ingress. Returns true if it was dropped. */
bool fab_fault_drops(FabPort *ingress, FabTlp *tlp);

/* The link of @ingress has gone down: its buffer is empty. */
void fab_fault_forget(FabPort *ingress);

#endif

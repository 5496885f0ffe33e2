/* SPDX-License-Identifier: MIT */
#ifndef CLU_FAULTS_H
#define CLU_FAULTS_H

#include "clu_plan_types.h"
#include "timed_board.h"
#include "topo_error.h"

/*
 * `faults:` of a description in a timed cluster. What happens inside a machine
 * its QEMU does at the exact time (qemu-timed/timed_fault.c). Processes end and
 * begin between two steps, for which time stands still at the exact time.
 */

typedef enum CluFaultAct {
    CLU_FAULT_NOTE,  /* a machine, or the model, does it */
    CLU_FAULT_KILL,  /* the host is switched off */
    CLU_FAULT_START, /* and on */
} CluFaultAct;

/* A step of a fault that the supervisor takes part in. */
typedef struct CluFaultStep {
    int64_t at_ns;
    CluFaultAct act;
    const TopoFault *fault;
    const CluPlanHost *host; /* NULL for CLU_FAULT_NOTE */
    bool returns;            /* CLU_FAULT_KILL: a CLU_FAULT_START follows */
} CluFaultStep;

/* Adds an entry to @errors for each fault that a timed cluster cannot have. */
void clu_faults_check(const CluPlan *plan, TopoErrors *errors);

/* Adds an entry to @errors for each fault that a cluster cannot have whose
 * machines have run up to @now_ns. */
void clu_faults_check_later(const CluPlan *plan, int64_t now_ns,
                            TopoErrors *errors);

/* The time of training of @link in ns: @usual, or less if a fault says so. */
int64_t clu_faults_training(const CluPlan *plan, const CluPlanLink *link,
                            int64_t usual);

/*
 * Appends ",fault=..." to @value for each fault that the QEMU process of @host
 * is to do itself. @usual is the usual time of training. @events (NULL: none)
 * has a member for each fault of the description: the events for which it waits
 * that have come to earlier processes of the host. A fault comes only once. If
 * all its events have come, it is left out; but that of a cable or a device has
 * the time of the last one, because it may hold longer than the process lived.
 */
void clu_faults_options(const CluPlan *plan, const CluPlanHost *host,
                        int64_t usual, const TimedBoardEvents *events,
                        GString *value);

/* The steps of all faults with a time, in the order of time; of CluFaultStep.
 * To be freed. */
GArray *clu_faults_steps(const CluPlan *plan);

/*
 * True if a link that is down loses the message @packet of an NTB, which has
 * @size bytes: it is a TLP.
 * The message registers and the control blocks are in the switch, and no
 * hardware has the messages by which two NTBs talk about their link.
 */
bool clu_faults_may_lose(const void *packet, size_t size);

/* True if @host is not there at first. */
bool clu_faults_is_late(const CluPlan *plan, const CluPlanHost *host);

#endif

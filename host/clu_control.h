/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONTROL_H
#define CLU_CONTROL_H

#include "clu_agent.h"

/*
 * The protocol between the program `farside` and the supervisor of a cluster,
 * at the socket `control` of the cluster's directory. The frames are those of
 * the line to an agent (clu_agent.h), with session 0.
 *
 * The program sends REQUEST with words that each end with a 0: the name of a
 * request and its arguments (clu_requests.h). STDOUT and STDERR then carry text
 * to be printed, and NOTE a line about progress. EXIT or ERROR ends the answer,
 * and the program may send another request.
 *
 * While `exec` runs, the supervisor passes STDIN, STDIN_EOF, SIGNAL and CREDIT
 * on to the agent, and STDOUT, STDERR and CREDIT from it; the rules of credit
 * in clu_agent.h apply. While `console` runs, STDIN carries what the user
 * types.
 */
typedef enum CluControlType {
    CLU_CONTROL_REQUEST = 64,
    CLU_CONTROL_NOTE = 65,  /* a text, without an end of line */
    CLU_CONTROL_ERROR = 66, /* u32 exit status, a message */
} CluControlType;

/* Exit statuses of CLU_CONTROL_ERROR. */
enum {
    CLU_CONTROL_FAILED = 1,
    CLU_CONTROL_USAGE = 2,
    CLU_CONTROL_AGAIN = 75, /* checkpoint: not at this virtual time; that of
                               sysexits.h */
    CLU_CONTROL_LOST = 255, /* exec: the command did not run, or nobody knows
                               how it ended */
};

#endif

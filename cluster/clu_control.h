/* SPDX-License-Identifier: MIT */
#ifndef CLU_CONTROL_H
#define CLU_CONTROL_H

#include "clu_agent.h"

/*
 * What the program says to the supervisor of a cluster, at the socket `control`
 * of its directory: frames as on the line to an agent (clu_agent.h), session 0.
 *
 * The program sends REQUEST, its words each ended by a 0: a verb of the
 * supervisor and what it is about. The answer ends with EXIT or ERROR, and then
 * there may be another request. Before that, STDOUT and STDERR carry what is to
 * be printed, NOTE a line about progress.
 *
 * While `exec` runs, STDIN, STDIN_EOF, SIGNAL and CREDIT go through to the
 * agent and STDOUT, STDERR, CREDIT come from it, by its rules. While `console`
 * runs, STDIN is what is typed.
 */
typedef enum CluControlType {
    CLU_CONTROL_REQUEST = 64,
    CLU_CONTROL_NOTE = 65,  /* a text, without an end of line */
    CLU_CONTROL_ERROR = 66, /* u32 exit status, a text: what went wrong */
} CluControlType;

/* Exit statuses of CLU_CONTROL_ERROR. */
enum {
    CLU_CONTROL_FAILED = 1,
    CLU_CONTROL_USAGE = 2,
    CLU_CONTROL_LOST = 255, /* of exec: how the command ended is not known */
};

#endif

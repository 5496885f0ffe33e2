/* SPDX-License-Identifier: MIT */
#ifndef CLU_REQUESTS_H
#define CLU_REQUESTS_H

#include "clu_request.h"

/* The types of requests, defined in clu_request_*.c. The comment gives the
 * words after the name. */

extern const CluRequestType clu_request_wait_type;    /* SECONDS [HOST] */
extern const CluRequestType clu_request_restart_type; /* HOST */
extern const CluRequestType clu_request_kill_type;    /* HOST */
extern const CluRequestType clu_request_release_type;
extern const CluRequestType clu_request_down_type;
extern const CluRequestType clu_request_status_type;
extern const CluRequestType clu_request_exec_type; /* HOST COMMAND... */
/* The same; all of the input comes without waiting for the command's output. A
 * timed cluster stands still until it has come. */
extern const CluRequestType clu_request_whole_type;   /* HOST COMMAND... */
extern const CluRequestType clu_request_console_type; /* HOST */
extern const CluRequestType clu_request_logs_type;    /* HOST follow|once */
extern const CluRequestType clu_request_link_type;    /* LINK up|down */
extern const CluRequestType clu_request_trace_type;   /* LINK FILE|off */

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CLU_ERROR_H
#define CLU_ERROR_H

#include <glib.h>

#define CLU_ERROR (clu_error_quark())

typedef enum CluErrorCode {
    CLU_ERROR_USAGE, /* what was asked for makes no sense, or lacks something */
    CLU_ERROR_FAILED, /* it was tried, and failed */
} CluErrorCode;

GQuark clu_error_quark(void);

#endif

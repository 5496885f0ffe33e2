/* SPDX-License-Identifier: MIT */
#ifndef CLU_ERROR_H
#define CLU_ERROR_H

#include <glib.h>

#include "topo_error.h"

#define CLU_ERROR (clu_error_quark())

typedef enum CluErrorCode {
    CLU_ERROR_USAGE,  /* the request is wrong or incomplete */
    CLU_ERROR_FAILED, /* the request is right, but could not be fulfilled */
} CluErrorCode;

GQuark clu_error_quark(void);

/* Sets @error to CLU_ERROR_USAGE with the text of @errors, of which there are
 * some. Returns false. */
bool clu_error_refuse(GError **error, const TopoErrors *errors);

#endif

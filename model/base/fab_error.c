/* SPDX-License-Identifier: MIT */
#include "fab_fabric.h"

G_DEFINE_QUARK(fab-error-quark, fab_error);

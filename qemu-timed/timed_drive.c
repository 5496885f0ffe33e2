/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timed.h"

void timed_drive_init(const TimedOptions *options)
{
}

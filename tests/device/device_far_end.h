/* SPDX-License-Identifier: MIT */
#ifndef DEVICE_FAR_END_H
#define DEVICE_FAR_END_H

#include "device_rig.h"

/* The fixture of tests that play the far end of the device's link. */
extern DeviceRig *rig;
extern RigPeer *peer;

/* Nothing times out, however slow the test is. */
void far_end_setup(void);
/* Reads from the far end time out after 300 ms. */
void far_end_setup_impatient(void);
void far_end_teardown(void);
/* Greets the device, and waits until its link is up. */
void far_end_connect(void);

#endif

/* SPDX-License-Identifier: MIT */
#include "device_far_end.h"

#include <stddef.h>

DeviceRig *rig;
RigPeer *peer;

void far_end_setup(void)
{
    rig = rig_new("completion-timeout=60000");
    peer = rig_peer_new(rig);
}

void far_end_setup_impatient(void)
{
    rig = rig_new("completion-timeout=300");
    peer = rig_peer_new(rig);
}

void far_end_teardown(void)
{
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
}

void far_end_connect(void)
{
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
}

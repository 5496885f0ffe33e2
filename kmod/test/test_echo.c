// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests of dl_fabric share the ends of the loopback, random numbers, and a call whose
 * response is compared.
 */
#include <linux/module.h>

#include "test.h"

unsigned int dlend_test_seed = 1;
module_param_named(seed, dlend_test_seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of all random numbers (1)");

struct dlend_peer *dlend_test_ends[2];
struct rnd_state dlend_test_rnd;
unsigned int dlend_test_poll_us = 2000000;

int dlend_test_echo(struct dlend_peer *peer, struct rnd_state *rnd, size_t len,
		    bool polled, u8 *buffer)
{
	u8 *resp = buffer + DLEND_MSG_MAX;
	unsigned long flags;
	size_t i;
	int ret;

	prandom_bytes_state(rnd, buffer, len);
	memset(resp, 0, DLEND_MSG_MAX);
	if (polled) {
		local_irq_save(flags);
		ret = dlend_call_polled(peer, OP_ECHO_ATOMIC, buffer, len, resp,
					DLEND_MSG_MAX, dlend_test_poll_us);
		local_irq_restore(flags);
	} else {
		ret = dlend_call(peer, OP_ECHO, buffer, len, resp, DLEND_MSG_MAX, 10000);
	}
	if (ret < 0)
		return ret;
	if (ret != len)
		return -EBADMSG;
	for (i = 0; i < len; i++) {
		if (resp[i] != (u8)~buffer[i])
			return -EBADMSG;
	}
	return 0;
}

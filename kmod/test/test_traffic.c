// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes sleeping calls, polled calls and exports on all peers that are up, and compares
 * all responses.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "test.h"

static struct {
	atomic_long_t calls, polled, exports, timeouts, wrong, up, down;
} sums;

struct flow {
	struct dlend_peer *peer;
	struct task_struct *task[2];
	struct caller *caller[2];
};

static struct flow flows[DLEND_PEERS_MAX];
static DEFINE_MUTEX(flows_mutex);

static int traffic_run(void *data)
{
	struct caller *caller = data;
	struct dlend_window_desc desc;
	struct dlend_export *export;
	unsigned int i;
	size_t len;
	int ret;

	for (i = 0; !kthread_should_stop(); i++) {
		len = prandom_u32_state(&caller->rnd) % (DLEND_MSG_MAX + 1);
		ret = dlend_test_echo(caller->peer, &caller->rnd, len,
				      caller->polled, caller->buffer);
		if (!ret) {
			atomic_long_inc(caller->polled ? &sums.polled :
							 &sums.calls);
		} else if (ret == -ENOTCONN) {
			fsleep(USEC_PER_MSEC);
		} else if (ret == -ETIMEDOUT || ret == -EOPNOTSUPP) {
			/* The far node has stopped, or has not loaded dl_test. */
			atomic_long_inc(&sums.timeouts);
			fsleep(10 * USEC_PER_MSEC);
		} else {
			pr_err_ratelimited("dl_test: a call failed: %d\n", ret);
			atomic_long_inc(&sums.wrong);
			fsleep(10 * USEC_PER_MSEC);
		}
		if (!caller->polled && i % 64 == 63) {
			export = dlend_export(caller->peer, SZ_1M, SZ_64K,
					      DLEND_WINDOW_LUT, &desc);
			if (!IS_ERR(export)) {
				atomic_long_inc(&sums.exports);
				dlend_unexport(export);
			}
		}
		if (i % 16 == 15)
			usleep_range(500, 1000);
	}
	return 0;
}

static void traffic_up(struct dlend_peer *peer)
{
	struct caller *caller;
	struct flow *flow;
	int i;

	atomic_long_inc(&sums.up);
	mutex_lock(&flows_mutex);
	for (flow = flows; flow < flows + DLEND_PEERS_MAX && flow->peer; flow++)
		;
	if (flow == flows + DLEND_PEERS_MAX)
		goto unlock;
	flow->peer = dlend_peer_get(peer);
	for (i = 0; i < 2; i++) {
		flow->task[i] = NULL;
		caller = kzalloc(sizeof(*caller), GFP_KERNEL);
		flow->caller[i] = caller;
		if (!caller)
			continue;
		caller->peer = peer;
		caller->polled = i;
		prandom_seed_state(&caller->rnd, dlend_test_seed + i);
		flow->task[i] = kthread_run(traffic_run, caller, "dl_traffic");
		if (IS_ERR(flow->task[i]))
			flow->task[i] = NULL;
	}
unlock:
	mutex_unlock(&flows_mutex);
}

static void traffic_down(struct dlend_peer *peer)
{
	struct flow *flow;
	int i;

	atomic_long_inc(&sums.down);
	mutex_lock(&flows_mutex);
	for (flow = flows; flow < flows + DLEND_PEERS_MAX; flow++) {
		if (flow->peer != peer)
			continue;
		for (i = 0; i < 2; i++) {
			if (flow->task[i])
				kthread_stop(flow->task[i]);
			kfree(flow->caller[i]);
		}
		dlend_peer_put(peer);
		flow->peer = NULL;
	}
	mutex_unlock(&flows_mutex);
}

static struct dlend_client traffic_client = {
	.peer_up = traffic_up,
	.peer_down = traffic_down,
};

static int traffic_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "calls %ld\npolled %ld\nexports %ld\ntimeouts %ld\n",
		   atomic_long_read(&sums.calls), atomic_long_read(&sums.polled),
		   atomic_long_read(&sums.exports),
		   atomic_long_read(&sums.timeouts));
	seq_printf(file, "wrong %ld\nup %ld\ndown %ld\n",
		   atomic_long_read(&sums.wrong), atomic_long_read(&sums.up),
		   atomic_long_read(&sums.down));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(traffic);

static struct dentry *traffic_file;

int dlend_traffic_init(void)
{
	int err = dlend_client_register(&traffic_client);

	if (!err)
		traffic_file = debugfs_create_file("traffic", 0444,
						   dlend_debugfs_root(), NULL,
						   &traffic_fops);
	return err;
}

void dlend_traffic_done(void)
{
	debugfs_remove(traffic_file);
	dlend_client_unregister(&traffic_client);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices of other nodes. All lenders are asked at once, each in a work of its own, so a
 * slow one delays the list no longer than LIST_TIMEOUT_MS, and the answers of the others are
 * in the list.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "borrower.h"

/* Longest wait for all lenders that are asked for their devices. */
#define LIST_TIMEOUT_MS 3000

void borrower_device_info(struct dlend_device_info *info,
			  const struct dlend_msg_device *msg)
{
	memset(info, 0, sizeof(*info));
	info->fdid = le32_to_cpu(msg->fdid);
	info->state = min_t(u32, le32_to_cpu(msg->state), DLEND_DEVICE_BORROWED);
	info->borrower = le32_to_cpu(msg->borrower);
	info->bdf = le32_to_cpu(msg->bdf);
	info->vendor = le16_to_cpu(msg->vendor);
	info->device = le16_to_cpu(msg->device);
	info->subsystem_vendor = le16_to_cpu(msg->subsystem_vendor);
	info->subsystem_device = le16_to_cpu(msg->subsystem_device);
	info->class = le32_to_cpu(msg->class) & 0xffffff;
	info->physical = le16_to_cpu(msg->physical);
	info->physical_device = le16_to_cpu(msg->physical_device);
	info->virtual_number = le16_to_cpu(msg->virtual_number);
	info->is_virtual = msg->is_virtual != 0;
	info->fabric = le64_to_cpu(msg->fabric);
	info->dma_window = le64_to_cpu(msg->dma_window);
	/* The text comes from a peer. Terminate it, and replace control characters. */
	strscpy(info->driver, msg->driver, sizeof(info->driver));
	for (char *c = info->driver; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
}

/* Asks one lender for its devices. */
struct ask {
	struct work_struct work;
	struct asks *asks;	/* counted */
	struct dlend_peer *peer;	/* counted */
	unsigned int n;		/* devices in @infos */
	struct dlend_device_info infos[DLEND_DEVICES_MAX];
	u8 answer[DLEND_MSG_MAX];
};

struct asks {
	struct kref ref;
	wait_queue_head_t wait;
	atomic_t left;		/* lenders that have not answered */
	unsigned long end;	/* in jiffies */
	struct ask *ask[DLEND_PEERS_MAX];	/* or NULL */
};

/*
 * Takes the devices of one answer. The list of a hostile peer must end as well: IDs must grow,
 * and there is room for so many only.
 * @next: least ID of the next device
 * Return: whether there may be more.
 */
static bool take_devices(struct ask *ask, int ret, u32 *next)
{
	const struct dlend_msg_list_answer *answer = (void *)ask->answer;
	unsigned int i, count;

	if (ret < (int)sizeof(*answer))
		return false;
	count = le32_to_cpu(answer->count);
	if (!count || count > DLEND_LIST_MAX || ret != struct_size(answer, devices, count))
		return false;
	for (i = 0; i < count; i++) {
		struct dlend_device_info *info = &ask->infos[ask->n];

		if (ask->n == DLEND_DEVICES_MAX)
			return false;
		borrower_device_info(info, &answer->devices[i]);
		if (info->fdid < *next || info->fdid >> 16 != *next >> 16)
			return false;
		*next = info->fdid + 1;
		ask->n++;
	}
	/* An answer has as many devices as it can hold, but for the last one. */
	return count == DLEND_LIST_MAX && *next & 0xffff;
}

static void asks_free(struct kref *ref)
{
	struct asks *asks = container_of(ref, struct asks, ref);
	unsigned int i;

	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		if (!asks->ask[i])
			continue;
		dlend_peer_put(asks->ask[i]->peer);
		kvfree(asks->ask[i]);
	}
	kfree(asks);
}

static void ask_work(struct work_struct *work)
{
	struct ask *ask = container_of(work, struct ask, work);
	struct asks *asks = ask->asks;
	u32 next = dlend_peer_node(ask->peer) << 16;
	unsigned long now;
	int ret;

	do {
		struct dlend_msg_list req = { .first = cpu_to_le32(next) };

		now = jiffies;
		if (!time_before(now, asks->end))
			break;
		ret = dlend_call(ask->peer, DLEND_OP_LIST, &req, sizeof(req), ask->answer,
				 sizeof(ask->answer),
				 max(jiffies_to_msecs(asks->end - now), 1u));
	} while (take_devices(ask, ret, &next));
	atomic_dec(&asks->left);
	wake_up_all(&asks->wait);
	kref_put(&asks->ref, asks_free);
}

/* Return: whether there is memory. */
static bool ask_all(struct asks *asks)
{
	unsigned int i;

	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		struct dlend_peer *peer = dlend_peer_at(i);
		struct ask *ask;

		if (!peer || !dlend_peer_is_up(peer)) {
			dlend_peer_put(peer);
			continue;
		}
		ask = kvzalloc(sizeof(*ask), GFP_KERNEL);
		if (!ask) {
			dlend_peer_put(peer);
			return false;
		}
		ask->peer = peer;
		ask->asks = asks;
		asks->ask[i] = ask;
		INIT_WORK(&ask->work, ask_work);
		kref_get(&asks->ref);
		atomic_inc(&asks->left);
		queue_work(borrower_wq, &ask->work);
	}
	return true;
}

int dlend_borrower_remote(struct dlend_device_info *infos, unsigned int max)
{
	struct asks *asks = kzalloc(sizeof(*asks), GFP_KERNEL);
	unsigned int i, k, n = 0;
	int err;

	if (!asks)
		return -ENOMEM;
	kref_init(&asks->ref);
	init_waitqueue_head(&asks->wait);
	asks->end = jiffies + msecs_to_jiffies(LIST_TIMEOUT_MS);
	err = ask_all(asks) ? 0 : -ENOMEM;
	/* The works of a caller that is killed go on, and free what they need no more. */
	if (!err)
		err = wait_event_killable(asks->wait, !atomic_read(&asks->left));
	for (i = 0; i < DLEND_PEERS_MAX && !err; i++)
		for (k = 0; asks->ask[i] && k < asks->ask[i]->n && n < max; k++)
			infos[n++] = asks->ask[i]->infos[k];
	kref_put(&asks->ref, asks_free);
	return err ? (err == -ERESTARTSYS ? -EINTR : err) : n;
}
EXPORT_SYMBOL_GPL(dlend_borrower_remote);

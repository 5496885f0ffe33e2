// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/dl_ctl: takes orders for lender, borrower and fabric, and lists devices and
 * nodes.
 *
 * The arguments of a caller are copied once and checked before use.
 * uapi/dl_ctl.h says how the structs may grow.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dl_borrower.h"
#include "dl_fabric.h"
#include "dl_lender.h"
#include "uapi/dl_ctl.h"

static_assert((int)DL_CTL_LOCAL == (int)DLEND_DEVICE_LOCAL &&
	      (int)DL_CTL_AVAILABLE == (int)DLEND_DEVICE_AVAILABLE &&
	      (int)DL_CTL_BORROWED == (int)DLEND_DEVICE_BORROWED);
static_assert((int)DL_CTL_NODE_DISCONNECTED == (int)DLEND_PEER_DISCONNECTED &&
	      (int)DL_CTL_NODE_LINK_DOWN == (int)DLEND_PEER_LINK_DOWN &&
	      (int)DL_CTL_NODE_HELLO == (int)DLEND_PEER_HELLO &&
	      (int)DL_CTL_NODE_UP == (int)DLEND_PEER_UP &&
	      (int)DL_CTL_NODE_LOST == (int)DLEND_PEER_LOST);
static_assert((int)DL_CTL_P2P_ONE_LENDER == (int)DLEND_P2P_ONE_LENDER &&
	      (int)DL_CTL_P2P_TWO_LENDERS == (int)DLEND_P2P_TWO_LENDERS &&
	      (int)DL_CTL_P2P_BORROWER == (int)DLEND_P2P_BORROWER);
static_assert(sizeof_field(struct dl_ctl_request, message) >=
	      sizeof_field(struct dlend_why, text));
static_assert(sizeof_field(struct dl_ctl_device, driver) ==
	      sizeof_field(struct dlend_device_info, driver));
static_assert(sizeof_field(struct dl_ctl_device, driver) ==
	      sizeof_field(struct dlend_loan_info, driver));
static_assert(sizeof(struct dl_ctl_pattern) == sizeof(struct dlend_pattern));

/* Sizes of the first version of each struct; no caller has a smaller one. */
#define CTL_REQUEST_MIN 312
#define CTL_LIST_MIN 296
#define CTL_DEVICE_MIN 112
#define CTL_NODE_MIN 88
#define CTL_P2P_MIN 32
#define CTL_PATTERN_MIN 40

/* Pairs of devices that a list shows. */
#define CTL_P2P_MAX 256

/* Patterns that a list shows. */
#define CTL_PATTERNS_MAX 256

/* All devices that the peers together can have. */
#define CTL_REMOTE_MAX (DLEND_DEVICES_MAX * DLEND_PEERS_MAX)

/* Fields of struct dl_ctl_request that an order uses. */
#define CTL_USES_ID 1
#define CTL_USES_NODE 2
#define CTL_USES_FUNCTION 4
#define CTL_USES_WINDOW 8
#define CTL_USES_TARGET 16
#define CTL_USES_FABRIC 32
#define CTL_USES_FLAGS 64
#define CTL_USES_PATTERN 128

static u32 function_bdf(const struct dl_ctl_function *function)
{
	return function->segment << 16 | function->bus << 8 | function->devfn;
}

static struct dl_ctl_function bdf_function(u32 bdf)
{
	return (struct dl_ctl_function){
		.segment = bdf >> 16,
		.bus = bdf >> 8 & 0xff,
		.devfn = bdf & 0xff,
	};
}

static struct dl_ctl_function loan_function(const struct dlend_loan_info *loan)
{
	return (struct dl_ctl_function){
		.segment = loan->domain,
		.bus = loan->bus,
		.devfn = loan->devfn,
	};
}

static int ctl_add(struct dl_ctl_request *request, struct dlend_why *why)
{
	if (request->function.segment > 0xffff)
		return dlend_why_set(why, -EINVAL,
				     "segment %x has borrowed devices; this node's own segments end at ffff",
				     request->function.segment);
	return dlend_lender_add(function_bdf(&request->function), request->fabric,
				&request->id, why);
}

/* Return: -EBUSY if another device may reach @id, or @id another one; -ENOMEM; else 0. */
static int ctl_p2p_busy(u32 id, struct dlend_why *why)
{
	struct dlend_p2p_info *infos;
	unsigned int n, i;
	int err = 0;

	infos = kvcalloc(CTL_P2P_MAX, sizeof(*infos), GFP_KERNEL);
	if (!infos)
		return -ENOMEM;
	n = dlend_borrower_p2p_list(infos, CTL_P2P_MAX);
	for (i = 0; i < n && !err; i++)
		if (infos[i].source == id || infos[i].target == id)
			err = dlend_why_set(why, -EBUSY,
					    "device %x may reach device %x; first: lendctl disable-p2p %x %x",
					    infos[i].source, infos[i].target,
					    infos[i].source, infos[i].target);
	kvfree(infos);
	return err;
}

static int ctl_enable_p2p(struct dl_ctl_request *request, struct dlend_why *why)
{
	struct pci_dev *local = dlend_lender_function(request->id);
	int err;

	if (!local)
		local = dlend_lender_function(request->target);
	err = dlend_borrower_p2p_enable(request->id, request->target, local, why);
	pci_dev_put(local);
	return err;
}

static int ctl_disable_p2p(struct dl_ctl_request *request, struct dlend_why *why)
{
	return dlend_borrower_p2p_disable(request->id, request->target, why);
}

static int ctl_remove(struct dl_ctl_request *request, struct dlend_why *why)
{
	int err = ctl_p2p_busy(request->id, why);

	return err ?: dlend_lender_remove(request->id, why);
}

static int ctl_available(struct dl_ctl_request *request, struct dlend_why *why)
{
	int err = ctl_p2p_busy(request->id, why);

	return err ?: dlend_lender_available(request->id, why);
}

static int ctl_unavailable(struct dl_ctl_request *request, struct dlend_why *why)
{
	return dlend_lender_unavailable(request->id, why);
}

static int ctl_borrow(struct dl_ctl_request *request, struct dlend_why *why)
{
	struct dlend_loan_info loan = {};
	int err;

	BUILD_BUG_ON(DL_CTL_GUEST != DLEND_BORROW_GUEST || DL_CTL_FORWARD != DLEND_BORROW_FORWARD ||
		     DL_CTL_ONCE != DLEND_BORROW_ONCE);
	if (request->flags & ~(DL_CTL_GUEST | DL_CTL_FORWARD | DL_CTL_ONCE))
		return dlend_why_set(why, -EINVAL, "\"flags\" has a bit that is not known: %#x",
				     request->flags);
	if (request->flags && !(request->flags & DL_CTL_GUEST))
		return dlend_why_set(why, -EINVAL,
				     "interrupts are forwarded to virtual machines only, and only these close a device; add DL_CTL_GUEST");
	err = dlend_borrower_borrow(request->id, request->window, request->flags, &loan, why);
	if (err)
		return err;
	request->function = loan_function(&loan);
	request->window = loan.dma_window;
	return 0;
}

static int ctl_return(struct dl_ctl_request *request, struct dlend_why *why)
{
	return dlend_borrower_return(request->id, why);
}

static int ctl_allow(struct dl_ctl_request *request, struct dlend_why *why)
{
	return dlend_borrower_allow(request->pattern, why);
}

static int ctl_disallow(struct dl_ctl_request *request, struct dlend_why *why)
{
	return dlend_borrower_disallow(request->pattern, why);
}

/*
 * Finds a peer by the number of its node. The number is not known before the first
 * hello. Until then the peer needs no order, because it connects by itself.
 *
 * Return: a reference, or NULL with a list of the known nodes in @why.
 */
static struct dlend_peer *ctl_peer(u32 node, struct dlend_why *why)
{
	struct dlend_peer *peer = dlend_peer_find(node);
	unsigned int i;
	int n;

	if (peer)
		return peer;
	n = scnprintf(why->text, sizeof(why->text),
		      "no adapter has led to node %u yet; nodes known:", node);
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		peer = dlend_peer_at(i);
		if (!peer)
			continue;
		if (dlend_peer_node(peer))
			n += scnprintf(why->text + n, sizeof(why->text) - n,
				       " %u", dlend_peer_node(peer));
		dlend_peer_put(peer);
	}
	if (why->text[n - 1] == ':')
		scnprintf(why->text + n, sizeof(why->text) - n, " none");
	return NULL;
}

static int ctl_connect(struct dl_ctl_request *request, struct dlend_why *why)
{
	struct dlend_peer *peer = ctl_peer(request->node, why);

	if (!peer)
		return -ENOENT;
	dlend_peer_connect(peer);
	dlend_peer_put(peer);
	return 0;
}

/* Return: -EBUSY if a device is lent to @node or borrowed from it; -ENOMEM; else 0. */
static int ctl_lent(u32 node, struct dlend_why *why)
{
	struct dlend_device_info *infos;
	struct dlend_loan_info *loans;
	unsigned int n, i;
	int err = 0;

	infos = kvcalloc(DLEND_DEVICES_MAX, sizeof(*infos), GFP_KERNEL);
	loans = kvcalloc(CTL_REMOTE_MAX, sizeof(*loans), GFP_KERNEL);
	if (!infos || !loans) {
		err = -ENOMEM;
		goto free;
	}
	n = dlend_lender_list(infos, DLEND_DEVICES_MAX);
	for (i = 0; i < n && !err; i++)
		if (infos[i].state == DLEND_DEVICE_BORROWED &&
		    infos[i].borrower == node)
			err = dlend_why_set(why, -EBUSY,
					    "node %u has borrowed device %x, and must return it first",
					    node, infos[i].fdid);
	n = dlend_borrower_loans(loans, CTL_REMOTE_MAX);
	for (i = 0; i < n && !err; i++)
		if (loans[i].lender == node)
			err = dlend_why_set(why, -EBUSY,
					    "device %x is borrowed from node %u; return it first",
					    loans[i].fdid, node);
free:
	kvfree(loans);
	kvfree(infos);
	return err;
}

static int ctl_disconnect(struct dl_ctl_request *request, struct dlend_why *why)
{
	struct dlend_peer *peer = ctl_peer(request->node, why);
	int err;

	if (!peer)
		return -ENOENT;
	err = ctl_lent(request->node, why);
	if (!err)
		dlend_peer_disconnect(peer);
	dlend_peer_put(peer);
	return err;
}

/* Undo an order whose caller was killed while it ran. */

static void ctl_unborrow(struct dl_ctl_request *request, struct dlend_why *why)
{
	dlend_borrower_return(request->id, why);
}

static void ctl_unpair(struct dl_ctl_request *request, struct dlend_why *why)
{
	dlend_borrower_p2p_disable(request->id, request->target, why);
}

static const struct ctl_order {
	u32 uses;
	/* No two orders with this flag run at the same time for one device. */
	bool exclusive;
	int (*run)(struct dl_ctl_request *request, struct dlend_why *why);
	void (*undo)(struct dl_ctl_request *request, struct dlend_why *why);
} ctl_orders[] = {
	[_IOC_NR(DL_CTL_ADD)] = { CTL_USES_FUNCTION | CTL_USES_FABRIC, false, ctl_add },
	[_IOC_NR(DL_CTL_REMOVE)] = { CTL_USES_ID, true, ctl_remove },
	[_IOC_NR(DL_CTL_MAKE_AVAILABLE)] = { CTL_USES_ID, true, ctl_available },
	[_IOC_NR(DL_CTL_MAKE_UNAVAILABLE)] = { CTL_USES_ID, true, ctl_unavailable },
	[_IOC_NR(DL_CTL_BORROW)] = {
		CTL_USES_ID | CTL_USES_WINDOW | CTL_USES_FLAGS, false, ctl_borrow, ctl_unborrow
	},
	[_IOC_NR(DL_CTL_RETURN)] = { CTL_USES_ID, false, ctl_return },
	[_IOC_NR(DL_CTL_CONNECT)] = { CTL_USES_NODE, false, ctl_connect },
	[_IOC_NR(DL_CTL_DISCONNECT)] = { CTL_USES_NODE, false, ctl_disconnect },
	[_IOC_NR(DL_CTL_ENABLE_P2P)] = {
		CTL_USES_ID | CTL_USES_TARGET, true, ctl_enable_p2p, ctl_unpair
	},
	[_IOC_NR(DL_CTL_DISABLE_P2P)] = {
		CTL_USES_ID | CTL_USES_TARGET, true, ctl_disable_p2p
	},
	[_IOC_NR(DL_CTL_ALLOW)] = { CTL_USES_PATTERN, false, ctl_allow },
	[_IOC_NR(DL_CTL_DISALLOW)] = { CTL_USES_PATTERN, false, ctl_disallow },
};

/* Return: the first field that is not zero although the order does not use it, or NULL. */
static const char *ctl_stray(const struct dl_ctl_request *request, u32 uses)
{
	const struct dl_ctl_function *function = &request->function;

	if (!(uses & CTL_USES_ID) && request->id)
		return "id";
	if (!(uses & CTL_USES_NODE) && request->node)
		return "node";
	if (!(uses & CTL_USES_FUNCTION) &&
	    (function->segment || function->bus || function->devfn))
		return "function";
	if (!(uses & CTL_USES_WINDOW) && request->window)
		return "window";
	if (!(uses & CTL_USES_TARGET) && request->target)
		return "target";
	if (!(uses & CTL_USES_FABRIC) && request->fabric)
		return "fabric";
	if (!(uses & CTL_USES_FLAGS) && request->flags)
		return "flags";
	if (!(uses & CTL_USES_PATTERN) &&
	    memchr_inv(request->pattern, 0, sizeof(request->pattern)))
		return "pattern";
	if (function->reserved ||
	    memchr_inv(request->reserved, 0, sizeof(request->reserved)))
		return "reserved";
	return NULL;
}

/*
 * An order waits for other nodes and for drivers, and must not be left half done. So a work
 * runs it, and its caller can be killed while it waits for the work.
 */
struct ctl_job {
	struct kref ref;
	struct work_struct work;
	struct list_head node;		/* in ctl_jobs while an exclusive order runs */
	const struct ctl_order *order;
	struct dl_ctl_request request;
	struct dlend_why why;
	struct completion done;
	long err;
	bool over, left;	/* guarded by ctl_lock: the work ended; the caller was killed */
};

static struct workqueue_struct *ctl_wq;
static DEFINE_SPINLOCK(ctl_lock);
static LIST_HEAD(ctl_jobs);
static DECLARE_WAIT_QUEUE_HEAD(ctl_wait);

static void ctl_job_free(struct kref *ref)
{
	kfree(container_of(ref, struct ctl_job, ref));
}

/* Enters a job, unless another exclusive order runs for one of its devices. */
static bool ctl_enter(struct ctl_job *job)
{
	u32 id = job->request.id, target = job->request.target;
	struct ctl_job *other;
	bool free = true;

	spin_lock(&ctl_lock);
	list_for_each_entry(other, &ctl_jobs, node)
		if (other->request.id == id || other->request.target == id ||
		    (target && (other->request.id == target || other->request.target == target)))
			free = false;
	if (free)
		list_add_tail(&job->node, &ctl_jobs);
	spin_unlock(&ctl_lock);
	return free;
}

static void ctl_leave(struct ctl_job *job)
{
	spin_lock(&ctl_lock);
	list_del(&job->node);
	spin_unlock(&ctl_lock);
	wake_up_all(&ctl_wait);
}

static void ctl_work(struct work_struct *work)
{
	struct ctl_job *job = container_of(work, struct ctl_job, work);
	bool left;

	if (job->order->exclusive)
		wait_event(ctl_wait, ctl_enter(job));
	job->err = job->order->run(&job->request, &job->why);
	spin_lock(&ctl_lock);
	job->over = true;
	left = job->left;
	spin_unlock(&ctl_lock);
	if (left && !job->err && job->order->undo)
		job->order->undo(&job->request, &job->why);
	if (job->order->exclusive)
		ctl_leave(job);
	complete(&job->done);
	kref_put(&job->ref, ctl_job_free);
}

/* Return: the result of the order; -EINTR if the caller was killed before there is one. */
static long ctl_run(struct ctl_job *job)
{
	bool over;

	INIT_WORK(&job->work, ctl_work);
	init_completion(&job->done);
	kref_get(&job->ref);
	queue_work(ctl_wq, &job->work);
	if (!wait_for_completion_killable(&job->done))
		return job->err;
	spin_lock(&ctl_lock);
	job->left = true;
	over = job->over;
	spin_unlock(&ctl_lock);
	return over ? job->err : -EINTR;
}

static long ctl_order(const struct ctl_order *order, void __user *user,
		      size_t size)
{
	struct ctl_job *job;
	const char *stray;
	long err;

	if (size < CTL_REQUEST_MIN)
		return -EINVAL;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	kref_init(&job->ref);
	job->order = order;
	err = copy_struct_from_user(&job->request, sizeof(job->request), user, size);
	if (err)
		goto put;
	stray = ctl_stray(&job->request, order->uses);
	if (stray)
		err = dlend_why_set(&job->why, -EINVAL,
				    "field \"%s\" must be zero in this request",
				    stray);
	else
		err = ctl_run(job);
	/* The work still has the job. */
	if (err == -EINTR && fatal_signal_pending(current))
		goto put;
	memset(job->request.message, 0, sizeof(job->request.message));
	if (err)
		strscpy(job->request.message, job->why.text, sizeof(job->request.message));
	if (copy_to_user(user, &job->request, min(size, sizeof(job->request))))
		err = -EFAULT;
put:
	kref_put(&job->ref, ctl_job_free);
	return err;
}

/* A request for a list, and the first error of copying entries to the caller. */
struct ctl_out {
	struct dl_ctl_list list;
	int err;
};

static void ctl_put(struct ctl_out *out, const void *entry, size_t size)
{
	u64 at = (u64)out->list.count * out->list.entry_size;
	u8 __user *user = u64_to_user_ptr(out->list.entries + at);
	size_t part = min_t(size_t, size, out->list.entry_size);

	if (out->list.count++ >= out->list.room || out->err)
		return;
	if (copy_to_user(user, entry, part) ||
	    clear_user(user + part, out->list.entry_size - part))
		out->err = -EFAULT;
}

static struct dl_ctl_device ctl_device(const struct dlend_device_info *info)
{
	struct dl_ctl_device device = {
		.id = info->fdid,
		.state = info->state,
		.node = info->fdid >> 16,
		.borrower = info->borrower,
		.class = info->class,
		.vendor = info->vendor,
		.device = info->device,
		.subsystem_vendor = info->subsystem_vendor,
		.subsystem_device = info->subsystem_device,
		.function = bdf_function(info->bdf),
		.window = info->dma_window,
		.fabric = info->fabric,
		.physical = info->physical,
		.physical_device = info->physical_device,
		.virtual_number = info->virtual_number,
	};

	strscpy(device.driver, info->driver, sizeof(device.driver));
	return device;
}

static void ctl_put_device(struct ctl_out *out,
			   const struct dlend_device_info *info, u32 flags,
			   const struct dlend_loan_info *loans, unsigned int n_loans)
{
	struct dl_ctl_device device = ctl_device(info);
	unsigned int i;

	device.flags = flags | (info->is_virtual ? DL_CTL_VIRTUAL : 0);
	for (i = 0; i < n_loans; i++) {
		if (loans[i].fdid != info->fdid)
			continue;
		device.flags |= DL_CTL_HERE;
		device.local = loan_function(&loans[i]);
		device.window = loans[i].dma_window;
		device.window_free = loans[i].dma_free;
		strscpy(device.driver, loans[i].driver, sizeof(device.driver));
	}
	ctl_put(out, &device, sizeof(device));
}

static bool ctl_has(const struct dlend_device_info *infos, unsigned int n, u32 id)
{
	while (n > 0)
		if (infos[--n].fdid == id)
			return true;
	return false;
}

/*
 * Lists this node's own devices, then the devices of other nodes. In the loopback this
 * node is also one of the other nodes; its devices are still listed only once.
 */
static int ctl_devices(struct ctl_out *out)
{
	struct dlend_device_info *own, *remote;
	struct dlend_loan_info *loans;
	unsigned int n_own, n_loans, i;
	int n_remote, err = -ENOMEM;

	own = kvcalloc(DLEND_DEVICES_MAX, sizeof(*own), GFP_KERNEL);
	remote = kvcalloc(CTL_REMOTE_MAX, sizeof(*remote), GFP_KERNEL);
	loans = kvcalloc(CTL_REMOTE_MAX, sizeof(*loans), GFP_KERNEL);
	if (!own || !remote || !loans)
		goto free;
	n_own = dlend_lender_list(own, DLEND_DEVICES_MAX);
	n_remote = dlend_borrower_remote(remote, CTL_REMOTE_MAX);
	if (n_remote < 0) {
		err = n_remote;
		goto free;
	}
	n_loans = dlend_borrower_loans(loans, CTL_REMOTE_MAX);
	for (i = 0; i < n_own; i++)
		ctl_put_device(out, &own[i], DL_CTL_OWN, loans, n_loans);
	for (i = 0; i < n_remote; i++)
		if (!ctl_has(own, n_own, remote[i].fdid))
			ctl_put_device(out, &remote[i], 0, loans, n_loans);
	err = out->err;
free:
	kvfree(loans);
	kvfree(remote);
	kvfree(own);
	return err;
}

static int ctl_nodes(struct ctl_out *out)
{
	unsigned int i;

	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		struct dlend_peer *peer = dlend_peer_at(i);
		struct dlend_free_windows free = {};
		struct dl_ctl_node node = {};

		if (!peer)
			continue;
		node.node = dlend_peer_node(peer);
		node.self = dlend_peer_self(peer);
		node.state = dlend_peer_state(peer);
		if (fatal_signal_pending(current)) {
			dlend_peer_put(peer);
			return -EINTR;
		}
		if (!dlend_windows_free(peer, &free)) {
			node.direct_count = free.direct_count;
			node.direct_max = free.direct_max;
			node.lut_count = free.lut_count;
			node.lut_size = free.lut_size;
		}
		strscpy(node.adapter, dlend_peer_name(peer), sizeof(node.adapter));
		dlend_peer_put(peer);
		ctl_put(out, &node, sizeof(node));
	}
	return out->err;
}

static int ctl_pairs(struct ctl_out *out)
{
	struct dlend_p2p_info *infos;
	unsigned int n, i;

	infos = kvcalloc(CTL_P2P_MAX, sizeof(*infos), GFP_KERNEL);
	if (!infos)
		return -ENOMEM;
	n = dlend_borrower_p2p_list(infos, CTL_P2P_MAX);
	for (i = 0; i < n; i++) {
		struct dl_ctl_p2p p2p = {
			.source = infos[i].source,
			.target = infos[i].target,
			.path = infos[i].path,
			.mappings = infos[i].mapped,
		};

		ctl_put(out, &p2p, sizeof(p2p));
	}
	kvfree(infos);
	return out->err;
}

static int ctl_patterns(struct ctl_out *out)
{
	struct dlend_pattern *patterns;
	unsigned int n, i;

	patterns = kvcalloc(CTL_PATTERNS_MAX, sizeof(*patterns), GFP_KERNEL);
	if (!patterns)
		return -ENOMEM;
	n = min_t(unsigned int, dlend_borrower_allowed(patterns, CTL_PATTERNS_MAX),
		  CTL_PATTERNS_MAX);
	for (i = 0; i < n; i++)
		ctl_put(out, &patterns[i], sizeof(patterns[i]));
	kvfree(patterns);
	return out->err;
}

static long ctl_list(int (*put)(struct ctl_out *out), size_t entry_min,
		     void __user *user, size_t size)
{
	struct dlend_why why = {};
	struct ctl_out *out;
	long err;

	if (size < CTL_LIST_MIN)
		return -EINVAL;
	out = kzalloc(sizeof(*out), GFP_KERNEL);
	if (!out)
		return -ENOMEM;
	err = copy_struct_from_user(&out->list, sizeof(out->list), user, size);
	if (err)
		goto free;
	if (out->list.count || out->list.reserved0 ||
	    memchr_inv(out->list.reserved, 0, sizeof(out->list.reserved)))
		err = dlend_why_set(&why, -EINVAL,
				    "\"count\" and reserved fields must be zero");
	else if (out->list.entry_size < entry_min ||
		 out->list.entry_size > PAGE_SIZE)
		err = dlend_why_set(&why, -EINVAL,
				    "an entry has %zu to %lu bytes, not %u",
				    entry_min, PAGE_SIZE, out->list.entry_size);
	else
		err = put(out);
	memset(out->list.message, 0, sizeof(out->list.message));
	if (err)
		strscpy(out->list.message, why.text, sizeof(out->list.message));
	if (copy_to_user(user, &out->list, min(size, sizeof(out->list))))
		err = -EFAULT;
free:
	kfree(out);
	return err;
}

static long ctl_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != DL_CTL_IOC ||
	    _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE))
		return -ENOTTY;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	switch (nr) {
	case _IOC_NR(DL_CTL_DEVICES):
		return ctl_list(ctl_devices, CTL_DEVICE_MIN, user,
				_IOC_SIZE(cmd));
	case _IOC_NR(DL_CTL_NODES):
		return ctl_list(ctl_nodes, CTL_NODE_MIN, user, _IOC_SIZE(cmd));
	case _IOC_NR(DL_CTL_P2P):
		return ctl_list(ctl_pairs, CTL_P2P_MIN, user, _IOC_SIZE(cmd));
	case _IOC_NR(DL_CTL_ALLOWED):
		return ctl_list(ctl_patterns, CTL_PATTERN_MIN, user, _IOC_SIZE(cmd));
	default:
		if (nr >= ARRAY_SIZE(ctl_orders))
			return -ENOTTY;
		nr = array_index_nospec(nr, ARRAY_SIZE(ctl_orders));
		if (!ctl_orders[nr].run)
			return -ENOTTY;
		return ctl_order(&ctl_orders[nr], user, _IOC_SIZE(cmd));
	}
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = ctl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice ctl_device_file = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = DL_CTL_DEVICE,
	.fops = &ctl_fops,
	.mode = 0600,
};

static int __init ctl_init(void)
{
	int err;

	ctl_wq = alloc_workqueue("dl_ctl", WQ_UNBOUND, 0);
	if (!ctl_wq)
		return -ENOMEM;
	err = misc_register(&ctl_device_file);
	if (err)
		destroy_workqueue(ctl_wq);
	return err;
}

static void __exit ctl_exit(void)
{
	misc_deregister(&ctl_device_file);
	/* An order whose caller was killed may still run. */
	destroy_workqueue(ctl_wq);
}

module_init(ctl_init);
module_exit(ctl_exit);

MODULE_DESCRIPTION("Device Lending: orders from user space");
MODULE_LICENSE("GPL");

/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of lendctl that carry out its verbs. */
#ifndef LENDCTL_H
#define LENDCTL_H

#include "lend.h"

/* Exit statuses. */
enum { OK = 0, REFUSED = 1, USAGE = 2, UNBOUND = 3 };

/* Seconds to wait for a driver or a node. */
#define WAIT_DEFAULT 10

/* Options that only some verbs take. */
enum {
	OPT_FORCE = 1, OPT_WAIT = 2, OPT_SHARE = 4, OPT_CHOOSE = 8, OPT_NODE = 16,
	OPT_GUEST = 32
};

/* The options of the command line. */
struct options {
	bool json;
	bool help;
	bool force;
	bool guest;		/* borrow for a virtual machine */
	bool forward;		/* and have the lender handle its interrupts */
	bool once;		/* and return it when that machine has closed it */
	unsigned int queues, interrupts;	/* 0: an equal share */
	int wait_ms;
	bool wait;		/* the user has said how long */
	struct lend_request choice;	/* the words that choose a device */
};

extern struct options opt;	/* of this run; set before the verb runs */

/* The first argument of a verb. */
enum argument { ARG_NONE, ARG_DEVICE, ARG_ID, ARG_NODE, ARG_PAIR, ARG_PATTERN };

struct verb {
	const char *name;
	const char *arguments;		/* names of its arguments */
	const char *summary;
	const char *help;
	enum argument first;		/* kind of the first argument */
	int least, most;		/* number of arguments */
	unsigned int options;		/* OPT_* that it takes */
	unsigned long number;		/* its ioctl() request, or 0 */
	const char *done;		/* as in "device 10000 cannot be returned" */
	/* @request holds the arguments. Return: the exit status. */
	int (*run)(const struct verb *verb, struct dl_ctl_request *request);
};

/*
 * Reports an error, in words on stderr and with --json also as an object on stdout.
 * @error: an errno, or 0. Return: @status.
 */
__printf(3, 4) int complain(int status, int error, const char *format, ...);
/*
 * Sends an order to the kernel. After an error, complains with @what and the kernel's
 * reason. Return: 0, or -1 after a complaint.
 */
int order(unsigned long number, struct dl_ctl_request *request, const char *what);
/*
 * Gets a list from the kernel. Return: all devices or all nodes, in memory that the
 * caller frees; NULL after a complaint.
 */
void *fetch(unsigned long number, size_t entry_size, unsigned int *ret_n);
/* Finds a device by its ID. Return: 1, 0 if there is none, or -1 after a complaint. */
int look_up_device(__u32 id, struct dl_ctl_device *ret_device);
/* Finds a device that has to be there. Return: 0, or -1 after a complaint. */
int find_device(__u32 id, struct dl_ctl_device *ret_device);
/*
 * Finds the device that the user's words mean: a function of this node, or with @own
 * false a device of another node. Return: OK with the function or the ID in @request, or
 * REFUSED after a complaint.
 */
int choose(bool own, struct dl_ctl_request *request);
/* Return: milliseconds since some moment before the run. */
long long now_ms(void);

/* Functions of the verbs; see run in struct verb. */
int run_list(const struct verb *verb, struct dl_ctl_request *request);
int run_inventory(const struct verb *verb, struct dl_ctl_request *request);
int run_add(const struct verb *verb, struct dl_ctl_request *request);
/* Gives an order that has only an ID. */
int run_by_id(const struct verb *verb, struct dl_ctl_request *request);
int run_available(const struct verb *verb, struct dl_ctl_request *request);
int run_borrow(const struct verb *verb, struct dl_ctl_request *request);
int run_return(const struct verb *verb, struct dl_ctl_request *request);
/* Connects or disconnects a node, and waits until that is done. */
int run_session(const struct verb *verb, struct dl_ctl_request *request);
/* Enables or disables peer-to-peer. */
int run_p2p(const struct verb *verb, struct dl_ctl_request *request);
int run_list_p2p(const struct verb *verb, struct dl_ctl_request *request);
/* Changes the list of devices that this node may borrow. */
int run_allow(const struct verb *verb, struct dl_ctl_request *request);
int run_list_allowed(const struct verb *verb, struct dl_ctl_request *request);
/* Brings a virtual function online or offline. Needs no module: the order goes to the drive. */
int run_online(const struct verb *verb, struct dl_ctl_request *request);

#endif

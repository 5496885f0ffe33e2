/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private header of dl_rogue: the state of a hostile borrower, the steps of a good one, and
 * the misdeeds.
 */
#ifndef ROGUE_H
#define ROGUE_H

#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/sizes.h>

#include "dl_fabric.h"
#include "dl_proto.h"

/* Numbers of loans grow from 1 on, and all below this are tried. */
#define NUMBERS 64

#define AREA SZ_64K

/* Opening windows takes up to 100 ms for each LUT entry. */
#define PATIENCE_MS 20000

/* A misdeed. A table of them ends with one that has no name. */
struct rogue_misdeed {
	const char *name;
	int (*commit)(void);
};

/* The file that defines a table has its name. */
extern const struct rogue_misdeed rogue_config[], rogue_window[], rogue_loan[], rogue_p2p[],
	rogue_message[];

/* Borrows when this node goes to sleep; see borrow_asleep(). */
extern struct notifier_block rogue_sleep;

/* IDs of the device that is borrowed, and of one that another node has borrowed. */
extern uint mine, other;

/* Guards all below, and serializes the misdeeds. */
extern struct mutex rogue_mutex;
extern struct dlend_peer *peer;
extern void *memory;
extern struct dlend_window_desc window;	/* that leads to @memory */
extern u32 loan;			/* of @mine, or 0 */
extern int result;
extern union rogue_answer {
	u8 bytes[DLEND_MSG_MAX];
	struct dlend_msg_borrow_answer borrow;
	struct dlend_msg_attach_answer attach;
	struct dlend_msg_cfg_answer config;
} answer;

/* The steps of a good borrower, with a device and a loan of choice. Return: 0 or an error. */
int call(u16 op, const void *req, size_t len);
int ask_borrow(u32 fdid);
struct dlend_msg_attach attach_request(void);
int ask_attach(const struct dlend_msg_attach *req);
/* Borrows and attaches @mine. */
int take(void);
int ask(u16 op, u32 fdid, u32 number);
/* Writes *@value, or reads if @value is NULL. */
int ask_config(u32 fdid, u32 number, unsigned int at, unsigned int size, const u32 *value);
int ask_extended(u32 fdid, u32 number, u32 at);
void give_back(void);
/* Tries each number of a loan. Return: -ENODEV if each was refused so. */
int all_numbers(int (*try)(u32 number));

#endif /* ROGUE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Private header of dl_test. */
#ifndef TEST_H
#define TEST_H

#include <linux/completion.h>
#include <linux/prandom.h>

#include "dl_fabric.h"

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			pr_err("dl_test: line %d: this is false: %s\n", __LINE__,     \
			       #condition);                                    \
			return false;                                          \
		}                                                              \
	} while (0)

#define CHECK_IS(expression, expected)                                         \
	do {                                                                   \
		long is_ = (expression), expected_ = (expected);               \
									       \
		if (is_ != expected_) {                                        \
			pr_err("dl_test: line %d: %s is %ld, not %ld\n",       \
			       __LINE__, #expression, is_, expected_);         \
			return false;                                          \
		}                                                              \
	} while (0)

enum {
	OP_ECHO = 240,		/* for sleeping calls */
	OP_ECHO_ATOMIC,		/* for polled calls */
	OP_SLOW,		/* sleeps for le32 ms, then echoes */
	OP_ERROR,		/* returns the errno in the request */
	OP_LONG,		/* responds with le32 bytes */
	OP_BACK,		/* calls the peer back, which is not allowed */
	OP_NOBODY,		/* has no handler */
	OP_END,
};

/* A thread that makes one call after the other. */
struct caller {
	struct task_struct *task;
	struct dlend_peer *peer;
	struct rnd_state rnd;
	unsigned int n;
	bool polled;
	int ret;		/* of the last call */
	struct completion done;
	u8 buffer[2 * DLEND_MSG_MAX];
};

/* test_echo.c */

/* The two ends of the loopback, and random numbers for the tests. */
extern struct dlend_peer *dlend_test_ends[2];
extern struct rnd_state dlend_test_rnd;
extern unsigned int dlend_test_seed;
/* Longest wait of a polled call in dlend_test_echo(); 0: that of dl_fabric. */
extern unsigned int dlend_test_poll_us;

/*
 * Makes a call with random bytes and compares the response. @buffer holds two
 * messages. Return: 0, or a negative errno.
 */
int dlend_test_echo(struct dlend_peer *peer, struct rnd_state *rnd, size_t len,
		    bool polled, u8 *buffer);

/* test_window.c */
bool dlend_test_windows(void);
bool dlend_test_same_export(void);
bool dlend_test_bad_exports(void);
bool dlend_test_bad_imports(void);
/* @peer: one behind an NTB, with LUT entries of 64 KiB */
bool dlend_test_far_imports(struct dlend_peer *peer);

/* test_traffic.c */
int dlend_traffic_init(void);
void dlend_traffic_done(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A broker in a temporary folder, and clients that the test plays. The broker's
 * main context runs only in rig_run().
 */
#ifndef BROKER_RIG_H
#define BROKER_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "clu_broker.h"

#define RIG_NOTICES_MAX 64

typedef struct BrokerRig {
    char *folder;
    GMainContext *context;
    CluBroker *broker;
    /* The first events that the broker has reported. */
    unsigned notice_count;
    CluBrokerNotice notices[RIG_NOTICES_MAX];
} BrokerRig;

BrokerRig *rig_new(void);
/* Fails the test if anything is left in the folder. */
void rig_free(BrokerRig *rig);

/* To be freed. */
char *rig_path(const BrokerRig *rig, const char *name);

/* Runs the broker until nothing is pending. */
void rig_run(BrokerRig *rig);

/* The last notice. Fails unless there were @count, and the last is @event. */
const CluBrokerNotice *rig_last(const BrokerRig *rig, unsigned count,
                                CluBrokerEvent event);

/* A socket connected to @name, which does not block. */
int rig_connect(const BrokerRig *rig, const char *name, int type);

/* Sends @bytes, with the file descriptor @file unless it is -1. Fails the test
 * on an error. */
void rig_send(int fd, const void *bytes, size_t size, int file);

/*
 * As read(), without waiting; -1 if there is nothing. *ret_file is the file
 * descriptor that came with the bytes, or -1.
 */
ssize_t rig_receive(int fd, void *bytes, size_t size, int *ret_file);

/* True if @fd is open and has nothing to read. */
bool rig_is_quiet(int fd);
bool rig_is_closed(int fd);

/* The number of files that this process has open. */
unsigned rig_count_files(void);

#endif

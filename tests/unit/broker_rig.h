/* SPDX-License-Identifier: MIT */
/*
 * A broker in a folder of its own, whose main context runs when the test says
 * so, and clients that the test plays.
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

/* Lets the broker do all that it can do now. */
void rig_run(BrokerRig *rig);

/* The last notice, which must be of @event, and their number up to now. */
const CluBrokerNotice *rig_last(const BrokerRig *rig, unsigned count,
                                CluBrokerEvent event);

/* A socket connected to @name, which does not block. */
int rig_connect(const BrokerRig *rig, const char *name, int type);

/* As write(), with @file unless it is -1. Fails the test if it cannot be. */
void rig_send(int fd, const void *bytes, size_t size, int file);

/*
 * As read(), without waiting; -1 if there is nothing. *ret_file is the file
 * that came along, or -1.
 */
ssize_t rig_receive(int fd, void *bytes, size_t size, int *ret_file);

/* True if @fd is open and has nothing to read. */
bool rig_is_quiet(int fd);
bool rig_is_closed(int fd);

/* Files that this process has open. */
unsigned rig_count_files(void);

#endif

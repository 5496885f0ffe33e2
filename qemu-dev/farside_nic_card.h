/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A card: its functions, the network, and the switch between them.
 */
#ifndef FARSIDE_NIC_CARD_H
#define FARSIDE_NIC_CARD_H

#include "net/net.h"

typedef struct FarsideNicCard FarsideNicCard;
typedef struct FarsideNicFunction FarsideNicFunction;

/* @conf (borrowed) names the network. @device is the physical function. */
FarsideNicCard *farside_nic_card_new(DeviceState *device, NICConf *conf);
/* Frames of the network are lost from now on. */
void farside_nic_card_free(FarsideNicCard *s); /* nullable */

/* Function 0 is the physical one, n the virtual function n - 1. */
void farside_nic_card_join(FarsideNicCard *s, unsigned number,
                           FarsideNicFunction *f);
void farside_nic_card_leave(FarsideNicCard *s, const FarsideNicFunction *f);

bool farside_nic_card_is_up(const FarsideNicCard *s);
/* True if no function may send. All are woken when that ends. */
bool farside_nic_card_is_blocked(const FarsideNicCard *s);
/* Sends a frame of @f to the network and to other functions. */
void farside_nic_card_send(FarsideNicCard *s, FarsideNicFunction *f,
                           const uint8_t *bytes, unsigned size);
/* The physical function has space for frames again. */
void farside_nic_card_resume(FarsideNicCard *s);

/* MAC addresses, of 6 bytes */
const uint8_t *farside_nic_card_mac(const FarsideNicCard *s, unsigned number);
void farside_nic_card_set_mac(FarsideNicCard *s, unsigned number,
                              const uint8_t *mac);
/* Those of the virtual functions become their reset values. */
void farside_nic_card_reset_macs(FarsideNicCard *s);

#endif /* FARSIDE_NIC_CARD_H */

/* SPDX-License-Identifier: MIT */
#ifndef TOPO_ADDRESS_H
#define TOPO_ADDRESS_H

#include <stdbool.h>

/* The address of a PCI function, as Linux writes it: "0000:ca:00.1". */
typedef struct TopoPciAddress {
    unsigned domain; /* up to 0xffffffff: VMD and others count from 0x10000 */
    unsigned bus;    /* 0 to 255 */
    unsigned dev;    /* 0 to 31 */
    unsigned fn;     /* 0 to 7 */
} TopoPciAddress;

/* Parses "ca:00.1" or "0000:ca:00.1", hexadecimal. Returns false if @text is
 * anything else; *ret_address is then undefined. */
bool topo_address_parse(const char *text, TopoPciAddress *ret_address);

/* Returns "0000:ca:00.1", to be freed. */
char *topo_address_to_string(TopoPciAddress address);

/* Orders addresses by domain, bus, device and function. */
int topo_address_compare(TopoPciAddress a, TopoPciAddress b);

/* Returns the function @distance Routing IDs behind @address, as SR-IOV counts
 * them (PCIe 5.0 s9.2.1.2). A bus number beyond 255 is the caller's to check:
 * it is returned as it is. */
TopoPciAddress topo_address_add(TopoPciAddress address, unsigned distance);

#endif

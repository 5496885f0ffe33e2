/* SPDX-License-Identifier: MIT */
#ifndef FAB_ATC_PRIV_H
#define FAB_ATC_PRIV_H

#include "fab_endpoint.h"
#include "fab_port_priv.h"

/*
 * The Address Translation Cache of an endpoint (PCIe 5.0 chapter 10). The DMA
 * engine gives it all requests, with device addresses. Those whose translation
 * it holds leave with AT = 10b and the address of the host. Others wait for a
 * Translation Request. Posted requests leave in the order in which they came,
 * and no other request leaves before the posted ones that came earlier.
 *
 * A request whose translation is refused, is not there, or does not come in
 * time, leaves untranslated, and the root refuses it.
 */
typedef struct FabAtc FabAtc;

/* Called when the write @tlp is about to leave. */
typedef void (*FabAtcLeavesFn)(FabEndpoint *endpoint, const FabTlp *tlp);

/* Makes the ATC of @endpoint, whose params.ats.entries is above 0. To be called
 * by its realize, if the root answers Translation Requests. @error is that of
 * fab_iotlb_check(). */
FabAtc *fab_atc_new(FabEndpoint *endpoint, FabAtcLeavesFn leaves,
                    GError **error);
void fab_atc_free(FabAtc *atc);

/* Takes the request @tlp of the DMA engine. */
void fab_atc_send(FabAtc *atc, FabTlp *tlp);

/* The number of posted requests that @atc has taken, its own included; the next
 * one has it in FabTlp.posted_before. */
uint64_t fab_atc_posted_received(const FabAtc *atc);
/* Requests of @cls that are in @atc. */
uint32_t fab_atc_held(const FabAtc *atc, FabClass cls);

/* Takes the completion @tlp if it is one of a Translation Request. */
bool fab_atc_completion(FabAtc *atc, FabTlp *tlp);

/* Takes the message @tlp, an Invalidate Request. */
void fab_atc_message(FabAtc *atc, FabTlp *tlp);

/* The read with @tag of the DMA engine has ended. */
void fab_atc_read_over(FabAtc *atc, uint16_t tag);

/* Drops what the ATC @owner holds of [@iova, +@size_bytes), which takes no
 * time. A FabDropFn. */
void fab_atc_drop(void *owner, FabBusAddr iova, uint64_t size_bytes);

const FabAtcCounters *fab_atc_counters(const FabAtc *atc);

/* Adds its cache to @sum, with about the time of a Translation Request. */
#define FAB_ATC_MISS_TIME SIM_US
void fab_atc_caching(const FabAtc *atc, FabCaching *sum);

/* For observers: the Translation Requests under way, whether a request waits
 * for one of them to end, and all requests that are in @atc. */
uint32_t fab_atc_requests(const FabAtc *atc);
bool fab_atc_is_wanted(const FabAtc *atc);
typedef void (*FabAtcFn)(void *data, const FabTlp *tlp);
void fab_atc_foreach(const FabAtc *atc, FabAtcFn fn, void *data);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FAB_ATTACHMENT_H
#define FAB_ATTACHMENT_H

#include "fab_fabric.h"

/*
 * State that a layer above the hardware keeps with a fabric, such as its flows
 * or its lends. It is the first member of the layer's own struct. The table of
 * operations identifies the layer.
 */
typedef struct FabAttachment FabAttachment;

typedef enum FabRouteAnswer {
    FAB_ROUTE_ORDINARY, /* take the ordinary way */
    FAB_ROUTE_DONE,     /* *ret_addr is set */
    FAB_ROUTE_FAILED,   /* the error is set */
} FabRouteAnswer;

typedef struct FabAttachmentOps {
    /* Called by fab_fabric_free() before it frees the components; the latest
     * attachment comes first. */
    void (*free)(FabAttachment *attachment);
    /* Nullable. fab_route_map() calls it first, with its own arguments. */
    FabRouteAnswer (*route)(FabAttachment *attachment, FabComponent *from,
                            FabComponent *to, FabBusAddr addr,
                            uint64_t size_bytes, FabBusAddr *ret_addr,
                            GError **error);
} FabAttachmentOps;

struct FabAttachment {
    const FabAttachmentOps *ops;
    FabAttachment *next; /* the attachment made before this one */
};

/* Gives @attachment to @fabric, which has none with these @ops yet. */
void fab_fabric_attach(FabFabric *fabric, FabAttachment *attachment,
                       const FabAttachmentOps *ops);

/* The attachment of @fabric with these @ops; NULL if there is none. */
FabAttachment *fab_fabric_attachment(const FabFabric *fabric,
                                     const FabAttachmentOps *ops);

#endif

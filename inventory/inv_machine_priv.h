/* SPDX-License-Identifier: MIT */
#ifndef INV_MACHINE_PRIV_H
#define INV_MACHINE_PRIV_H

#include "topo_description.h"

/* The Device/Port Type of the PCI Express capability (PCIe 5.0 s7.5.3.2). */
typedef enum InvPort {
    INV_PORT_NONE = -1, /* no such capability, or not known */
    INV_PORT_ENDPOINT = 0,
    INV_PORT_LEGACY = 1,
    INV_PORT_ROOT = 4,
    INV_PORT_UPSTREAM = 5,
    INV_PORT_DOWNSTREAM = 6,
    INV_PORT_TO_PCI = 7,
    INV_PORT_FROM_PCI = 8,
    INV_PORT_INTEGRATED = 9,
    INV_PORT_EVENT_COLLECTOR = 10,
} InvPort;

typedef struct InvRegion {
    uint64_t size_bytes;
    bool is_64bit;
    bool is_prefetchable;
} InvRegion;

/* Settings of a function that software can change, and its virtual functions.
 * 0 is "not known" of a size and of a number, -1 of a switch. */
typedef struct InvSettings {
    unsigned mps_bytes;    /* Max_Payload_Size (PCIe 5.0 s7.5.3.4) */
    unsigned mrrs_bytes;   /* Max_Read_Request_Size */
    unsigned rcb_bytes;    /* Read Completion Boundary (s7.5.3.7) */
    int extended_tags;     /* Extended Tag Field Enable */
    int ten_bit_tags;      /* 10-Bit Tag Requester Enable (s7.5.3.16) */
    int fourteen_bit_tags; /* 14-Bit Tag Requester Enable (PCIe 6.0 s7.7.9.3) */
    int relaxed_ordering;  /* Enable Relaxed Ordering */
    int id_ordering;       /* IDO Request Enable (s7.5.3.16) */
    int flits_off;         /* Flit Mode Disable (PCIe 6.0 s7.5.3.7) */
    int acs_can_redirect;  /* ACS P2P Request Redirect (s7.7.8.2) */
    int acs_redirect;      /* its enable bit (s7.7.8.3) */
    int acs_completions;   /* ACS P2P Completion Redirect Enable */
    int acs_direct;        /* ACS Direct Translated P2P Enable */
    unsigned vfs;          /* NumVFs (PCIe 5.0 s9.3.3.7) */
    unsigned vf_offset;    /* First VF Offset */
    unsigned vf_stride;    /* VF Stride */
} InvSettings;

/* A PCI function as a dump shows it. Its speed and width are those that its own
 * Link Capabilities allow. */
typedef struct InvFunction {
    TopoFunction pub; /* must be the first member. It owns its name */
    char *label;      /* its name in a source without addresses, or NULL */
    InvPort port;
    unsigned link_mtps;  /* of the link as it was trained; 0: not known */
    unsigned link_width; /* the same */
    bool is_asleep;      /* its configuration space reads ff */
    bool is_guessed;     /* another link has the bandwidth of this one */
    InvRegion regions[6];
    unsigned n_regions; /* memory regions; 0: not known */
    InvSettings settings;
} InvFunction;

/* Something that the user has to know about a few functions. */
typedef struct InvNote {
    char *text;
    GPtrArray *names; /* of char *: what it is about; may be empty */
} InvNote;

/* A machine that was read: its functions, sorted by address. */
typedef struct InvMachine {
    GPtrArray *functions; /* of InvFunction */
    GPtrArray *notes;     /* of InvNote, in the order of reading */
    bool has_links;       /* the source tells which functions have a link */
    bool is_short; /* the source leaves out root ports and downstream ports:
                      each bridge is a switch */
    bool has_no_addresses; /* addresses are numbers of the reader, and functions
                              go by their labels */
} InvMachine;

InvMachine *inv_machine_new(void);

/* Frees @machine (nullable). */
void inv_machine_free(InvMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InvMachine, inv_machine_free)

/* Adds a function at @address of which nothing else is known. */
InvFunction *inv_machine_add(InvMachine *machine, TopoPciAddress address);

/* Returns the function at @address; NULL if there is none. */
InvFunction *inv_machine_find(const InvMachine *machine,
                              TopoPciAddress address);

/* Adds @name to the note with this text, which is new or there already. @name
 * may be NULL: the note is about the whole machine. */
void inv_machine_note(InvMachine *machine, const char *text, const char *name);

/* The fastest and widest link that a description can have. */
#define INV_SPEED_MAX      64000
#define INV_SPEED_NO_FLITS 32000
#define INV_WIDTH_MAX      16

/* Return the speed (MT/s) and the width that stand in a description for those
 * of a link. Those that it cannot have become the next smaller ones, with a
 * note about @function. 0: not known. */
unsigned inv_machine_speed(InvMachine *machine, const InvFunction *function,
                           double gtps);
unsigned inv_machine_width(InvMachine *machine, const InvFunction *function,
                           unsigned lanes);

/* Sorts the functions and checks that no address is there twice. @name names
 * the source in @error. */
bool inv_machine_finish(InvMachine *machine, const char *name, GError **error);

/* Returns @text (of @length bytes) as UTF-8 without what terminals, mail and
 * Markdown add: marks of byte order, CR, escape sequences, quotes, fences, and
 * the prompts around it. Lines keep their numbers: one that goes becomes empty.
 * The caller frees it. *ret_rest is the line from which the output of a second
 * command was taken off; 0: there is none. Returns NULL and sets @error, with
 * the @name of the source, if @text is no text. */
char *inv_text_clean(const char *name, const char *text, size_t length,
                     unsigned *ret_rest, GError **error);

/* Takes what the first @n bytes of the configuration space of @function tell.
 */
void inv_config_decode(InvMachine *machine, InvFunction *function,
                       const uint8_t *config, unsigned n);

/* Read a machine from the cleaned text of a file called @name. They return NULL
 * and set @error, with the line, if the text is of another form. */
InvMachine *inv_read_lspci(const char *name, const char *text, GError **error);
InvMachine *inv_read_lspci_tree(const char *name, const char *text,
                                GError **error);
InvMachine *inv_read_xml(const char *name, const char *text, GError **error);
InvMachine *inv_read_matrix(const char *name, const char *text, GError **error);

/* Returns whether @text has a matrix of `nvidia-smi topo -m`. */
bool inv_is_matrix(const char *text);

/* Returns the bridge of @functions (of TopoFunction) directly above @function;
 * NULL: a root bus. */
const TopoFunction *inv_bridge_above(const GPtrArray *functions,
                                     const TopoFunction *function);

/* Returns the `card.type` of @function, and the prefix of its name. Displays of
 * management controllers and of virtual machines are "other": they are no
 * GPUs. */
const char *inv_card_type(const TopoFunction *function,
                          const char **ret_prefix);

#endif

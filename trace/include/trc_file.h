/* SPDX-License-Identifier: MIT */
#ifndef TRC_FILE_H
#define TRC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * Traces of links: pcapng files as docs/reference/trace.md specifies them.
 * Other tools may have sorted, merged or filtered them, on machines of either
 * byte order.
 */
typedef struct TrcFile TrcFile;

typedef enum TrcError {
    TRC_ERROR_FILE,   /* it cannot be read or written */
    TRC_ERROR_FORMAT, /* "NAME: byte N: ..." */
} TrcError;

#define TRC_ERROR trc_error_quark()
GQuark trc_error_quark(void);

typedef enum TrcKind {
    /* TLPs */
    TRC_MRD,
    TRC_MWR,
    TRC_MSI, /* an MWr of 4 bytes to the range of interrupts of a PC */
    TRC_CPL,
    TRC_CPLD,
    TRC_TLP, /* any other */
    /* Messages that have no TLP on this device, wire/farside_trace.h */
    TRC_START,
    TRC_STOP,
    TRC_STATE,
    TRC_ENABLE,
    TRC_RESET,
    TRC_DOORBELL,
    TRC_MESSAGE,
    TRC_LOCK,
    TRC_LOCKED,
    TRC_CONFIG,
    TRC_CONFIGURED,
    TRC_RELEASE,
    TRC_RAM,
    TRC_KINDS,
} TrcKind;

/* "MRd"; or, for TRC_KINDS and beyond, NULL. */
const char *trc_kind_name(TrcKind kind);
/* Ignores case. Returns false if @name names no kind. */
bool trc_kind_parse(const char *name, TrcKind *ret_kind);

/* PCIe 5.0 s2.2.9.1: "SC", "UR", "CRS", "CA"; "?" for the reserved ones. */
const char *trc_status_name(unsigned status);

/* A packet. */
typedef struct TrcRecord {
    int64_t time_ns; /* since 1970, UTC */
    uint64_t place;  /* of its block in the file */
    unsigned interface;
    TrcKind kind;
    bool has_near;        /* bar, near and offset are known */
    unsigned bar;         /* of the window that the request went through */
    uint64_t near;        /* address on the bus of the transmitting host */
    uint64_t offset;      /* of that in the BAR */
    uint32_t sequence;    /* in the interface's packets */
    uint32_t transaction; /* that a read and its completion share */
    /* Set for memory requests and completions: */
    uint64_t
        address;    /* of the first byte, on the far bus; not of completions */
    uint32_t bytes; /* read or written; of an unsuccessful completion, asked */
    uint16_t requester_id;
    uint16_t completer_id; /* of completions */
    uint8_t tag;
    uint8_t status; /* of completions */
    /*
     * The recorded part of the payload, from the first enabled byte on; of
     * messages without a TLP, and of other TLPs, all that follows the head.
     * Borrowed from the file.
     */
    const uint8_t *data;
    size_t data_size;
    size_t data_lost; /* bytes of it that were not recorded */
} TrcRecord;

typedef struct TrcInterface {
    const char *name; /* valid UTF-8 without control characters */
    unsigned peer;    /* the other end of the link; itself if there is none */
    uint64_t packets; /* in the file */
    uint64_t missing; /* from the sequence of what is in the file */
    uint64_t dropped; /* as the file's statistics have it */
} TrcInterface;

/*
 * Reads a file. It may be damaged, or lack its end: then trc_file_damage()
 * tells so, and the packets before the damage are there. NULL if it is no
 * pcapng file.
 */
TrcFile *trc_file_read(const char *path, GError **error);
/* Reads bytes in memory. @name names them in messages. */
TrcFile *trc_file_parse(GBytes *bytes, const char *name, GError **error);
void trc_file_free(TrcFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcFile, trc_file_free)

/* The reason why the file was not read to its end; NULL if it was. Owned by the
 * file. */
const GError *trc_file_damage(const TrcFile *file);

/* The number of packets that do not belong to a trace: of another link type, or
 * without a time. */
uint64_t trc_file_n_foreign(const TrcFile *file);

unsigned trc_file_n_interfaces(const TrcFile *file);
const TrcInterface *trc_file_interface(const TrcFile *file, unsigned index);

/* Records in the file's order. Those of one interface are ordered by time. */
size_t trc_file_n_records(const TrcFile *file);
void trc_file_record(const TrcFile *file, size_t index, TrcRecord *ret_record);

#define TRC_ENDS        2
#define TRC_SNAPLEN_MIN 64

/*
 * Makes a file for a link, to which devices append. @names are those of its
 * ends (HOST:LINK; of partition 0 and 1). Packets are cut after @snaplen bytes,
 * at least TRC_SNAPLEN_MIN; 0 means never. Empties a trace that is there
 * already, and leaves any other file alone.
 */
bool trc_file_create(const char *path, const char *const names[TRC_ENDS],
                     uint32_t snaplen, GError **error);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TRC_FILE_H
#define TRC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * A trace of links: a pcapng file as docs/reference/trace.md specifies it. The
 * file may have either byte order. Other tools may have sorted, merged or
 * filtered it.
 */
typedef struct TrcFile TrcFile;

typedef enum TrcError {
    TRC_ERROR_FILE,   /* a file cannot be read or written */
    TRC_ERROR_FORMAT, /* a file ("NAME: byte N: ...") or an argument is wrong */
} TrcError;

#define TRC_ERROR trc_error_quark()
GQuark trc_error_quark(void);

typedef enum TrcKind {
    /* TLPs */
    TRC_MRD,
    TRC_MWR,
    TRC_MSI, /* an MWr of 4 bytes to the interrupt addresses of a PC */
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
    TRC_ARRIVAL, /* at the end that records it */
    TRC_REGISTER,
    TRC_KINDS,
} TrcKind;

/* The name of a kind, such as "MRd"; NULL for TRC_KINDS and beyond. */
const char *trc_kind_name(TrcKind kind);
/* Ignores case. Returns false if @name names no kind. */
bool trc_kind_parse(const char *name, TrcKind *ret_kind);

/* PCIe 5.0 s2.2.9.1: "SC", "UR", "CRS", "CA"; "?" for the reserved ones. */
const char *trc_status_name(unsigned status);

/* A packet */
typedef struct TrcRecord {
    int64_t time_ns;    /* since 1970, UTC */
    uint64_t place;     /* offset of its block in the file, in bytes */
    unsigned interface; /* index of the packet's interface */
    TrcKind kind;
    bool has_near;        /* bar, near and offset are set */
    unsigned bar;         /* BAR of the window that the request went through */
    uint64_t near;        /* address on the bus of the transmitting host */
    uint64_t offset;      /* of near in the BAR */
    uint32_t sequence;    /* number among the packets of the interface */
    uint32_t transaction; /* number that a read and its completion share */
    /* The rest up to status is set for memory requests and completions. */
    uint64_t address; /* of the first byte, on the far bus; of requests only */
    uint32_t bytes;   /* of data; without data, bytes that the read asked for */
    uint16_t requester_id;
    uint16_t completer_id; /* of completions only */
    uint8_t tag;
    uint8_t status; /* of completions only */
    /*
     * The recorded part of the payload, from the first enabled byte on. For
     * messages without a TLP, and for other TLPs, everything that follows the
     * head. Borrowed from the file.
     */
    const uint8_t *data;
    size_t data_size; /* bytes that were recorded */
    size_t data_lost; /* bytes that were not recorded */
} TrcRecord;

/* The packet that has arrived, by a record of kind TRC_ARRIVAL. */
typedef enum TrcArrived {
    TRC_ARRIVED_WRITE = 1,
    TRC_ARRIVED_COMPLETION = 2, /* of the record's transaction */
    TRC_ARRIVED_DOORBELL = 3,   /* address: its bits */
    TRC_ARRIVED_MESSAGE = 4,    /* address: the number of its register */
} TrcArrived;

typedef struct TrcArrival {
    TrcArrived what;
    uint32_t bytes;
    uint64_t address;
} TrcArrival;

/* Decodes a record of kind TRC_ARRIVAL. False if nothing known has arrived. */
bool trc_record_arrival(const TrcRecord *record, TrcArrival *ret_arrival);

#define TRC_BARS 6

/* A function of the machine that began to record. */
typedef struct TrcFunction {
    char name[256]; /* valid UTF-8 without control characters */
    uint16_t requester_id;
    struct {
        uint64_t address, size; /* size 0: not there */
    } bar[TRC_BARS];
} TrcFunction;

/* The number of functions in a record of kind TRC_START that were recorded
 * whole. */
unsigned trc_record_n_functions(const TrcRecord *record);
/* @index is below that number. */
void trc_record_function(const TrcRecord *record, unsigned index,
                         TrcFunction *ret_function);

typedef struct TrcInterface {
    const char *name; /* valid UTF-8 without control characters */
    unsigned peer;    /* index of the link's other end; its own if none */
    uint64_t packets; /* number of packets in the file */
    uint64_t missing; /* number of packets missing between those */
    uint64_t dropped; /* number of packets that the statistics call dropped */
} TrcInterface;

/*
 * Reads a file. If the file is damaged or lacks its end, the result has the
 * packets before the damage, and trc_file_damage() gives the reason. Returns
 * NULL if the file cannot be read or is no pcapng file.
 */
TrcFile *trc_file_read(const char *path, GError **error);
/* Reads a file that is in memory. Error messages call it @name. */
TrcFile *trc_file_parse(GBytes *bytes, const char *name, GError **error);
void trc_file_free(TrcFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcFile, trc_file_free)

/* The reason why the file was not read to its end; NULL if it was. Owned by the
 * file. */
const GError *trc_file_damage(const TrcFile *file);

/* The number of packets that do not belong to a trace: those of another link
 * type, and those without a time. */
uint64_t trc_file_n_foreign(const TrcFile *file);

unsigned trc_file_n_interfaces(const TrcFile *file);
const TrcInterface *trc_file_interface(const TrcFile *file, unsigned index);

/* Records in the file's order. Each device appends them in order of time. */
size_t trc_file_n_records(const TrcFile *file);
void trc_file_record(const TrcFile *file, size_t index, TrcRecord *ret_record);
/* Returns the indexes of the records by time, interface and place in the file.
 * The caller frees the array. */
uint32_t *trc_file_order(TrcFile *file);

#define TRC_ENDS        2
#define TRC_SNAPLEN_MIN 64

/*
 * Makes a file for a link, to which devices append. @names are those of its
 * ends (HOST:LINK), of partition 0 and 1. Devices cut packets after @snaplen
 * bytes, at least TRC_SNAPLEN_MIN; 0 means never. Overwrites an empty file or a
 * pcapng file that exists already, and fails for any other file.
 */
bool trc_file_create(const char *path, const char *const names[TRC_ENDS],
                     uint32_t snaplen, GError **error);

/*
 * Sorts the packets of a file that both devices have closed by time, interface
 * and the order in which its device wrote them. So two runs that do the same in
 * virtual time leave the same bytes. False and @error if the file cannot be
 * read or written, or is not of the form that trc_file_create() begins.
 */
bool trc_file_sort(const char *path, GError **error);

#endif

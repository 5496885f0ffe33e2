/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_LOG_H
#define CLU_TIMED_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/*
 * The log of a timed cluster: all that was given to its machines, and when. It
 * is a text with one entry a line. The first lines say what was run; a line of
 * input has the virtual time in ns, a kind and words
 * (docs/developer/timed.md).
 */
typedef struct CluTimedLog CluTimedLog;

typedef enum CluInputKind {
    CLU_INPUT_QMP,     /* bytes for the monitor of a host */
    CLU_INPUT_AGENT,   /* bytes for its agent */
    CLU_INPUT_CONSOLE, /* bytes for its serial line */
    CLU_INPUT_KILL,    /* its process was killed */
    CLU_INPUT_START,   /* its process was started again */
    CLU_INPUT_FAULT,   /* a fault of the description begins; says its name */
    CLU_INPUT_TO,      /* time goes on to the time in `bytes`, as text */
} CluInputKind;

typedef struct CluInput {
    int64_t at_ns;
    CluInputKind kind;
    char *host;    /* NULL for CLU_INPUT_TO; a fault's name */
    GBytes *bytes; /* a 0 follows, which does not count */
} CluInput;

/* If the log does not say where time goes on to, this much of it passes. */
#define CLU_TIMED_STEP_NS 10000000

/* Makes the log @path for writing. NULL and @error if that fails. */
CluTimedLog *clu_timed_log_new(const char *path, GError **error);
void clu_timed_log_free(CluTimedLog *log); /* (nullable) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluTimedLog, clu_timed_log_free)

/* Adds a line to the head: "NAME VALUE". */
void clu_timed_log_head(CluTimedLog *log, const char *name, const char *value);
/* Adds an input; @host and @data are nullable. */
void clu_timed_log_add(CluTimedLog *log, int64_t at_ns, CluInputKind kind,
                       const char *host, const void *data, size_t length);

/* A log that was read. */
typedef struct CluTimedScript {
    GPtrArray *names;  /* of the head, in its order */
    GPtrArray *values; /* as many */
    GPtrArray *inputs; /* of CluInput, in the order of time */
} CluTimedScript;

/* A log without inputs, to add lines to its head. */
CluTimedScript *clu_timed_script_new(void);
void clu_timed_script_add(CluTimedScript *script, const char *name,
                          const char *value);

/* Reads @path. NULL and @error, with the line's number, if it is no log. */
CluTimedScript *clu_timed_script_read(const char *path, GError **error);
void clu_timed_script_free(CluTimedScript *script); /* (nullable) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluTimedScript, clu_timed_script_free)

/* The value of @name in the head; NULL if it is missing. Borrowed. */
const char *clu_timed_script_get(const CluTimedScript *script,
                                 const char *name);
/* All its values, in the order of the head, to be freed. */
char **clu_timed_script_get_all(const CluTimedScript *script, const char *name);

#endif

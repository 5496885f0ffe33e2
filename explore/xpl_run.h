/* SPDX-License-Identifier: MIT */
#ifndef XPL_RUN_H
#define XPL_RUN_H

#include "exp_schedule.h"
#include "xpl_machines.h"

/* Parts of `farside cluster explore`: one schedule runs in a timed cluster of
 * its own, with the user's script. */

/* The exit status by which a script says that the faults have made its work
 * impossible, in a way that is documented. */
#define XPL_IMPOSSIBLE 77

/* From good to grave */
typedef enum XplVerdict {
    XPL_PASS,
    XPL_CANNOT, /* the faults made the script's work impossible */
    XPL_VOID,   /* they came before the machines had booted */
    XPL_ERROR,  /* it could not be run */
    XPL_FAIL,
    XPL_N_VERDICTS,
} XplVerdict;

/* The word for @verdict in reports. */
const char *xpl_verdict_name(XplVerdict verdict);

/* The kind of a failure; a smaller schedule must fail by the same one. */
typedef enum XplCause {
    XPL_NO_CAUSE,
    XPL_KERNEL, /* a kernel reports a fault of its own */
    XPL_HANG,   /* the script did not end in virtual time */
    XPL_LOST,   /* a host is gone that no fault has switched off */
    XPL_SCRIPT, /* the script says so */
} XplCause;

typedef struct XplResult {
    XplVerdict verdict;
    XplCause cause;
    char *reason;             /* one line, owned; NULL: none */
    int64_t begin_ns, end_ns; /* virtual time of the script */
    double seconds;           /* real time of all */
} XplResult;

void xpl_result_clear(XplResult *result);

/* The things that all schedules of a call share; texts are borrowed. */
typedef struct XplExplore {
    XplMachines machines;
    ImgNotes out;           /* results */
    ImgNotes notes;         /* errors and warnings */
    const char *program;    /* farside itself, for scripts */
    const char *invariants; /* the functions for scripts */
    const char *verb;       /* for messages */
    const char *file;       /* the description's; absolute */
    const char *script;     /* absolute */
    char *const *sets;      /* of --set; nullable */
    char *const *allow;     /* of --allow; nullable */
    const char *limit;      /* of --limit */
    GPtrArray *allowed;     /* of GRegex: no report of a kernel */
    const TopoDescription *description;
    GMutex lock;         /* of the template */
    char *template;      /* the cluster of which schedules are branches; owned;
                            NULL: not there yet */
    int64_t template_ns; /* the virtual time at which it stands */
    bool boots;          /* each schedule boots its machines */
    char *failure;       /* why there can be no template; owned; nullable */
    int64_t limit_ns;    /* the most virtual time of a script */
    int64_t patience_s;  /* the most real time of a schedule */
    gint is_stopped;     /* atomic: the user has asked to end, or there is a
                            failure */
} XplExplore;

/*
 * Runs @schedule in a timed cluster called @name, in the folder @dir, which is
 * made: schedule.yaml with @comment at its top, what `up` or `branch` and the
 * script have written, the consoles, and the log of a cluster that was booted.
 * The cluster is gone afterwards. Can be called from several threads with other
 * @name and @dir. If the machines that have booted give no checkpoint, sets
 * failure and is_stopped: no other schedule can run.
 */
void xpl_run(XplExplore *explore, const GArray *schedule, const char *name,
             const char *dir, const char *comment, XplResult *ret_result);

/* Ends the cluster from which schedules were branched, if there is one, and
 * frees what xpl_run() has made. */
void xpl_end(XplExplore *explore);

/* Removes the folder of a run and the files in it. */
void xpl_forget(const char *dir);

/*
 * Finds the first line of @console by which a kernel reports a fault of its own
 * and that no regular expression of @allowed (nullable, of GRegex) matches.
 * Returns it without its end, to be freed; NULL if there is none.
 */
char *xpl_kernel_report(const char *console, const GPtrArray *allowed);

/* Loads the description in @file with the changes @sets (nullable). NULL if it
 * has errors, which explore->notes is told. */
TopoDescription *xpl_load(const XplExplore *explore, const char *file,
                          char *const *sets);
/* Tells explore->notes @errors, and how many there are. */
void xpl_refuse(const XplExplore *explore, const TopoErrors *errors);

#endif

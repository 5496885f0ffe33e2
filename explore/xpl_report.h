/* SPDX-License-Identifier: MIT */
#ifndef XPL_REPORT_H
#define XPL_REPORT_H

#include "img_hash.h"
#include "xpl_run.h"

/*
 * The report of an exploration: a text in CSV to which lines are added, with a
 * first line that says what the results belong to.
 */
typedef struct XplReport XplReport;

/* The inputs that the results of a report belong to. */
typedef struct XplHead {
    char *description; /* SHA-256; owned, as the others */
    char *script;
    ImgHashes files;
    char *allow;              /* of --allow, or "none" */
    int64_t limit_ns;         /* the most virtual time of a script */
    bool boots;               /* each schedule boots its machines */
    int64_t begin_ns, end_ns; /* faults with a time begin within these */
} XplHead;

void xpl_head_clear(XplHead *head);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(XplHead, xpl_head_clear)

/* Makes the report in the new file @path. NULL and @error if there is one
 * already, or it cannot be written. */
XplReport *xpl_report_new(const char *path, const XplHead *head,
                          GError **error);

/*
 * Opens the report in @path to go on with it. Cuts off a last line that is not
 * whole. Fills in the times of @head; NULL and @error if all else of it but the
 * programs differs in some part from that of the report, or the file is no
 * report.
 */
XplReport *xpl_report_resume(const char *path, XplHead *head, GError **error);

/* Closes @report (nullable). */
void xpl_report_free(XplReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(XplReport, xpl_report_free)

/* True if the report has a result of @seed. */
bool xpl_report_has(const XplReport *report, uint64_t seed);

/* The number of results with @verdict. */
unsigned xpl_report_count(const XplReport *report, XplVerdict verdict);

/* The number of builds of the programs that made the results, one after the
 * other. */
unsigned xpl_report_builds(const XplReport *report);

/* Adds a line in one write, so a report has whole lines whenever this process
 * ends. The first result of other programs has a line before it that names
 * them. Can be called from several threads. */
bool xpl_report_add(XplReport *report, uint64_t seed, const XplResult *result,
                    const char *faults, GError **error);

#endif

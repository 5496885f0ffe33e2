/* SPDX-License-Identifier: MIT */
#ifndef CMD_EXPLORE_H
#define CMD_EXPLORE_H

#include "exp_schedule.h"
#include "img_hash.h"

/* Parts of `farside cluster explore`: one schedule runs in a timed cluster of
 * its own, with the user's script. */

/* The exit status by which a script says that the faults have made its work
 * impossible, in a way that is documented. */
#define CMD_EXPLORE_IMPOSSIBLE 77

/* From good to grave */
typedef enum CmdExploreVerdict {
    CMD_EXPLORE_PASS,
    CMD_EXPLORE_CANNOT, /* the faults made the script's work impossible */
    CMD_EXPLORE_VOID,   /* they came before the machines had booted */
    CMD_EXPLORE_ERROR,  /* it could not be run */
    CMD_EXPLORE_FAIL,
    CMD_EXPLORE_N_VERDICTS,
} CmdExploreVerdict;

/* The word for @verdict in reports. */
const char *cmd_explore_verdict_name(CmdExploreVerdict verdict);

/* The kind of a failure; a smaller schedule must fail by the same one. */
typedef enum CmdExploreCause {
    CMD_EXPLORE_NO_CAUSE,
    CMD_EXPLORE_KERNEL, /* a kernel reports a fault of its own */
    CMD_EXPLORE_HANG,   /* the script did not end in virtual time */
    CMD_EXPLORE_LOST,   /* a host is gone that no fault has switched off */
    CMD_EXPLORE_SCRIPT, /* the script says so */
} CmdExploreCause;

typedef struct CmdExploreResult {
    CmdExploreVerdict verdict;
    CmdExploreCause cause;
    char *reason;             /* one line, owned; NULL: none */
    int64_t begin_ns, end_ns; /* virtual time of the script */
    double seconds;           /* real time of all */
} CmdExploreResult;

void cmd_explore_result_clear(CmdExploreResult *result);

/* The things that all schedules of a call share; texts are borrowed. */
typedef struct CmdExplore {
    const char *program;    /* farside itself */
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
} CmdExplore;

/*
 * Runs @schedule in a timed cluster called @name, in the folder @dir, which is
 * made: schedule.yaml with @comment at its top, what `up` or `branch` and the
 * script have written, the consoles, and the log of a cluster that was booted.
 * The cluster is gone afterwards. Can be called from several threads with other
 * @name and @dir. If the machines that have booted give no checkpoint, sets
 * failure and is_stopped: no other schedule can run.
 */
void cmd_explore_run(CmdExplore *explore, const GArray *schedule,
                     const char *name, const char *dir, const char *comment,
                     CmdExploreResult *ret_result);

/* Ends the cluster from which schedules were branched, if there is one, and
 * frees what cmd_explore_run() has made. */
void cmd_explore_end(CmdExplore *explore);

/* Removes the folder of a run and the files in it. */
void cmd_explore_forget(const char *dir);

/*
 * Finds the first line of @console by which a kernel reports a fault of its own
 * and that no regular expression of @allowed (nullable, of GRegex) matches.
 * Returns it without its end, to be freed; NULL if there is none.
 */
char *cmd_explore_kernel_report(const char *console, const GPtrArray *allowed);

/* True if a child has to end now. */
typedef bool CmdExplorePoll(void *owner);

/*
 * Runs @argv with standard output and error in the file @output, and no input.
 * @envp NULL: the environment is that of this process. Asks @poll (nullable)
 * each second; if it says so, and if the user wants to end, the child's group
 * gets SIGTERM and, 20 s later, SIGKILL. Returns the exit status, 128 plus a
 * signal, or 255 and the reason in the file if it cannot be run.
 */
int cmd_explore_child(CmdExplore *explore, char **argv, char **envp,
                      const char *output, CmdExplorePoll *poll, void *owner);

/* Runs @argv and returns its standard output, to be freed; NULL if it fails. */
char *cmd_explore_ask(const char *const *argv);

/*
 * The report of an exploration: a text in CSV to which lines are added, with a
 * first line that says what the results belong to.
 */
typedef struct CmdExploreReport CmdExploreReport;

/* The inputs that the results of a report belong to. */
typedef struct CmdExploreHead {
    char *description; /* SHA-256; owned, as the others */
    char *script;
    ImgHashes files;
    char *allow;              /* of --allow, or "none" */
    int64_t limit_ns;         /* the most virtual time of a script */
    bool boots;               /* each schedule boots its machines */
    int64_t begin_ns, end_ns; /* faults with a time begin within these */
} CmdExploreHead;

void cmd_explore_head_clear(CmdExploreHead *head);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CmdExploreHead, cmd_explore_head_clear)

/* Makes the report in the new file @path. NULL and @error if there is one
 * already, or it cannot be written. */
CmdExploreReport *cmd_explore_report_new(const char *path,
                                         const CmdExploreHead *head,
                                         GError **error);

/*
 * Opens the report in @path to go on with it. Cuts off a last line that is not
 * whole. Fills in the times of @head; NULL and @error if all else of it but the
 * programs differs in some part from that of the report, or the file is no
 * report.
 */
CmdExploreReport *cmd_explore_report_resume(const char *path,
                                            CmdExploreHead *head,
                                            GError **error);

/* Closes @report (nullable). */
void cmd_explore_report_free(CmdExploreReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CmdExploreReport, cmd_explore_report_free)

/* True if the report has a result of @seed. */
bool cmd_explore_report_has(const CmdExploreReport *report, uint64_t seed);

/* The number of results with @verdict. */
unsigned cmd_explore_report_count(const CmdExploreReport *report,
                                  CmdExploreVerdict verdict);

/* The number of builds of the programs that made the results, one after the
 * other. */
unsigned cmd_explore_report_builds(const CmdExploreReport *report);

/* Adds a line in one write, so a report has whole lines whenever this process
 * ends. The first result of other programs has a line before it that names
 * them. Can be called from several threads. */
bool cmd_explore_report_add(CmdExploreReport *report, uint64_t seed,
                            const CmdExploreResult *result, const char *faults,
                            GError **error);

#endif

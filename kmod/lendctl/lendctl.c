// SPDX-License-Identifier: GPL-2.0-only
/*
 * lendctl: lends devices of this node to other nodes, and borrows theirs. This file has the
 * command line: verbs, options, arguments and help.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "lendctl.h"

#ifndef LENDCTL_VERSION
#define LENDCTL_VERSION "unknown"
#endif

#define STRING(value) #value
#define STRING_OF(macro) STRING(macro)

static int bad_argument(const char *what, const char *text, const char *right)
{
	return complain(USAGE, 0, "\"%s\" is no %s; %s", text, what, right);
}

/* Return: OK with the arguments in @request, or USAGE after a complaint. */
static int parse_arguments(const struct verb *verb, char **args,
			   struct dl_ctl_request *request)
{
	switch (verb->first) {
	case ARG_NONE:
		break;
	case ARG_DEVICE:
		if (opt.choice.device)
			break;
		if (!lend_parse_function(args[0], &request->function))
			return bad_argument("device", args[0],
					    "write it as lspci does, 0000:03:00.0");
		break;
	case ARG_ID:
		if (!opt.choice.device && !lend_parse_id(*args++, &request->id))
			return bad_argument("ID", args[-1],
					    "write the hexadecimal number that \"lendctl list\" shows");
		if (*args && !lend_parse_window(*args, &request->window))
			return bad_argument("window size", *args,
					    "write a whole number of MiB");
		break;
	case ARG_PAIR:
		if (!lend_parse_id(args[0], &request->id))
			return bad_argument("ID", args[0],
					    "write the hexadecimal number that \"lendctl list\" shows");
		if (!lend_parse_id(args[1], &request->target))
			return bad_argument("ID", args[1],
					    "write the hexadecimal number that \"lendctl list\" shows");
		break;
	case ARG_NODE:
		if (!lend_parse_node(args[0], &request->node))
			return bad_argument("node", args[0],
					    "write a number from 1 on");
		break;
	case ARG_PATTERN:
		/* The kernel reads it, and says what is wrong. */
		if (strlen(args[0]) >= sizeof(request->pattern))
			return bad_argument("description of devices", args[0],
					    "write VENDOR:DEVICE:CLASS, as for lspci -d");
		strcpy(request->pattern, args[0]);
		break;
	}
	return OK;
}

static const struct verb verbs[] = {
	{ "list", "", "show the devices and nodes that this node knows",
	  "Shows the devices that have an ID, with their node and state. Then the nodes,\n"
	  "and which windows their adapters have free: a device that they lend to this\n"
	  "node needs windows onto the memory and interrupts here.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_list },
	{ "inventory", "", "show the devices of this node by type",
	  "Shows how many devices of each type, name, vendor and fabric this node has. With\n"
	  "these words --device, --vendor and --fabric choose a device.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_inventory },
	{ "add", "DEVICE", "give a device of this node an ID",
	  "DEVICE is a function as lspci shows it, 0000:03:00.0. Instead, --device and the\n"
	  "options below it choose one by the words of \"lendctl inventory\". Its driver keeps\n"
	  "it until it is made available.\n",
	  ARG_DEVICE, 1, 1, OPT_CHOOSE, DL_CTL_ADD, "added", run_add },
	{ "remove", "ID", "take the ID from a device of this node",
	  "A device that is available goes back to its driver. Refused while the device\n"
	  "is borrowed.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_REMOVE, "removed", run_by_id },
	{ "available", "ID", "let other nodes borrow a device of this node",
	  "Takes the device from its driver. Refused while a file system on it is\n"
	  "mounted, an interface of it is up, or a program has it open.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_MAKE_AVAILABLE, "made available",
	  run_available },
	{ "unavailable", "ID", "keep a device of this node for itself again",
	  "Gives the device back to its driver. Refused while it is borrowed.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_MAKE_UNAVAILABLE, "made unavailable",
	  run_by_id },
	{ "borrow", "ID [WINDOW-SIZE]", "put a device of another node into this one",
	  "Waits until a driver of this node has taken the device, and prints what it is\n"
	  "here. WINDOW-SIZE, in MiB, is how much memory of this node the device can\n"
	  "reach at a time; without an IOMMU here it must be all memory.\n"
	  "Instead of the ID, --device and the options below it choose one of the devices that\n"
	  "other nodes have given an ID.\n"
	  "--guest borrows the device for a virtual machine of this node, by the driver\n"
	  "dl_mdev. WINDOW-SIZE is then the end of the memory that the machine can have.\n"
	  "--forward does the same, and has the lender handle all interrupts and pass them on.\n"
	  "--once does the same as --guest, and the device is returned when the machine has\n"
	  "closed it, however the machine ends.\n",
	  ARG_ID, 1, 2, OPT_WAIT | OPT_CHOOSE | OPT_NODE | OPT_GUEST, DL_CTL_BORROW, "borrowed",
	  run_borrow },
	{ "return", "ID", "give a borrowed device back",
	  "Refused while the device is in use. --force returns it nevertheless; its users\n"
	  "see a device that was unplugged.\n",
	  ARG_ID, 1, 1, OPT_FORCE, DL_CTL_RETURN, "returned", run_return },
	{ "enable-p2p", "A B", "let device A read and write the memory of device B",
	  "A is the ID of the device that reads and writes, B that of the other one, whose\n"
	  "BARs it reaches. This node has borrowed one of them or both; one that it has not\n"
	  "borrowed is its own, and has an ID by \"lendctl add\". For the other direction,\n"
	  "enable B A as well. If A and B belong to different nodes, these must be connected\n"
	  "with each other: the data do not pass through this node. Returning either device\n"
	  "disables it.\n",
	  ARG_PAIR, 2, 2, 0, DL_CTL_ENABLE_P2P, "enabled", run_p2p },
	{ "disable-p2p", "A B", "undo enable-p2p",
	  "Refused while the driver of A uses the memory of B.\n",
	  ARG_PAIR, 2, 2, 0, DL_CTL_DISABLE_P2P, "disabled", run_p2p },
	{ "list-p2p", "", "show which devices reach which others",
	  "Shows the pairs that were enabled on this node, the way of their data, and how\n"
	  "many mappings of B the driver of A has.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_list_p2p },
	{ "allow", "DEVICES", "let this node borrow devices of some IDs or class",
	  "DEVICES is VENDOR:DEVICE[:CLASS[:PROG-IF]] in hexadecimal, as for lspci -d: a field\n"
	  "that is empty is any value, and an \"x\" any digit of CLASS. The lender of a device\n"
	  "chooses these numbers, and with them the driver here. Most drivers look at the IDs\n"
	  "alone, so \"::0200\" lets in more than drivers of Ethernet controllers.\n"
	  "For some IDs the kernel runs code of its own, quirks, that may act on the whole node.\n"
	  "Such a device is borrowed only with VENDOR:DEVICE:CLASS+quirks: say that if you trust\n"
	  "its lender as much as this node.\n",
	  ARG_PATTERN, 1, 1, 0, DL_CTL_ALLOW, "allowed", run_allow },
	{ "disallow", "DEVICES", "undo allow",
	  "DEVICES as \"lendctl list-allowed\" shows it. Loans that exist go on.\n",
	  ARG_PATTERN, 1, 1, 0, DL_CTL_DISALLOW, "disallowed", run_allow },
	{ "list-allowed", "", "show the devices that this node may borrow",
	  "Shows the list that \"allow\" and \"disallow\" change. The parameter \"allow\" of the\n"
	  "module dl_borrower replaces it.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_list_allowed },
	{ "online", "DEVICE", "bring a virtual function of an NVMe drive online",
	  "DEVICE is a virtual function (SR-IOV) of a drive of this node, 0000:03:00.1. It\n"
	  "has no queues until it is brought online, and cannot be lent before. The drive\n"
	  "shares out its queues and interrupts; one queue is for administration.\n",
	  ARG_DEVICE, 1, 1, OPT_SHARE, 0, "brought online", run_online },
	{ "offline", "DEVICE", "take a virtual function of an NVMe drive offline",
	  "Its queues and interrupts are free for other virtual functions then.\n",
	  ARG_DEVICE, 1, 1, 0, 0, "taken offline", run_online },
	{ "connect", "NODE", "begin a session with another node",
	  "Nodes connect by themselves when the link comes up. This verb is for nodes\n"
	  "that were disconnected.\n",
	  ARG_NODE, 1, 1, OPT_WAIT, DL_CTL_CONNECT, "connected", run_session },
	{ "disconnect", "NODE", "end the session with another node",
	  "Refused while one of the two has borrowed a device of the other.\n",
	  ARG_NODE, 1, 1, OPT_WAIT, DL_CTL_DISCONNECT, "disconnected",
	  run_session },
};

static bool set_json(const char *value)
{
	(void)value;
	opt.json = true;
	return true;
}

static bool set_force(const char *value)
{
	(void)value;
	opt.force = true;
	return true;
}

static bool set_guest(const char *value)
{
	(void)value;
	opt.guest = true;
	return true;
}

static bool set_forward(const char *value)
{
	opt.forward = true;
	return set_guest(value);
}

static bool set_once(const char *value)
{
	opt.once = true;
	return set_guest(value);
}

static bool set_wait(const char *value)
{
	opt.wait = lend_parse_seconds(value, &opt.wait_ms);
	if (opt.wait)
		return true;
	bad_argument("time", value, "write a number of seconds");
	return false;
}

static bool set_share(const char *value, const char *what, unsigned int *ret)
{
	if (lend_parse_share(value, ret))
		return true;
	bad_argument(what, value, "write a number from 1 to 65535");
	return false;
}

static bool set_queues(const char *value)
{
	return set_share(value, "number of queues", &opt.queues);
}

static bool set_interrupts(const char *value)
{
	return set_share(value, "number of interrupts", &opt.interrupts);
}

static bool set_device(const char *value)
{
	opt.choice.device = value;
	return true;
}

static bool set_vendor(const char *value)
{
	opt.choice.vendor = value;
	return true;
}

static bool set_fabric(const char *value)
{
	opt.choice.fabric = value;
	return true;
}

/* Reads a number from 0 to 65535. */
static bool set_count(const char *value, const char *what, unsigned int *ret)
{
	if (strcmp(value, "0") == 0) {
		*ret = 0;
		return true;
	}
	if (lend_parse_share(value, ret))
		return true;
	bad_argument(what, value, "write a number from 0 to 65535");
	return false;
}

static bool set_instance(const char *value)
{
	return set_count(value, "instance", &opt.choice.instance);
}

static bool set_virtual(const char *value)
{
	opt.choice.is_virtual = true;
	return set_count(value, "virtual function", &opt.choice.virtual_number);
}

static bool set_node(const char *value)
{
	if (lend_parse_node(value, &opt.choice.node))
		return true;
	bad_argument("node", value, "write a number from 1 on");
	return false;
}

static bool set_help(const char *value)
{
	(void)value;
	opt.help = true;
	return true;
}

/* All options except --version, which ends the program at once. */
static const struct flag {
	const char *name;
	const char *value;	/* name of the option's value, or NULL if it has none */
	const char *help;
	unsigned int needs;	/* OPT_* of verbs that take the option; 0: all take it */
	bool (*set)(const char *value);	/* Return: false after a complaint. */
} flags[] = {
	{ "json", NULL, "print the result, or the error, as JSON", 0, set_json },
	{ "force", NULL, "return a device that is in use", OPT_FORCE, set_force },
	{ "guest", NULL, "borrow the device for a virtual machine", OPT_GUEST, set_guest },
	{ "forward", NULL, "the same, and its lender handles its interrupts", OPT_GUEST,
	  set_forward },
	{ "once", NULL, "the same, and it is returned when the machine has closed it", OPT_GUEST,
	  set_once },
	{ "wait", "SECONDS",
	  "wait no longer than this; " STRING_OF(WAIT_DEFAULT) " by default",
	  OPT_WAIT, set_wait },
	{ "queues", "N", "give the function this many; an equal share by default",
	  OPT_SHARE, set_queues },
	{ "interrupts", "N", "the same for interrupts", OPT_SHARE, set_interrupts },
	{ "device", "NAME", "choose a device by its name in the inventory", OPT_CHOOSE,
	  set_device },
	{ "vendor", "NAME", "if two vendors have a device of that name", OPT_CHOOSE, set_vendor },
	{ "fabric", "NAME", "the network of its port; by default none, or the only one",
	  OPT_CHOOSE, set_fabric },
	{ "instance", "N", "number among those in the order of slots; 0 by default", OPT_CHOOSE,
	  set_instance },
	{ "virtual-function", "N", "this virtual function of it, from 0 on", OPT_CHOOSE,
	  set_virtual },
	{ "node", "NODE", "the node that the device is plugged into", OPT_NODE, set_node },
	{ "help", NULL, "print this help", 0, set_help },
};

static void print_flag(const char *name, const char *value, const char *help)
{
	char text[LEND_TEXT];

	snprintf(text, sizeof(text), "--%s%s%s", name, value ? " " : "",
		 value ? value : "");
	printf("  %-20s  %s\n", text, help);
}

/* @options: OPT_* that the verb takes */
static void print_flags(unsigned int options)
{
	unsigned int i;

	fputs("\nOptions:\n", stdout);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (!(flags[i].needs & ~options))
			print_flag(flags[i].name, flags[i].value, flags[i].help);
}

static void print_help(void)
{
	unsigned int i;

	fputs("Usage:\n"
	      "  lendctl VERB [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "Lends PCI devices of this node to other nodes, and borrows theirs.\n"
	      "\n"
	      "Verbs:\n",
	      stdout);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-11s %-16s  %s\n", verbs[i].name, verbs[i].arguments,
		       verbs[i].summary);
	print_flags(OPT_FORCE | OPT_WAIT | OPT_SHARE | OPT_CHOOSE | OPT_NODE | OPT_GUEST);
	print_flag("version", NULL, "print the version");
	fputs("\n"
	      "\"lendctl VERB --help\" explains a verb.\n"
	      "\n"
	      "Exit status: 0 if the order was carried out, 1 if it was refused or failed, 2 if\n"
	      "the command line is wrong.\n",
	      stdout);
}

static void print_verb_help(const struct verb *verb)
{
	printf("Usage:\n  lendctl %s [OPTION...]%s%s\n\n%s", verb->name,
	       verb->arguments[0] ? " " : "", verb->arguments, verb->help);
	print_flags(verb->options);
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int usage(const char *format, const char *text)
{
	complain(USAGE, 0, format, text);
	fputs("Try: lendctl --help\n", stderr);
	return USAGE;
}

/*
 * Reads the options.
 * Return: OPT_* of those given, -1 after a complaint, or -2 to end at once.
 */
static int parse_options(int argc, char **argv)
{
	enum { FIRST = 256, VERSION = FIRST + ARRAY_SIZE(flags) };
	struct option options[ARRAY_SIZE(flags) + 2] = {};
	const struct flag *flag;
	unsigned int i;
	int option, given = 0;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		options[i].name = flags[i].name;
		options[i].has_arg = flags[i].value ? required_argument :
						      no_argument;
		options[i].val = FIRST + i;
	}
	options[i].name = "version";
	options[i].val = VERSION;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			opt.help = true;
			continue;
		}
		if (option == VERSION) {
			puts("lendctl " LENDCTL_VERSION);
			return -2;
		}
		if (option < FIRST) {
			/* getopt_long() has complained. */
			fputs("Try: lendctl --help\n", stderr);
			return -1;
		}
		flag = &flags[option - FIRST];
		if (!flag->set(optarg))
			return -1;
		given |= flag->needs;
	}
	return given;
}

int main(int argc, char **argv)
{
	struct dl_ctl_request request = {};
	const struct verb *verb;
	int count, given, status, replaced;

	given = parse_options(argc, argv);
	if (given < 0)
		return given == -1 ? USAGE : OK;
	if (optind == argc) {
		if (!opt.help)
			return usage("a verb is missing%s", "");
		print_help();
		return OK;
	}
	verb = find_verb(argv[optind]);
	if (!verb)
		return usage("there is no verb \"%s\"", argv[optind]);
	if (opt.help) {
		print_verb_help(verb);
		return OK;
	}
	count = argc - optind - 1;
	/* A device that is chosen by words takes the place of the first argument. */
	replaced = given & OPT_CHOOSE & verb->options ? 1 : 0;
	if (count < verb->least - replaced || count > verb->most - replaced)
		return complain(USAGE, 0, "too %s arguments; usage: lendctl %s %s",
				count < verb->least - replaced ? "few" : "many",
				verb->name, verb->arguments);
	if (given & ~verb->options)
		return usage("\"%s\" does not take this option", verb->name);
	if (given & (OPT_CHOOSE | OPT_NODE) && !opt.choice.device)
		return usage("to choose a device, give its name: lendctl %s --device NAME",
			     verb->name);
	status = parse_arguments(verb, argv + optind + 1, &request);
	if (status == OK)
		status = verb->run(verb, &request);
	if (fflush(stdout) != 0 && status == OK)
		status = complain(REFUSED, errno, "output: %s",
				  strerror(errno));
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only
/* lendctl: what its verbs do, except borrow. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lendctl.h"

/* Refuses an order for a device that is in use, and names the users. */
static int refuse_use(const struct lend_users *users, const char *what)
{
	char text[800] = "";
	unsigned int i;

	for (i = 0; i < users->n; i++) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s",
			 i ? ", " : "", users->text[i]);
	}
	return complain(REFUSED, EBUSY, "%s: it is in use: %s", what, text);
}

/* Prints the device as an object, for programs. */
static int print_json(__u32 id)
{
	struct dl_ctl_device device;

	if (find_device(id, &device) < 0)
		return REFUSED;
	lend_json_device(stdout, &device, NULL);
	putchar('\n');
	return OK;
}

int run_list(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_device *devices;
	struct dl_ctl_node *nodes;
	unsigned int n_devices, n_nodes;

	(void)verb;
	(void)request;
	devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n_devices);
	if (!devices)
		return REFUSED;
	nodes = fetch(DL_CTL_NODES, sizeof(*nodes), &n_nodes);
	if (!nodes) {
		free(devices);
		return REFUSED;
	}
	if (opt.json)
		lend_json_list(stdout, devices, n_devices, nodes, n_nodes, NULL);
	else
		lend_print_list(stdout, devices, n_devices, nodes, n_nodes, NULL);
	free(nodes);
	free(devices);
	return OK;
}

int run_inventory(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_choices choices = {};

	(void)verb;
	(void)request;
	if (!lend_choices_read(&choices, "", NULL))
		return complain(REFUSED, ENOMEM, "no memory");
	lend_print_inventory(stdout, &choices, opt.json);
	lend_choices_free(&choices);
	return OK;
}

int choose(bool own, struct dl_ctl_request *request)
{
	const struct lend_choice *choice = NULL;
	struct lend_choices choices = {};
	struct dl_ctl_device *devices = NULL;
	char why[LEND_WHY] = "no memory";
	unsigned int n, i, others = 0;
	bool ok, own_too;

	if (own) {
		ok = lend_choices_read(&choices, "", NULL);
	} else {
		devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n);
		if (!devices)
			return REFUSED;
		for (i = 0; i < n; i++)
			others += !(devices[i].flags & DL_CTL_OWN);
		/* Without a device of another node, this node may lend to itself (loopback). */
		for (i = 0, own_too = !others, others = 0; i < n; i++)
			if (own_too || !(devices[i].flags & DL_CTL_OWN))
				devices[others++] = devices[i];
		ok = lend_choices_take(&choices, devices, others, NULL);
	}
	if (ok)
		choice = lend_choose(&choices, &opt.choice, why);
	if (choice && own)
		request->function = choice->function;
	else if (choice)
		request->id = choice->id;
	free(devices);
	lend_choices_free(&choices);
	return choice ? OK : complain(REFUSED, ENODEV, "%s", why);
}

int run_add(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT], text[LEND_TEXT];

	if (opt.choice.device && choose(true, request) != OK)
		return REFUSED;
	request->fabric = lend_fabric("", &request->function);
	snprintf(what, sizeof(what), "%s cannot be %s",
		 lend_function_text(&request->function, text), verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (opt.json)
		return print_json(request->id);
	printf("ID: %x\n", request->id);
	if (opt.choice.device)
		printf("Function: %s\n", lend_function_text(&request->function, text));
	return OK;
}

int run_by_id(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT];

	snprintf(what, sizeof(what), "device %x cannot be %s", request->id,
		 verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (!opt.json)
		return OK;
	/* After "remove" and "return" the device may not be in the list any more. */
	if (verb->number != DL_CTL_REMOVE && verb->number != DL_CTL_RETURN)
		return print_json(request->id);
	printf("{\"id\": \"%x\"}\n", request->id);
	return OK;
}

int run_available(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_users users = {};
	struct dl_ctl_device device;
	char what[LEND_TEXT];
	int status;

	if (find_device(request->id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_OWN))
		return complain(REFUSED, ENODEV,
				"device %x is plugged into node %u; make it available there",
				request->id, device.node);
	/* A device that is not local has no user on this node. */
	if (device.state == DL_CTL_LOCAL)
		lend_users_find(&users, "", &device.function);
	if (users.n > 0) {
		snprintf(what, sizeof(what), "device %x cannot be %s",
			 request->id, verb->done);
		return refuse_use(&users, what);
	}
	status = run_by_id(verb, request);
	/* VFIO passes on such devices, too. */
	if (status == OK && !lend_has_reset("", &device.function))
		fprintf(stderr,
			"lendctl: warning: device %x has no way to be reset, so each user finds it in the state that the last one left\n",
			request->id);
	return status;
}

long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int run_return(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_users users = {};
	struct dl_ctl_device device;
	char what[LEND_TEXT];

	if (find_device(request->id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_HERE))
		return complain(REFUSED, ENOENT,
				"device %x is not borrowed by this node",
				request->id);
	if (!opt.force)
		lend_users_find(&users, "", &device.local);
	if (users.n > 0) {
		snprintf(what, sizeof(what),
			 "device %x is not returned (--force returns it nevertheless)",
			 request->id);
		return refuse_use(&users, what);
	}
	return run_by_id(verb, request);
}

/*
 * Sets @ret_is to whether the node is in the wanted state, @up or not. A node is up if one
 * of its adapters is up. Return: true, or false after a complaint.
 */
static bool node_is(__u32 node, bool up, bool *ret_is)
{
	struct dl_ctl_node *nodes;
	unsigned int n, i;
	bool any = false;

	nodes = fetch(DL_CTL_NODES, sizeof(*nodes), &n);
	if (!nodes)
		return false;
	for (i = 0; i < n; i++)
		if (nodes[i].node == node && nodes[i].state == DL_CTL_NODE_UP)
			any = true;
	free(nodes);
	*ret_is = any == up;
	return true;
}

int run_session(const struct verb *verb, struct dl_ctl_request *request)
{
	bool up = verb->number == DL_CTL_CONNECT;
	long long end = now_ms() + opt.wait_ms;
	char what[LEND_TEXT];
	bool is;

	snprintf(what, sizeof(what), "node %u cannot be %s", request->node,
		 verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	for (;;) {
		if (!node_is(request->node, up, &is))
			return REFUSED;
		if (is)
			break;
		if (now_ms() >= end)
			return complain(REFUSED, ETIMEDOUT,
					"node %u is not %s after %d ms; is it running, its adapter's link up and dl_fabric loaded?",
					request->node, verb->done, opt.wait_ms);
		poll(NULL, 0, 20);
	}
	if (opt.json)
		printf("{\"node\": %u, \"connected\": %s}\n", request->node,
		       up ? "true" : "false");
	return OK;
}

int run_p2p(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT];

	snprintf(what, sizeof(what), "peer-to-peer from device %x to device %x cannot be %s",
		 request->id, request->target, verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (opt.json)
		printf("{\"source\": \"%x\", \"target\": \"%x\", \"enabled\": %s}\n",
		       request->id, request->target,
		       verb->number == DL_CTL_ENABLE_P2P ? "true" : "false");
	return OK;
}

int run_list_p2p(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_p2p *pairs;
	unsigned int n;

	(void)verb;
	(void)request;
	pairs = fetch(DL_CTL_P2P, sizeof(*pairs), &n);
	if (!pairs)
		return REFUSED;
	if (opt.json)
		lend_json_p2p(stdout, pairs, n);
	else
		lend_print_p2p(stdout, pairs, n);
	free(pairs);
	return OK;
}

int run_allow(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT];

	snprintf(what, sizeof(what), "\"%s\" cannot be %s", request->pattern, verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (opt.json) {
		fputs("{\"devices\": ", stdout);
		lend_json_string(stdout, request->pattern);
		printf(", \"allowed\": %s}\n",
		       verb->number == DL_CTL_ALLOW ? "true" : "false");
	}
	return OK;
}

int run_list_allowed(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_pattern *patterns;
	unsigned int n, i;

	(void)verb;
	(void)request;
	patterns = fetch(DL_CTL_ALLOWED, sizeof(*patterns), &n);
	if (!patterns)
		return REFUSED;
	if (opt.json)
		fputs("{\"allowed\": [", stdout);
	for (i = 0; i < n; i++) {
		if (!opt.json) {
			puts(patterns[i].text);
			continue;
		}
		fputs(i ? ", " : "", stdout);
		lend_json_string(stdout, patterns[i].text);
	}
	if (opt.json)
		puts("]}");
	free(patterns);
	return OK;
}

int run_online(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_virtual what;
	bool online = strcmp(verb->name, "online") == 0;
	char why[LEND_TEXT], text[LEND_TEXT];

	lend_function_text(&request->function, text);
	if (!lend_virtual_find("", &request->function, &what, why))
		return complain(REFUSED, 0, "%s cannot be %s: %s", text, verb->done, why);
	what.queues = opt.queues;
	what.interrupts = opt.interrupts;
	if (!lend_virtual_set("", &what, online, why))
		return complain(REFUSED, 0, "%s cannot be %s: %s", text, verb->done, why);
	if (opt.json) {
		printf("{\"function\": \"%s\", \"online\": %s", text,
		       online ? "true" : "false");
		if (online)
			printf(", \"queues\": %u, \"interrupts\": %u", what.queues,
			       what.interrupts);
		puts("}");
	} else if (online) {
		printf("Queues: %u\nInterrupts: %u\n", what.queues, what.interrupts);
	}
	return OK;
}

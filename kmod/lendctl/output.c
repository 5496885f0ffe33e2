// SPDX-License-Identifier: GPL-2.0-only
/* Lists of devices and nodes, for people and for programs. */
#include <string.h>

#include "lend.h"

static const char *node_state(const struct dl_ctl_node *node)
{
	static const char *const states[] = {
		[DL_CTL_NODE_DISCONNECTED] = "disconnected",
		[DL_CTL_NODE_LINK_DOWN] = "link down",
		[DL_CTL_NODE_HELLO] = "waiting",
		[DL_CTL_NODE_UP] = "up",
		[DL_CTL_NODE_LOST] = "lost",
	};

	return node->state < ARRAY_SIZE(states) ? states[node->state] :
						  "unknown";
}

static void print_node(FILE *out, const struct dl_ctl_node *node)
{
	char direct[LEND_TEXT], lut[LEND_TEXT], number[16] = "-";

	if (node->node)
		snprintf(number, sizeof(number), "%u", node->node);
	fprintf(out, "%-6s %-12s %-14s", number, node->adapter,
		node_state(node));
	if (node->state == DL_CTL_NODE_UP)
		fprintf(out,
			" %u direct window%s (up to %s), %u entr%s of %s",
			node->direct_count, node->direct_count == 1 ? "" : "s",
			lend_size_text(node->direct_max, direct), node->lut_count,
			node->lut_count == 1 ? "y" : "ies",
			lend_size_text(node->lut_size, lut));
	fputc('\n', out);
}

static void print_device(FILE *out, const struct dl_ctl_device *device,
			 const char *ids)
{
	char function[LEND_TEXT], state[LEND_TEXT], window[LEND_TEXT] = "-";
	char name[LEND_TEXT], local[LEND_TEXT];

	if (device->window)
		lend_size_text(device->window, window);
	fprintf(out, "%-8x %-6u %-13s %-19s %-9s %s", device->id, device->node,
		lend_function_text(&device->function, function),
		lend_state_text(device, state), window,
		lend_name(device, ids, name));
	if (device->flags & DL_CTL_HERE)
		fprintf(out, " (here %s)",
			lend_function_text(&device->local, local));
	fputc('\n', out);
}

void lend_print_list(FILE *out, const struct dl_ctl_device *devices,
		     unsigned int n_devices, const struct dl_ctl_node *nodes,
		     unsigned int n_nodes, const char *ids)
{
	unsigned int i;

	fputs("ID       Node   Device        State               Window    Name\n",
	      out);
	for (i = 0; i < n_devices; i++)
		print_device(out, &devices[i], ids);
	fputs("\nNode   Adapter      State          Free towards this node\n",
	      out);
	for (i = 0; i < n_nodes; i++)
		print_node(out, &nodes[i]);
}

static const struct {
	const char *text, *json;
} p2p_paths[] = {
	[DL_CTL_P2P_ONE_LENDER] = { "within the lender", "one-lender" },
	[DL_CTL_P2P_TWO_LENDERS] = { "lender to lender", "two-lenders" },
	[DL_CTL_P2P_BORROWER] = { "lender and this node", "borrower" },
};

void lend_print_p2p(FILE *out, const struct dl_ctl_p2p *pairs, unsigned int n)
{
	unsigned int i;

	fputs("From     To       Way                   Mappings\n", out);
	for (i = 0; i < n; i++)
		fprintf(out, "%-8x %-8x %-21s %u\n", pairs[i].source, pairs[i].target,
			pairs[i].path < ARRAY_SIZE(p2p_paths) ?
			p2p_paths[pairs[i].path].text : "unknown",
			pairs[i].mappings);
}

void lend_json_p2p(FILE *out, const struct dl_ctl_p2p *pairs, unsigned int n)
{
	unsigned int i;

	fputs("{\"p2p\": [", out);
	for (i = 0; i < n; i++)
		fprintf(out,
			"%s{\"source\": \"%x\", \"target\": \"%x\", \"path\": \"%s\", \"mappings\": %u}",
			i ? ",\n  " : "\n  ", pairs[i].source, pairs[i].target,
			pairs[i].path < ARRAY_SIZE(p2p_paths) ?
			p2p_paths[pairs[i].path].json : "unknown",
			pairs[i].mappings);
	fputs("]}\n", out);
}

/* Return: bytes of the UTF-8 sequence that @text begins with; 0 if there is none. */
static unsigned int utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		__u32 least;
	} forms[] = {
		{ 0x80, 0x00, 0 },
		{ 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};
	unsigned int length, i;
	__u32 code;

	for (length = 1; length <= 4; length++)
		if ((text[0] & forms[length - 1].mask) == forms[length - 1].lead)
			break;
	if (length > 4)
		return 0;
	code = text[0] & ~forms[length - 1].mask & 0xff;
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < forms[length - 1].least || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

void lend_json_string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		unsigned int length = utf8_length(at);

		if (length == 0) {
			fputs("\\ufffd", out);
			at++;
			continue;
		}
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, length, out);
		at += length;
	}
	fputc('"', out);
}

static void json_function(FILE *out, const char *key, bool given,
			  const struct dl_ctl_function *function)
{
	char text[LEND_TEXT];

	if (given)
		fprintf(out, ", \"%s\": \"%s\"", key,
			lend_function_text(function, text));
	else
		fprintf(out, ", \"%s\": null", key);
}

void lend_json_device(FILE *out, const struct dl_ctl_device *device,
		      const char *ids)
{
	static const char *const states[] = { "local", "available", "borrowed" };
	bool here = device->flags & DL_CTL_HERE;
	char name[LEND_TEXT];

	fprintf(out, "{\"id\": \"%x\", \"node\": %u, \"own\": %s", device->id,
		device->node, device->flags & DL_CTL_OWN ? "true" : "false");
	json_function(out, "device", true, &device->function);
	fprintf(out, ", \"state\": \"%s\", \"borrower\": ",
		device->state < 3 ? states[device->state] : "unknown");
	if (device->borrower)
		fprintf(out, "%u", device->borrower);
	else
		fputs("null", out);
	json_function(out, "here", here, &device->local);
	fprintf(out, ", \"window\": %llu", (unsigned long long)device->window);
	if (here)
		fprintf(out, ", \"window_free\": %llu",
			(unsigned long long)device->window_free);
	fprintf(out,
		", \"pci\": {\"vendor\": \"%04x\", \"device\": \"%04x\", \"subsystem_vendor\": \"%04x\", \"subsystem_device\": \"%04x\", \"class\": \"%06x\"}",
		device->vendor, device->device, device->subsystem_vendor,
		device->subsystem_device, device->class);
	fputs(", \"name\": ", out);
	lend_json_string(out, lend_name(device, ids, name));
	fputs(", \"driver\": ", out);
	if (device->driver[0])
		lend_json_string(out, device->driver);
	else
		fputs("null", out);
	fputc('}', out);
}

static void json_node(FILE *out, const struct dl_ctl_node *node)
{
	fprintf(out, "{\"node\": %u, \"self\": %u, \"adapter\": ", node->node,
		node->self);
	lend_json_string(out, node->adapter);
	fprintf(out,
		", \"state\": \"%s\", \"free\": {\"direct_count\": %u, \"direct_max\": %llu, \"lut_count\": %u, \"lut_size\": %llu}}",
		node_state(node), node->direct_count,
		(unsigned long long)node->direct_max, node->lut_count,
		(unsigned long long)node->lut_size);
}

void lend_json_list(FILE *out, const struct dl_ctl_device *devices,
		    unsigned int n_devices, const struct dl_ctl_node *nodes,
		    unsigned int n_nodes, const char *ids)
{
	unsigned int i;

	fputs("{\"devices\": [", out);
	for (i = 0; i < n_devices; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		lend_json_device(out, &devices[i], ids);
	}
	fputs("],\n\"nodes\": [", out);
	for (i = 0; i < n_nodes; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_node(out, &nodes[i]);
	}
	fputs("]}\n", out);
}

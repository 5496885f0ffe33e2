// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flow steering: rules of ethtool that give a flow of TCP or UDP over IPv4 to a queue. A field
 * of a rule counts whole or not at all.
 */
#include "fnic_driver.h"

/* Bits of a rule's action for the fields of its mask */
static u32 fnic_rule_match(const struct ethtool_tcpip4_spec *mask)
{
	return (mask->ip4src ? NIC_ACTION_MATCH_SRC : 0) |
	       (mask->ip4dst ? NIC_ACTION_MATCH_DST : 0) |
	       (mask->psrc ? NIC_ACTION_MATCH_SPORT : 0) |
	       (mask->pdst ? NIC_ACTION_MATCH_DPORT : 0);
}

static void fnic_rule_write(struct fnic *nic, unsigned int i)
{
	void __iomem *regs = nic->regs + NIC_RULE + i * NIC_RULE_STRIDE;
	const struct ethtool_rx_flow_spec *spec = &nic->rules[i].spec;
	const struct ethtool_tcpip4_spec *flow = &spec->h_u.tcp_ip4_spec;
	u32 action = NIC_ACTION_VALID;

	/* No packet sees a rule that is written in part. */
	writel(0, regs + NIC_RULE_ACTION);
	if (!nic->rules[i].valid)
		return;
	writel(be32_to_cpu(flow->ip4src), regs + NIC_RULE_SRC);
	writel(be32_to_cpu(flow->ip4dst), regs + NIC_RULE_DST);
	writel(be16_to_cpu(flow->psrc) << 16 | be16_to_cpu(flow->pdst),
	       regs + NIC_RULE_PORTS);
	action |= fnic_rule_match(&spec->m_u.tcp_ip4_spec);
	action |= spec->flow_type == TCP_V4_FLOW ? NIC_ACTION_TCP : NIC_ACTION_UDP;
	action |= spec->ring_cookie == RX_CLS_FLOW_DISC ? NIC_ACTION_DROP :
							  spec->ring_cookie;
	writel(action, regs + NIC_RULE_ACTION);
}

void fnic_rules_write(struct fnic *nic)
{
	unsigned int i;

	for (i = 0; i < NIC_RULE_COUNT; i++)
		fnic_rule_write(nic, i);
}

void fnic_rules_clear(struct fnic *nic)
{
	memset(nic->rules, 0, sizeof(nic->rules));
	fnic_rules_write(nic);
}

bool fnic_rules_use(struct fnic *nic, unsigned int first)
{
	unsigned int i;

	for (i = 0; i < NIC_RULE_COUNT; i++)
		if (nic->rules[i].valid && nic->rules[i].spec.ring_cookie >= first &&
		    nic->rules[i].spec.ring_cookie != RX_CLS_FLOW_DISC)
			return true;
	return false;
}

/* Lists the places of all rules; @locs is NULL if only their number is asked for. */
static int fnic_rules_list(struct fnic *nic, struct ethtool_rxnfc *c, u32 *locs)
{
	u32 i, n = 0;

	for (i = 0; i < NIC_RULE_COUNT; i++) {
		if (!nic->rules[i].valid)
			continue;
		if (locs && n >= c->rule_cnt)
			return -EMSGSIZE;
		if (locs)
			locs[n] = i;
		n++;
	}
	c->rule_cnt = n;
	c->data = NIC_RULE_COUNT;
	return 0;
}

int fnic_get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c, u32 *locs)
{
	struct fnic *nic = netdev_priv(dev);

	switch (c->cmd) {
	case ETHTOOL_GRXRINGS:
		c->data = dev->real_num_rx_queues;
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		return fnic_rules_list(nic, c, NULL);
	case ETHTOOL_GRXCLSRLALL:
		return fnic_rules_list(nic, c, locs);
	case ETHTOOL_GRXCLSRULE:
		if (c->fs.location >= NIC_RULE_COUNT ||
		    !nic->rules[c->fs.location].valid)
			return -ENOENT;
		c->fs = nic->rules[c->fs.location].spec;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static bool fnic_all_or_none(u32 mask, u32 all)
{
	return !mask || mask == all;
}

/* Return: 0, or an error if the device has no such rules. */
static int fnic_rule_check(struct net_device *dev, const struct ethtool_rx_flow_spec *spec)
{
	const struct ethtool_tcpip4_spec *mask = &spec->m_u.tcp_ip4_spec;

	if (spec->flow_type != TCP_V4_FLOW && spec->flow_type != UDP_V4_FLOW)
		return -EOPNOTSUPP;
	if (mask->tos || !fnic_all_or_none((__force u32)mask->ip4src, ~0u) ||
	    !fnic_all_or_none((__force u32)mask->ip4dst, ~0u) ||
	    !fnic_all_or_none((__force u16)mask->psrc, 0xffff) ||
	    !fnic_all_or_none((__force u16)mask->pdst, 0xffff))
		return -EOPNOTSUPP;
	if (spec->ring_cookie != RX_CLS_FLOW_DISC &&
	    spec->ring_cookie >= dev->real_num_rx_queues)
		return -EINVAL;
	return 0;
}

int fnic_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c)
{
	struct fnic *nic = netdev_priv(dev);
	u32 i = c->fs.location;
	int err;

	if (i >= NIC_RULE_COUNT)
		return -EINVAL;
	switch (c->cmd) {
	case ETHTOOL_SRXCLSRLDEL:
		if (!nic->rules[i].valid)
			return -ENOENT;
		nic->rules[i].valid = false;
		break;
	case ETHTOOL_SRXCLSRLINS:
		if (!(dev->features & NETIF_F_NTUPLE))
			return -EOPNOTSUPP;
		err = fnic_rule_check(dev, &c->fs);
		if (err)
			return err;
		nic->rules[i].spec = c->fs;
		nic->rules[i].valid = true;
		break;
	default:
		return -EOPNOTSUPP;
	}
	fnic_rule_write(nic, i);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The values that qemu-dev/switchtec_regs.h and the kernel's switchtec.h must
 * agree on: FACT(our name, their expression). Two files include this one, since
 * the two headers have names in common and cannot be included together.
 */

/* Management calls */
FACT(SWITCHTEC_MRPC_INPUT,
     SWITCHTEC_GAS_MRPC_OFFSET + offsetof(struct mrpc_regs, input_data))
FACT(SWITCHTEC_MRPC_OUTPUT, offsetof(struct mrpc_regs, output_data))
FACT(SWITCHTEC_MRPC_PAYLOAD, SWITCHTEC_MRPC_PAYLOAD_SIZE)
FACT(SWITCHTEC_MRPC_CMD, offsetof(struct mrpc_regs, cmd))
FACT(SWITCHTEC_MRPC_STATUS, offsetof(struct mrpc_regs, status))
FACT(SWITCHTEC_MRPC_RET, offsetof(struct mrpc_regs, ret_value))
FACT(SWITCHTEC_MRPC_DMA_EN, offsetof(struct mrpc_regs, dma_en))
FACT(SWITCHTEC_MRPC_DMA_ADDR, offsetof(struct mrpc_regs, dma_addr))
FACT(SWITCHTEC_MRPC_DMA_VECTOR, offsetof(struct mrpc_regs, dma_vector))
FACT(SWITCHTEC_MRPC_DMA_VER, offsetof(struct mrpc_regs, dma_ver))
FACT(SWITCHTEC_MRPC_CMD_ID_MASK, MRPC_CMD_ID(0xffffffffu))
FACT(SWITCHTEC_MRPC_GAS_READ, MRPC_GAS_READ)
FACT(SWITCHTEC_MRPC_STATUS_DONE, SWITCHTEC_MRPC_STATUS_DONE)
FACT(SWITCHTEC_MRPC_STATUS_ERROR, SWITCHTEC_MRPC_STATUS_ERROR)
FACT(SWITCHTEC_MAX_PFF, SWITCHTEC_MAX_PFF_CSR)

/* Software events */
#define SW(field)                                                              \
    (SWITCHTEC_GAS_SW_EVENT_OFFSET + offsetof(struct sw_event_regs, field))
FACT(SWITCHTEC_SW_EVENT, SWITCHTEC_GAS_SW_EVENT_OFFSET)
FACT(SWITCHTEC_SW_EVENT_PART_BITMAP, SW(part_event_bitmap))
FACT(SWITCHTEC_SW_EVENT_GLOBAL_SUMMARY, SW(global_summary))
FACT(SWITCHTEC_SW_EVENT_HDR, SW(stack_error_event_hdr))
FACT(SWITCHTEC_SW_EVENT_STRIDE,
     SW(ppu_error_event_hdr) - SW(stack_error_event_hdr))
FACT(SWITCHTEC_SW_EVENT_COUNT,
     1 + (SW(gfms_event_hdr) - SW(stack_error_event_hdr)) / 0x18)
FACT(SWITCHTEC_EVENT_OCCURRED, SWITCHTEC_EVENT_OCCURRED)
FACT(SWITCHTEC_EVENT_EN_LOG, SWITCHTEC_EVENT_EN_LOG)
FACT(SWITCHTEC_EVENT_EN_CLI, SWITCHTEC_EVENT_EN_CLI)
FACT(SWITCHTEC_EVENT_EN_IRQ, SWITCHTEC_EVENT_EN_IRQ)
FACT(SWITCHTEC_EVENT_FATAL, SWITCHTEC_EVENT_FATAL)
FACT(SWITCHTEC_EVENT_NOT_SUPP, SWITCHTEC_EVENT_NOT_SUPP)

/* System information */
FACT(SWITCHTEC_SYS_INFO, SWITCHTEC_GAS_SYS_INFO_OFFSET)
FACT(SWITCHTEC_SYS_DEVICE_ID, offsetof(struct sys_info_regs, device_id))
FACT(SWITCHTEC_SYS_DEVICE_VERSION,
     offsetof(struct sys_info_regs, device_version))
FACT(SWITCHTEC_SYS_FIRMWARE_VERSION,
     offsetof(struct sys_info_regs, firmware_version))
FACT(SWITCHTEC_SYS_GEN3_PARTITION_ID,
     offsetof(struct sys_info_regs, gen3.partition_id))
FACT(SWITCHTEC_SYS_GEN3_VENDOR, offsetof(struct sys_info_regs, gen3.vendor_id))
FACT(SWITCHTEC_SYS_GEN3_PRODUCT,
     offsetof(struct sys_info_regs, gen3.product_id))
FACT(SWITCHTEC_SYS_GEN3_REVISION,
     offsetof(struct sys_info_regs, gen3.product_revision))
FACT(SWITCHTEC_SYS_GEN3_COMPONENT_VENDOR,
     offsetof(struct sys_info_regs, gen3.component_vendor))
FACT(SWITCHTEC_SYS_GEN3_COMPONENT_ID,
     offsetof(struct sys_info_regs, gen3.component_id))
FACT(SWITCHTEC_SYS_GEN3_COMPONENT_REVISION,
     offsetof(struct sys_info_regs, gen3.component_revision))
FACT(SWITCHTEC_SYS_GEN4_PARTITION_ID,
     offsetof(struct sys_info_regs, gen4.partition_id))
FACT(SWITCHTEC_SYS_GEN4_VENDOR, offsetof(struct sys_info_regs, gen4.vendor_id))
FACT(SWITCHTEC_SYS_GEN4_PRODUCT,
     offsetof(struct sys_info_regs, gen4.product_id))
FACT(SWITCHTEC_SYS_GEN4_REVISION,
     offsetof(struct sys_info_regs, gen4.product_revision))

/* Partition configuration */
FACT(SWITCHTEC_PART_CFG, SWITCHTEC_GAS_PART_CFG_OFFSET)
FACT(SWITCHTEC_PART_CFG_STRIDE, sizeof(struct part_cfg_regs))
FACT(SWITCHTEC_PART_STATUS, offsetof(struct part_cfg_regs, status))
FACT(SWITCHTEC_PART_STATE, offsetof(struct part_cfg_regs, state))
FACT(SWITCHTEC_PART_PORT_CNT, offsetof(struct part_cfg_regs, port_cnt))
FACT(SWITCHTEC_PART_USP_MODE, offsetof(struct part_cfg_regs, usp_port_mode))
FACT(SWITCHTEC_PART_USP_PFF, offsetof(struct part_cfg_regs, usp_pff_inst_id))
FACT(SWITCHTEC_PART_VEP_PFF, offsetof(struct part_cfg_regs, vep_pff_inst_id))
FACT(SWITCHTEC_PART_DSP_PFF, offsetof(struct part_cfg_regs, dsp_pff_inst_id))
FACT(SWITCHTEC_PART_DSP_PFF_COUNT,
     sizeof(((struct part_cfg_regs *)0)->dsp_pff_inst_id) / 4)
FACT(SWITCHTEC_PART_VECTORS, offsetof(struct part_cfg_regs, vep_vector_number))
FACT(SWITCHTEC_PART_EVENT_SUMMARY,
     offsetof(struct part_cfg_regs, part_event_summary))
FACT(SWITCHTEC_PART_EVENT_HDR, offsetof(struct part_cfg_regs, part_reset_hdr))
FACT(SWITCHTEC_PART_EVENT_STRIDE,
     offsetof(struct part_cfg_regs, mrpc_comp_hdr) -
         offsetof(struct part_cfg_regs, part_reset_hdr))
FACT(SWITCHTEC_PART_EVENT_COUNT,
     1 + (offsetof(struct part_cfg_regs, intercomm_notify_hdr) -
          offsetof(struct part_cfg_regs, part_reset_hdr)) /
             0x18)
FACT(1u << SWITCHTEC_PART_EVENT_MRPC_COMP, SWITCHTEC_PART_CFG_EVENT_MRPC_CMP)

/* NTB information */
#define INFO(field)                                                            \
    (SWITCHTEC_GAS_NTB_OFFSET + SWITCHTEC_NTB_REG_INFO_OFFSET +                \
     offsetof(struct ntb_info_regs, field))
FACT(SWITCHTEC_NTB_PARTITION_COUNT, INFO(partition_count))
FACT(SWITCHTEC_NTB_EP_MAP, INFO(ep_map))
FACT(SWITCHTEC_NTB_REQUESTER_ID, INFO(requester_id))
FACT(SWITCHTEC_NTB_PART_INFO, INFO(ntp_info))
FACT(SWITCHTEC_NTB_PART_INFO_STRIDE, sizeof(struct nt_partition_info))
FACT(SWITCHTEC_NTB_PART_XLINK,
     offsetof(struct nt_partition_info, xlink_enabled))
FACT(SWITCHTEC_NTB_PART_TARGET_LOW,
     offsetof(struct nt_partition_info, target_part_low))
FACT(SWITCHTEC_NTB_PART_TARGET_HIGH,
     offsetof(struct nt_partition_info, target_part_high))
FACT(SWITCHTEC_PARTITIONS, sizeof(((struct ntb_info_regs *)0)->ntp_info) /
                               sizeof(struct nt_partition_info))

/* NTB control */
FACT(SWITCHTEC_NTB_CTRL,
     SWITCHTEC_GAS_NTB_OFFSET + SWITCHTEC_NTB_REG_CTRL_OFFSET)
FACT(SWITCHTEC_NTB_CTRL_STRIDE, sizeof(struct ntb_ctrl_regs))
FACT(SWITCHTEC_CTRL_STATUS, offsetof(struct ntb_ctrl_regs, partition_status))
FACT(SWITCHTEC_CTRL_OP, offsetof(struct ntb_ctrl_regs, partition_op))
FACT(SWITCHTEC_CTRL_BAR_ERROR, offsetof(struct ntb_ctrl_regs, bar_error))
FACT(SWITCHTEC_CTRL_LUT_TABLE,
     offsetof(struct ntb_ctrl_regs, lut_table_entries))
FACT(SWITCHTEC_CTRL_LUT_ERROR, offsetof(struct ntb_ctrl_regs, lut_error))
FACT(SWITCHTEC_CTRL_REQ_ID_TABLE,
     offsetof(struct ntb_ctrl_regs, req_id_table_size))
FACT(SWITCHTEC_CTRL_REQ_ID_ERROR, offsetof(struct ntb_ctrl_regs, req_id_error))
FACT(SWITCHTEC_CTRL_BAR_ENTRY, offsetof(struct ntb_ctrl_regs, bar_entry))
FACT(SWITCHTEC_CTRL_BAR_ENTRY_STRIDE,
     offsetof(struct ntb_ctrl_regs, bar_entry[1]) -
         offsetof(struct ntb_ctrl_regs, bar_entry[0]))
FACT(SWITCHTEC_CTRL_BAR_ENTRY + SWITCHTEC_CTRL_BAR_CTL,
     offsetof(struct ntb_ctrl_regs, bar_entry[0].ctl))
FACT(SWITCHTEC_CTRL_BAR_ENTRY + SWITCHTEC_CTRL_BAR_WIN_SIZE,
     offsetof(struct ntb_ctrl_regs, bar_entry[0].win_size))
FACT(SWITCHTEC_CTRL_BAR_ENTRY + SWITCHTEC_CTRL_BAR_XLATE_LOW,
     offsetof(struct ntb_ctrl_regs, bar_entry[0].xlate_addr))
FACT(SWITCHTEC_CTRL_BAR_EXT, offsetof(struct ntb_ctrl_regs, bar_ext_entry))
FACT(SWITCHTEC_CTRL_BAR_EXT_STRIDE,
     offsetof(struct ntb_ctrl_regs, bar_ext_entry[1]) -
         offsetof(struct ntb_ctrl_regs, bar_ext_entry[0]))
FACT(SWITCHTEC_CTRL_REQ_ID, offsetof(struct ntb_ctrl_regs, req_id_table))
FACT(SWITCHTEC_CTRL_LUT, offsetof(struct ntb_ctrl_regs, lut_entry))
FACT(SWITCHTEC_BARS, sizeof(((struct ntb_ctrl_regs *)0)->bar_entry) / 0x10)
FACT(SWITCHTEC_MAX_LUT, sizeof(((struct ntb_ctrl_regs *)0)->lut_entry) / 8)
FACT(SWITCHTEC_MAX_REQ_ID,
     sizeof(((struct ntb_ctrl_regs *)0)->req_id_table) / 4)
FACT(SWITCHTEC_OP_LOCK, NTB_CTRL_PART_OP_LOCK)
FACT(SWITCHTEC_OP_CFG, NTB_CTRL_PART_OP_CFG)
FACT(SWITCHTEC_OP_RESET, NTB_CTRL_PART_OP_RESET)
FACT(SWITCHTEC_STATUS_NORMAL, NTB_CTRL_PART_STATUS_NORMAL)
FACT(SWITCHTEC_STATUS_LOCKED, NTB_CTRL_PART_STATUS_LOCKED)
FACT(SWITCHTEC_STATUS_LOCKING, NTB_CTRL_PART_STATUS_LOCKING)
FACT(SWITCHTEC_STATUS_CONFIGURING, NTB_CTRL_PART_STATUS_CONFIGURING)
FACT(SWITCHTEC_BAR_VALID, NTB_CTRL_BAR_VALID)
FACT(SWITCHTEC_BAR_DIR_EN, NTB_CTRL_BAR_DIR_WIN_EN)
FACT(SWITCHTEC_BAR_LUT_EN, NTB_CTRL_BAR_LUT_WIN_EN)
FACT(SWITCHTEC_LUT_EN, NTB_CTRL_LUT_EN)
FACT(SWITCHTEC_REQ_ID_EN, NTB_CTRL_REQ_ID_EN)

/* Doorbells and messages */
FACT(SWITCHTEC_NTB_DBMSG,
     SWITCHTEC_GAS_NTB_OFFSET + SWITCHTEC_NTB_REG_DBMSG_OFFSET)
FACT(SWITCHTEC_NTB_DBMSG_STRIDE, sizeof(struct ntb_dbmsg_regs))
FACT(SWITCHTEC_DBMSG_ODB, offsetof(struct ntb_dbmsg_regs, odb))
FACT(SWITCHTEC_DBMSG_ODB_MASK, offsetof(struct ntb_dbmsg_regs, odb_mask))
FACT(SWITCHTEC_DBMSG_IDB, offsetof(struct ntb_dbmsg_regs, idb))
FACT(SWITCHTEC_DBMSG_IDB_MASK, offsetof(struct ntb_dbmsg_regs, idb_mask))
FACT(SWITCHTEC_DBMSG_VEC_MAP, offsetof(struct ntb_dbmsg_regs, idb_vec_map))
FACT(SWITCHTEC_DBMSG_MSG_MAP, offsetof(struct ntb_dbmsg_regs, msg_map))
FACT(SWITCHTEC_DBMSG_OMSG, offsetof(struct ntb_dbmsg_regs, omsg))
FACT(SWITCHTEC_DBMSG_IMSG, offsetof(struct ntb_dbmsg_regs, imsg))
FACT(SWITCHTEC_DBMSG_MSIX, offsetof(struct ntb_dbmsg_regs, msix_table))
FACT(SWITCHTEC_DBMSG_PBA, offsetof(struct ntb_dbmsg_regs, pba))
FACT(SWITCHTEC_DOORBELLS, sizeof(((struct ntb_dbmsg_regs *)0)->idb_vec_map))
FACT(SWITCHTEC_MSGS, sizeof(((struct ntb_dbmsg_regs *)0)->imsg) / 8)
FACT(SWITCHTEC_MSIX_MAX, sizeof(((struct ntb_dbmsg_regs *)0)->msix_table) / 16)
FACT((uint64_t)SWITCHTEC_IMSG_STATUS << 32, NTB_DBMSG_IMSG_STATUS)
FACT((uint64_t)SWITCHTEC_IMSG_ENABLE << 32, NTB_DBMSG_IMSG_MASK)

/* Port functions */
FACT(SWITCHTEC_PFF, SWITCHTEC_GAS_PFF_CSR_OFFSET)
FACT(SWITCHTEC_PFF_STRIDE, sizeof(struct pff_csr_regs))
FACT(SWITCHTEC_PFF_ID, offsetof(struct pff_csr_regs, vendor_id))
FACT(SWITCHTEC_PFF_CLASS, offsetof(struct pff_csr_regs, pci_class))
/* ntb_hw_switchtec.c reads the speed from pci_cap_region[13]. */
FACT(SWITCHTEC_PFF_LINK, offsetof(struct pff_csr_regs, pci_cap_region[13]))
FACT(SWITCHTEC_PFF_EVENT_SUMMARY,
     offsetof(struct pff_csr_regs, pff_event_summary))
FACT(SWITCHTEC_PFF_EVENT_HDR, offsetof(struct pff_csr_regs, aer_in_p2p_hdr))
FACT(SWITCHTEC_PFF_EVENT_STRIDE,
     offsetof(struct pff_csr_regs, aer_in_vep_hdr) -
         offsetof(struct pff_csr_regs, aer_in_p2p_hdr))
FACT(SWITCHTEC_PFF_EVENT_LINK_STATE,
     (offsetof(struct pff_csr_regs, link_state_hdr) -
      offsetof(struct pff_csr_regs, aer_in_p2p_hdr)) /
         0x18)

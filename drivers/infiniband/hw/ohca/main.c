// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From a mapped function to a registered ib_device and back. */

#include <net/addrconf.h>

#include "ohca.h"

static void ohca_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	u64 version = to_ohca_dev(ibdev)->caps.firmware_version;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", (u32)(version >> 32),
		 (u16)(version >> 16), (u16)version);
}

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct ohca_dev *dev = rdma_device_to_drv_device(device, struct ohca_dev, ibdev);

	return sysfs_emit(buf, "%#x\n", dev->bus.revision);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "OHCA\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "OHCA-%u\n", OHCA_INTERFACE_VERSION);
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *ohca_attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group ohca_attr_group = {
	.attrs = ohca_attrs,
};

static const struct ib_device_ops ohca_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = OHCA_ABI_VERSION,
	.device_group = &ohca_attr_group,

	.add_gid = ohca_add_gid,
	.alloc_hw_port_stats = ohca_alloc_hw_port_stats,
	.alloc_mr = ohca_alloc_mr,
	.alloc_mr_integrity = ohca_alloc_mr_integrity,
	.alloc_mw = ohca_alloc_mw,
	.alloc_pd = ohca_alloc_pd,
	.alloc_ucontext = ohca_alloc_ucontext,
	.attach_mcast = ohca_attach_mcast,
	.alloc_xrcd = ohca_alloc_xrcd,
	.check_mr_status = ohca_check_mr_status,
	.create_ah = ohca_create_ah,
	.create_cq = ohca_create_cq,
	.create_qp = ohca_create_qp,
	.create_srq = ohca_create_srq,
	.create_user_ah = ohca_create_ah,
	.dealloc_mw = ohca_dealloc_mw,
	.dealloc_pd = ohca_dealloc_pd,
	.dealloc_ucontext = ohca_dealloc_ucontext,
	.dealloc_xrcd = ohca_dealloc_xrcd,
	.del_gid = ohca_del_gid,
	.dereg_mr = ohca_dereg_mr,
	.destroy_ah = ohca_destroy_ah,
	.destroy_cq = ohca_destroy_cq,
	.destroy_qp = ohca_destroy_qp,
	.detach_mcast = ohca_detach_mcast,
	.destroy_srq = ohca_destroy_srq,
	.disassociate_ucontext = ohca_disassociate_ucontext,
	.fill_res_cq_entry = ohca_fill_res_cq_entry,
	.fill_res_mr_entry = ohca_fill_res_mr_entry,
	.fill_res_qp_entry = ohca_fill_res_qp_entry,
	.fill_res_srq_entry = ohca_fill_res_srq_entry,
	.get_dev_fw_str = ohca_get_dev_fw_str,
	.get_dma_mr = ohca_get_dma_mr,
	.get_hw_stats = ohca_get_hw_stats,
	.get_link_layer = ohca_get_link_layer,
	.get_port_immutable = ohca_get_port_immutable,
	.get_vector_affinity = ohca_get_vector_affinity,
	.map_mr_sg = ohca_map_mr_sg,
	.map_mr_sg_pi = ohca_map_mr_sg_pi,
	.mmap = ohca_mmap,
	.mmap_free = ohca_mmap_free,
	.modify_ah = ohca_modify_ah,
	.modify_cq = ohca_modify_cq,
	.modify_qp = ohca_modify_qp,
	.modify_srq = ohca_modify_srq,
	.poll_cq = ohca_poll_cq,
	.post_recv = ohca_post_recv,
	.post_send = ohca_post_send,
	.post_srq_recv = ohca_post_srq_recv,
	.process_mad = ohca_process_mad,
	.query_ah = ohca_query_ah,
	.query_device = ohca_query_device,
	.query_pkey = ohca_query_pkey,
	.query_port = ohca_query_port,
	.query_qp = ohca_query_qp,
	.query_srq = ohca_query_srq,
	.query_ucontext = ohca_query_ucontext,
	.reg_user_mr = ohca_reg_user_mr,
	.req_notify_cq = ohca_req_notify_cq,
	.rereg_user_mr = ohca_rereg_user_mr,
	.resize_cq = ohca_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, ohca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, ohca_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, ohca_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, ohca_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, ohca_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, ohca_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, ohca_ucontext, ibucontext),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, ohca_xrcd, ibxrcd),
};

struct ohca_dev *ohca_alloc(struct device *parent)
{
	struct ohca_dev *dev = ib_alloc_device(ohca_dev, ibdev);

	if (!dev)
		return NULL;
	dev->ibdev.dev.parent = parent;
	xa_init_flags(&dev->cqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->srqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->uars, XA_FLAGS_LOCK_IRQ);
	atomic_set(&dev->next_consumer_key, 0);
	mutex_init(&dev->eqs_lock);
	ohca_op_ends_init(dev);
	ohca_op_finals_init(dev);
	ohca_async_init(&dev->async, dev);
	ohca_health_init(dev);
	ohca_port_init(dev);
	ohca_counters_init(dev);
	spin_lock_init(&dev->pma.lock);
	return dev;
}

static int ohca_register(struct ohca_dev *dev, const char *name)
{
	struct ib_device *ibdev = &dev->ibdev;
	int ret;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = dev->comp_eq_count;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->mac);
	strscpy(ibdev->node_desc, "ohca", sizeof(ibdev->node_desc));
	ib_set_device_ops(ibdev, &ohca_device_ops);
	if (IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		ibdev->driver_def = ohca_uapi_defs;

	ret = ohca_netdev_register(dev);
	if (ret)
		return ret;
	ret = -ENFILE;
	if (name[0])
		ret = ib_register_device(ibdev, name, ohca_device(dev));
	if (ret == -ENFILE)
		ret = ib_register_device(ibdev, "ohca%d", ohca_device(dev));
	if (ret) {
		ohca_netdev_unregister(dev);
		cancel_work_sync(&dev->port.work);
		return ret;
	}
	mutex_lock(&dev->event_lock);
	dev->ib_registered = true;
	mutex_unlock(&dev->event_lock);
	/* What the notifier saw during registration could not be acted upon. */
	ohca_port_update(dev);
	return 0;
}

int ohca_workqueues_alloc(struct ohca_dev *dev, const char *name)
{
	/* Memory may not come free before a file system or disk has been served by either. */
	dev->wq = alloc_workqueue("ohca-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, name);
	/* On the processor of the interrupt. */
	dev->callback_wq = alloc_workqueue("ohca-callback-%s", WQ_HIGHPRI | WQ_MEM_RECLAIM, 1,
					   name);
	if (dev->wq && dev->callback_wq)
		return 0;
	ohca_workqueues_free(dev);
	return -ENOMEM;
}

/* Also after a failed allocation. */
void ohca_workqueues_free(struct ohca_dev *dev)
{
	if (dev->callback_wq)
		destroy_workqueue(dev->callback_wq);
	if (dev->wq)
		destroy_workqueue(dev->wq);
	dev->callback_wq = NULL;
	dev->wq = NULL;
}

/*
 * Bring up a mapped function whose vectors are allocated.  @name is what the
 * device was called before a reset, or empty.
 */
int ohca_start(struct ohca_dev *dev, const char *name)
{
	int ret;

	ret = ohca_workqueues_alloc(dev, dev_name(ohca_device(dev)));
	if (ret)
		return ret;
	ohca_faults_init(dev);
	ret = ohca_hw_reset(dev);
	if (ret)
		goto err_wq;
	ret = ohca_cmdq_init(dev);
	if (ret)
		goto err_wq;
	ret = ohca_hw_enable(dev);
	if (ret)
		goto err_reset;
	ohca_change_state(dev, OHCA_STATE_LIVE);
	ret = ohca_cmd_query_device(dev, &dev->caps);
	if (ret)
		goto err_reset;
	ret = ohca_eqs_create(dev);
	if (ret)
		goto err_reset;
	ohca_health_start(dev);
	if (IS_ENABLED(CONFIG_INFINIBAND_OHCA_SELFTEST))
		ohca_selftest(dev);
	ret = ohca_register(dev, name);
	if (ret)
		goto err_eqs;
	return 0;

err_eqs:
	ohca_eqs_destroy(dev);
err_reset:
	ohca_health_stop(dev);
	ohca_op_ends_stop(dev);
	cancel_work_sync(&dev->port.work);
	if (ohca_hw_reset(dev) == -EIO)
		dev->bus.stop_dma(dev);
	ohca_cmdq_free(dev);
err_wq:
	ohca_faults_remove(dev);
	ohca_workqueues_free(dev);
	return ret;
}

/* Also of a device that has failed. */
void ohca_stop(struct ohca_dev *dev)
{
	ohca_change_state(dev, OHCA_STATE_REMOVING);
	/* Applications lose their queues; let those that poll them know. */
	ohca_mark_uars_failed(dev);
	mutex_lock(&dev->event_lock);
	dev->ib_registered = false;
	mutex_unlock(&dev->event_lock);
	/*
	 * Kernel users part from their peers in here, for which the port has
	 * to be up: without an answer the CM would try for more than a minute.
	 */
	ib_unregister_device(&dev->ibdev);
	ohca_netdev_unregister(dev);
	cancel_work_sync(&dev->port.work);

	ohca_eqs_destroy(dev);
	ohca_cmdq_stop(dev);
	ohca_health_stop(dev);
	ohca_op_ends_stop(dev);
	/* A failure in the meantime has started it again. */
	cancel_work_sync(&dev->port.work);
	if (ohca_hw_reset(dev) == -EIO)
		dev->bus.stop_dma(dev);
	ohca_cmdq_free(dev);
	ohca_faults_remove(dev);
	ohca_workqueues_free(dev);
	WARN_ON(!xa_empty(&dev->cqs) || !xa_empty(&dev->qps) || !xa_empty(&dev->srqs) ||
		!xa_empty(&dev->uars));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma-bufs of the accelerator's memory, and dma-bufs as places of its commands.
 *
 * The memory goes away with the device, so an export can be revoked. Importers that take a
 * notice (dma_buf_dynamic_attach()) and do peer-to-peer DMA are told by the dma-buf. Those
 * that attach for good (dma_buf_attach()), as devmem TCP does, are told by dl_notice, or
 * lose the right to do DMA. A command that uses an import holds the dma-buf's reservation
 * lock, so a revocation waits for the command's end.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "compat.h"
#include "dl_notice.h"
#include "fgpu_driver.h"

/* Exports */

struct fgpu_export_buffer {
	struct fgpu *gpu;
	struct list_head node;		/* in gpu->exports */
	struct dma_buf *dmabuf;
	u64 offset;
	u64 size;
	bool revoked;			/* guarded by the reservation lock */
};

/* An importer that has attached for good: attach->priv. */
struct fgpu_importer {
	struct list_head node;		/* in gpu->importers while it is mapped */
	struct device *dev;		/* counted: the kernel may unmap it when it has gone */
	struct dlend_mapping mapping;
};

static int fgpu_export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct fgpu_importer *importer;

	if (attach->importer_ops)
		return attach->peer2peer ? 0 : -EOPNOTSUPP;
	importer = kzalloc(sizeof(*importer), GFP_KERNEL);
	if (!importer)
		return -ENOMEM;
	INIT_LIST_HEAD(&importer->node);
	importer->dev = get_device(attach->dev);
	attach->priv = importer;
	return 0;
}

static void fgpu_export_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct fgpu_importer *importer = attach->priv;

	if (!importer)
		return;
	put_device(importer->dev);
	kfree(importer);
}

/* Return: 0, or -ENODEV if the memory has gone. */
static int fgpu_importer_add(struct fgpu *gpu, struct fgpu_importer *importer,
			     dma_addr_t address, u64 size, bool reads)
{
	int err = 0;

	mutex_lock(&gpu->importers_lock);
	if (gpu->memory_gone) {
		err = -ENODEV;
	} else {
		dlend_mapping_add(&importer->mapping, importer->dev, address, size,
				  reads);
		list_add_tail(&importer->node, &gpu->importers);
	}
	mutex_unlock(&gpu->importers_lock);
	return err;
}

static void fgpu_importer_remove(struct fgpu *gpu, struct fgpu_importer *importer)
{
	mutex_lock(&gpu->importers_lock);
	list_del_init(&importer->node);
	dlend_mapping_remove(&importer->mapping);
	mutex_unlock(&gpu->importers_lock);
}

void fgpu_importers_stop(struct fgpu *gpu)
{
	struct fgpu_importer *importer;

	mutex_lock(&gpu->importers_lock);
	gpu->memory_gone = true;
	list_for_each_entry(importer, &gpu->importers, node) {
		if (dlend_notice_send(importer->dev, importer->mapping.start,
				      importer->mapping.size))
			continue;
		/* Nobody says that it has stopped. It must not write to what comes next. */
		if (dev_is_pci(importer->dev))
			pci_clear_master(to_pci_dev(importer->dev));
		dev_warn(importer->dev, "it may do no DMA any more: the memory of %s, which it uses, goes away\n",
			 gpu->misc.name);
	}
	mutex_unlock(&gpu->importers_lock);
}

ssize_t fgpu_importers_show(struct fgpu *gpu, char *text)
{
	struct fgpu_importer *importer;
	ssize_t n = 0;

	mutex_lock(&gpu->importers_lock);
	list_for_each_entry(importer, &gpu->importers, node)
		n += sysfs_emit_at(text, n, "%s%s", n ? " " : "", dev_name(importer->dev));
	mutex_unlock(&gpu->importers_lock);
	return n + sysfs_emit_at(text, n, "\n");
}

/*
 * The memory never moves, so a pin asks for nothing. Kernels without
 * CONFIG_DMABUF_MOVE_NOTIFY pin for every importer. An importer is told all the same
 * when the device goes.
 */
static int fgpu_export_pin(struct dma_buf_attachment *attach)
{
	return 0;
}

static void fgpu_export_unpin(struct dma_buf_attachment *attach)
{
}

static struct sg_table *fgpu_export_map(struct dma_buf_attachment *attach,
					enum dma_data_direction direction)
{
	struct fgpu_export_buffer *export = attach->dmabuf->priv;
	struct fgpu_importer *importer = attach->priv;
	struct sg_table *table;
	dma_addr_t address;
	int ret;

	if (export->revoked)
		return ERR_PTR(-ENODEV);
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(table, 1, GFP_KERNEL);
	if (ret) {
		kfree(table);
		return ERR_PTR(ret);
	}
	address = dma_map_resource(attach->dev, export->gpu->memory + export->offset,
				   export->size, direction, DMA_ATTR_SKIP_CPU_SYNC);
	ret = dma_mapping_error(attach->dev, address) ? -EIO : 0;
	if (!ret && importer) {
		ret = fgpu_importer_add(export->gpu, importer, address, export->size,
					direction == DMA_TO_DEVICE);
		if (ret)
			dma_unmap_resource(attach->dev, address, export->size, direction,
					   DMA_ATTR_SKIP_CPU_SYNC);
	}
	if (ret) {
		sg_free_table(table);
		kfree(table);
		return ERR_PTR(ret);
	}
	/* There are no struct pages: the importer uses the DMA address alone. */
	sg_set_page(table->sgl, NULL, export->size, 0);
	sg_dma_address(table->sgl) = address;
	sg_dma_len(table->sgl) = export->size;
	return table;
}

static void fgpu_export_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			      enum dma_data_direction direction)
{
	struct fgpu_export_buffer *export = attach->dmabuf->priv;

	if (attach->priv)
		fgpu_importer_remove(export->gpu, attach->priv);
	dma_unmap_resource(attach->dev, sg_dma_address(table->sgl),
			   sg_dma_len(table->sgl), direction, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(table);
	kfree(table);
}

static void fgpu_export_free(struct dma_buf *dmabuf)
{
	struct fgpu_export_buffer *export = dmabuf->priv;
	struct fgpu *gpu = export->gpu;

	mutex_lock(&gpu->lists_lock);
	list_del(&export->node);
	mutex_unlock(&gpu->lists_lock);
	kfree(export);
	fgpu_put(gpu);
}

static const struct dma_buf_ops fgpu_export_ops = {
	.attach = fgpu_export_attach,
	.detach = fgpu_export_detach,
	.pin = fgpu_export_pin,
	.unpin = fgpu_export_unpin,
	.map_dma_buf = fgpu_export_map,
	.unmap_dma_buf = fgpu_export_unmap,
	.release = fgpu_export_free,
};

/* The caller holds gpu->use, and the device is there. */
int fgpu_buffer_export(struct fgpu *gpu, struct fgpu_export *args)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct fgpu_export_buffer *export;
	struct dma_buf *dmabuf;
	u64 end;
	int fd;

	if (args->reserved || !args->size || !PAGE_ALIGNED(args->offset | args->size) ||
	    check_add_overflow(args->offset, args->size, &end) ||
	    end > gpu->memory_size)
		return -EINVAL;
	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return -ENOMEM;
	export->gpu = gpu;
	export->offset = args->offset;
	export->size = args->size;
	info.ops = &fgpu_export_ops;
	info.size = args->size;
	info.flags = O_CLOEXEC | O_RDWR;
	info.priv = export;
	mutex_lock(&gpu->lists_lock);
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		mutex_unlock(&gpu->lists_lock);
		kfree(export);
		return PTR_ERR(dmabuf);
	}
	fgpu_get(gpu);
	export->dmabuf = dmabuf;
	list_add(&export->node, &gpu->exports);
	mutex_unlock(&gpu->lists_lock);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	args->fd = fd;
	return 0;
}

/*
 * Ends all use of the device's memory by other devices. An export whose last reference
 * is gone waits for lists_lock in fgpu_export_free(), so all in the list exist.
 */
void fgpu_buffers_revoke(struct fgpu *gpu)
{
	struct fgpu_export_buffer *export;

	mutex_lock(&gpu->lists_lock);
	list_for_each_entry(export, &gpu->exports, node) {
		dma_resv_lock(export->dmabuf->resv, NULL);
		export->revoked = true;
		dma_buf_invalidate_mappings(export->dmabuf);
		dma_resv_unlock(export->dmabuf->resv);
	}
	mutex_unlock(&gpu->lists_lock);
}

/* Imports */

struct fgpu_imported {
	struct dma_buf_attachment *attach;
	struct sg_table *table;		/* guarded by the reservation lock; NULL: unmapped */
};

/* The exporter revokes or moves the buffer; it holds the reservation lock. */
static void fgpu_import_moved(struct dma_buf_attachment *attach)
{
	struct fgpu_imported *imported = attach->importer_priv;

	if (imported->table) {
		dma_buf_unmap_attachment(attach, imported->table, DMA_BIDIRECTIONAL);
		imported->table = NULL;
	}
}

static const struct dma_buf_attach_ops fgpu_import_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = fgpu_import_moved,
};

static void fgpu_import_free(struct fgpu_imported *imported)
{
	struct dma_buf *dmabuf = imported->attach->dmabuf;

	dma_resv_lock(dmabuf->resv, NULL);
	fgpu_import_moved(imported->attach);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_detach(dmabuf, imported->attach);
	dma_buf_put(dmabuf);
	kfree(imported);
}

/* The caller holds gpu->use, and the device is there. */
int fgpu_buffer_import(struct fgpu_file *file, struct fgpu_import *args)
{
	struct fgpu_imported *imported;
	struct dma_buf *dmabuf;
	u32 handle;
	int ret;

	imported = kzalloc(sizeof(*imported), GFP_KERNEL);
	if (!imported)
		return -ENOMEM;
	dmabuf = dma_buf_get(args->fd);
	if (IS_ERR(dmabuf)) {
		kfree(imported);
		return PTR_ERR(dmabuf);
	}
	imported->attach = dma_buf_dynamic_attach(dmabuf, &file->gpu->pdev->dev,
						  &fgpu_import_ops, imported);
	if (IS_ERR(imported->attach)) {
		ret = PTR_ERR(imported->attach);
		dma_buf_put(dmabuf);
		kfree(imported);
		return ret;
	}
	args->size = dmabuf->size;
	ret = xa_alloc(&file->imports, &handle, imported, xa_limit_31b, GFP_KERNEL);
	if (ret) {
		fgpu_import_free(imported);
		return ret;
	}
	args->handle = handle;
	return 0;
}

int fgpu_buffer_release(struct fgpu_file *file, u32 handle)
{
	struct fgpu_imported *imported;

	mutex_lock(&file->imports_lock);
	imported = xa_erase(&file->imports, handle);
	if (imported)
		fgpu_import_free(imported);
	mutex_unlock(&file->imports_lock);
	return imported ? 0 : -ENOENT;
}

void fgpu_buffers_release(struct fgpu_file *file)
{
	struct fgpu_imported *imported;
	unsigned long handle;

	mutex_lock(&file->imports_lock);
	xa_for_each(&file->imports, handle, imported) {
		xa_erase(&file->imports, handle);
		fgpu_import_free(imported);
	}
	mutex_unlock(&file->imports_lock);
}

/*
 * Looks up the address of an import for one command. On success the import stays
 * mapped and in place until fgpu_buffer_end(). The caller holds imports_lock.
 */
int fgpu_buffer_begin(struct fgpu_file *file, const struct fgpu_place *place, u64 size,
		      struct fgpu_imported **ret_imported, u64 *ret_address)
{
	struct fgpu_imported *imported = xa_load(&file->imports, place->handle);
	struct dma_buf *dmabuf;
	struct sg_table *table;
	int ret;

	if (!imported)
		return -ENOENT;
	dmabuf = imported->attach->dmabuf;
	if (place->offset > dmabuf->size || size > dmabuf->size - place->offset)
		return -EINVAL;
	ret = dma_resv_lock_interruptible(dmabuf->resv, NULL);
	if (ret)
		return ret;
	if (!imported->table) {
		table = dma_buf_map_attachment(imported->attach, DMA_BIDIRECTIONAL);
		if (IS_ERR(table)) {
			dma_resv_unlock(dmabuf->resv);
			/* -EIO is the device's own: a command that it has refused. */
			return PTR_ERR(table) == -EIO ? -EHOSTUNREACH : PTR_ERR(table);
		}
		imported->table = table;
	}
	/* A command has one address, so the buffer must be in one piece. */
	if (imported->table->nents != 1 ||
	    sg_dma_len(imported->table->sgl) < dmabuf->size) {
		dma_resv_unlock(dmabuf->resv);
		return -EOPNOTSUPP;
	}
	*ret_imported = imported;
	*ret_address = sg_dma_address(imported->table->sgl) + place->offset;
	return 0;
}

void fgpu_buffer_end(struct fgpu_imported *imported)
{
	dma_resv_unlock(imported->attach->dmabuf->resv);
}

DLEND_IMPORT_NS(DMA_BUF);

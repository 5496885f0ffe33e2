/* SPDX-License-Identifier: MIT */
#include "exp_fabric_priv.h"

void exp_fabric_free(ExpFabric *self)
{
    if (self) {
        fab_fabric_free(self->fabric);
        sim_engine_free(self->engine);
        g_free(self);
    }
}

const TopoDescription *exp_fabric_description(const ExpFabric *self)
{
    return self->description;
}

FabFabric *exp_fabric(const ExpFabric *self)
{
    return self->fabric;
}

SimEngine *exp_engine(const ExpFabric *self)
{
    return self->engine;
}

FabComponent *exp_host(const ExpFabric *self, const TopoHost *host)
{
    return fab_fabric_find(self->fabric, host->name);
}

FabComponent *exp_device(const ExpFabric *self, const TopoDevice *device)
{
    return fab_fabric_find(self->fabric, device->path);
}

const char *exp_kind_name(const ExpFabric *self, const FabComponent *component)
{
    const TopoDevice *device;

    switch (fab_component_kind(component)) {
    case FAB_KIND_ROOT:
        return "root";
    case FAB_KIND_SWITCH:
        return "switch";
    case FAB_KIND_NTB:
        return "ntb";
    default:
        device =
            topo_find_device(self->description, fab_component_name(component));
        return device && topo_part_kind(device->part) == TOPO_PART_GPU
                   ? "gpu"
                   : "device";
    }
}

TopoPciAddress exp_device_address(const TopoDevice *device, void *fabric)
{
    FabBdf bdf = fab_component_bdf(exp_device(fabric, device));

    return (TopoPciAddress){0, FAB_BDF_BUS(bdf), FAB_BDF_DEV(bdf),
                            FAB_BDF_FN(bdf)};
}

/* SPDX-License-Identifier: MIT */
/*
 * Headers like those of a QEMU that was built otherwise. They come before a
 * source that is compiled with OTHER_OBJECT or OTHER_CLASS.
 */
#include "qemu/osdep.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "hw/i386/intel_iommu.h"
#include "hw/i386/x86-iommu.h"
#include "farside_qemu.h"

#ifdef OTHER_OBJECT
typedef struct {
    PCIDevice as_it_is;
    uint64_t more;
} OtherDevice;

#define PCIDevice OtherDevice
#endif

#ifdef OTHER_CLASS
typedef struct {
    PCIDeviceClass as_it_is;
    uint64_t more;
} OtherClass;

#define PCIDeviceClass OtherClass
#endif

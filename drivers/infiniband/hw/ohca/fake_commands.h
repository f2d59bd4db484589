/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between the bus side of the fake device and its command processor. */
#ifndef OHCA_FAKE_COMMANDS_H
#define OHCA_FAKE_COMMANDS_H

struct ohca_fake_device;

/* With the fake device's lock held. */
void ohca_fake_scan_locked(struct ohca_fake_device *fake);
void ohca_fake_reset_locked(struct ohca_fake_device *fake);
void ohca_fake_raise_locked(struct ohca_fake_device *fake, unsigned int vector);

#endif /* OHCA_FAKE_COMMANDS_H */

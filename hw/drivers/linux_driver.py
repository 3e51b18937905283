"""The C driver on Linux: memory and registers by UIO, or by ``/dev/mem``."""

from __future__ import annotations

from hw.drivers.interface import HostInterface

__all__ = ["linux_header", "linux_source"]

_HEADER = """#ifndef @UPPER@_LINUX_H
#define @UPPER@_LINUX_H

#include "@NAME@.h"

/* A device that Linux gives access to. All functions return 0, or -1 with errno set. */
struct @NAME@_linux {
  struct @NAME@_device device; /* for the functions of @NAME@.h */
  int file;                    /* of the interrupt, -1 without */
  int timeout_ms;              /* how long a run may take, 0 for ever; 10000 after opening, and may be changed */
  long long begin_ms;
  size_t registers_bytes;
};

/* By UIO: map 0 of `path` (such as /dev/uio0) is the registers, map 1 the memory; `sysfs` is such as
   /sys/class/uio/uio0. Waits for the interrupt. */
int @NAME@_open_uio(struct @NAME@_linux *self, const char *path, const char *sysfs);

/* By physical addresses in `path` (/dev/mem): of the registers, and of memory that nobody else uses. EINVAL if they
   overlap; a file of another kind, such as a resource of PCI or shared memory, has to have all of both. */
int @NAME@_open_mem(struct @NAME@_linux *self, const char *path, uint64_t registers, uint64_t memory);

/* Before every run: the time for it begins. */
void @NAME@_begin(struct @NAME@_linux *self);

void @NAME@_close(struct @NAME@_linux *self);

#endif
"""

_SOURCE = """#define _DEFAULT_SOURCE
#define _FILE_OFFSET_BITS 64
#include "@NAME@_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long long now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Milliseconds that are left of a run; -1: no limit. */
static int left_ms(const struct @NAME@_linux *self)
{
  if (!self->timeout_ms)
    return -1;
  const long long left = self->begin_ms + self->timeout_ms - now_ms();
  return left > 0 ? (int)left : 0;
}

static int wait_interrupt(void *context)
{
  struct @NAME@_linux *self = context;
  const int left = left_ms(self);
  struct pollfd ready = {.fd = self->file, .events = POLLIN};
  uint32_t word = 1;
  /* The interrupt is a level: it comes at once if the run has ended meanwhile. */
  if (write(self->file, &word, sizeof word) != sizeof word || !left)
    return 1;
  if (poll(&ready, 1, left) <= 0)
    return 1;
  return read(self->file, &word, sizeof word) != sizeof word;
}

static int wait_moment(void *context)
{
  const struct timespec moment = {.tv_nsec = 50000};
  nanosleep(&moment, NULL);
  return left_ms(context) == 0;
}

static void prepare(struct @NAME@_linux *self)
{
  memset(self, 0, sizeof *self);
  self->file = -1;
  self->timeout_ms = 10000;
  self->registers_bytes = @REGISTERS@;
  self->device.context = self;
  @NAME@_begin(self);
}

/* Whether all bytes are there, where the file says how many there are: what is mapped behind its end is no memory. */
static int is_inside(int file, size_t bytes, uint64_t offset)
{
  struct stat kind;
  if (fstat(file, &kind))
    return 0;
  if (!S_ISREG(kind.st_mode) || ((uint64_t)kind.st_size >= bytes && offset <= (uint64_t)kind.st_size - bytes))
    return 1;
  errno = EINVAL;
  return 0;
}

static int map(volatile void **place, int file, size_t bytes, uint64_t offset)
{
  if (!is_inside(file, bytes, offset))
    return -1;
  void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
  *place = found == MAP_FAILED ? NULL : found;
  return *place ? 0 : -1;
}

static int map_both(struct @NAME@_linux *self, int file, uint64_t registers, uint64_t memory)
{
  volatile void *found = NULL;
  if (map(&self->device.registers, file, self->registers_bytes, registers))
    return -1;
  if (map(&found, file, @UPPER@_MEMORY_BYTES, memory)) {
    const int reason = errno;
    munmap((void *)self->device.registers, self->registers_bytes);
    errno = reason;
    return -1;
  }
  self->device.memory = (void *)found;
  return 0;
}

static int read_number(const char *folder, const char *name, uint64_t *number)
{
  char path[256], digits[17], more[2];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  FILE *file = fopen(path, "r");
  if (!file)
    return -1;
  const int count = fscanf(file, "0x%16[0-9a-fA-F]%1[0-9a-fA-F]", digits, more);
  fclose(file);
  if (count != 1) {
    errno = EINVAL;
    return -1;
  }
  *number = strtoull(digits, NULL, 16);
  return 0;
}

int @NAME@_open_uio(struct @NAME@_linux *self, const char *path, const char *sysfs)
{
  uint64_t registers = 0, memory = 0;
  prepare(self);
  if (read_number(sysfs, "maps/map0/size", &registers) || read_number(sysfs, "maps/map1/size", &memory) ||
      read_number(sysfs, "maps/map1/addr", &self->device.bus_address))
    return -1;
  if (registers < self->registers_bytes || memory < @UPPER@_MEMORY_BYTES) {
    errno = ENOMEM;
    return -1;
  }
  self->file = open(path, O_RDWR);
  if (self->file < 0)
    return -1;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (map_both(self, self->file, 0, page)) {
    const int reason = errno;
    close(self->file);
    errno = reason;
    return -1;
  }
  self->device.wait = wait_interrupt;
  return 0;
}

int @NAME@_open_mem(struct @NAME@_linux *self, const char *path, uint64_t registers, uint64_t memory)
{
  prepare(self);
  if (registers < memory ? memory - registers < self->registers_bytes : registers - memory < @UPPER@_MEMORY_BYTES) {
    errno = EINVAL;
    return -1;
  }
  const int file = open(path, O_RDWR | O_SYNC);
  if (file < 0)
    return -1;
  const int failed = map_both(self, file, registers, memory), reason = errno;
  close(file);
  errno = reason;
  self->device.bus_address = memory;
  self->device.wait = wait_moment;
  return failed;
}

void @NAME@_begin(struct @NAME@_linux *self)
{
  self->begin_ms = now_ms();
}

void @NAME@_close(struct @NAME@_linux *self)
{
  if (self->device.registers)
    munmap((void *)self->device.registers, self->registers_bytes);
  if (self->device.memory)
    munmap(self->device.memory, @UPPER@_MEMORY_BYTES);
  if (self->file >= 0)
    close(self->file);
  memset(self, 0, sizeof *self);
  self->file = -1;
}
"""


def linux_header(interface: HostInterface) -> str:
    """``NAME_linux.h``."""
    return _filled(_HEADER, interface)


def linux_source(interface: HostInterface) -> str:
    """``NAME_linux.c``."""
    return _filled(_SOURCE, interface)


def _filled(text: str, interface: HostInterface) -> str:
    registers = f"0x{1 << interface.registers.address_width:x}u"
    return (text.replace("@NAME@", interface.name).replace("@UPPER@", interface.name.upper())
            .replace("@REGISTERS@", registers))

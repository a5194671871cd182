/* The soft CUDA driver beyond the driver's own interface: settings, injected failures, checks and the report.
 *
 * Loading. Link libsoft_cuda.so as libcuda.so.1 (and as libcuda.so, which some programs try first) in a folder of your
 * own that LD_LIBRARY_PATH names; or dlopen it by its path before the first use, its soname is libcuda.so.1. From Python:
 * ctypes.CDLL("libcuda.so.1") is then the instance that the program uses. A copy of the file is a driver of its own.
 *
 * Settings. In the environment as SOFT_CUDA_<NAME>, or soft_cuda_set; those marked * only before cuInit or after
 * soft_cuda_reset.
 *   devices*          1            number of devices; 0 makes cuInit fail
 *   memory*           1073741824   bytes of each device
 *   driver_version*   12080        1000 * major + 10 * minor; decides the newest PTX that is taken
 *   name*             Soft CUDA    devices are called this and their index
 *   capability*       9.0          compute capability
 *   multiprocessors*  4
 *   numa*             -1           NUMA node of each device: "0,1"
 *   pci*              0000:01:00.0 PCI address of each device: "0000:01:00.0,0000:41:00.0"
 *   delay_us          0            longest random delay before each item of a stream, in microseconds
 *   seed              0            of the delays
 *   strict            0            1: a violation aborts the process
 *   log               0            1: violations and refused modules are printed to standard error
 *   check_unwritten   1            1: reading device memory that nothing has written is a violation
 *   kernel_races      0            1: two threads of a launch that touch the same byte, one storing, are a violation
 *   hold_kernels      0            so many kernels start only once a copy out of pinned memory that was enqueued later is done
 *   hold_uploads      0            so many copies out of pinned memory start only once a later one is enqueued
 *   report                         file to leave the report in when the process exits
 *   fail                           rules as soft_cuda_fail takes them
 *
 * Memory. Device and pinned memory are host memory: a test may read a device address. Addresses are multiples of 256,
 * grow only, and end at a page without access; freed memory has no access either, so a stray access crashes. New memory
 * is filled with 0xa5 (up to 64 MiB a piece).
 *
 * Captures. Streams can be captured; their work then goes nowhere, and graphs are numbers that cannot be launched.
 *
 * Order. The order of work follows from calls alone, never from timing, so a missing wait is found whether or not it did
 * harm. The threads of the host count as one: what one has waited for is known to all. cuMemFree is held to this too,
 * though the real one waits: freeing what the host has not waited for is a violation.
 *
 * Functions return 0, or -1 with the reason on standard error, unless said otherwise. All may be called at any time and
 * from any thread. A fork of a process that has called cuInit cannot use the driver: every call there says so on standard
 * error and returns CUDA_ERROR_NOT_INITIALIZED. */
#ifndef SOFT_CUDA_H
#define SOFT_CUDA_H

#include <stddef.h>
#include <stdint.h>

int soft_cuda_set(const char *name, const char *value);

/* Adds failures: call:n:code[:manner], separated by commas. The n-th call from now (n from 1) of that name (with or
 * without _v2; * for any) fails with that CUresult. Manners:
 *   once    (the default) the call does nothing and returns the code
 *   sticky  and so does everything in the current context from then on, until it is destroyed
 *   lost    and so does everything on that device, also in new contexts, until soft_cuda_clear_failures
 *   async   the call returns success; its work fails when it executes, and the context is as after sticky */
int soft_cuda_fail(const char *rules);

/* Forgets all rules, and gives lost devices back. */
int soft_cuda_clear_failures(void);

/* Violations so far. Their kinds, in the report:
 *   race                   two accesses to the same bytes without an order, one of them a write
 *   unwritten-read         device memory read that nothing has written (by kernels: aligned words of 8 bytes without a
 *                          written byte)
 *   source-changed         pinned memory that changed while a copy from it was under way
 *   use-after-free         copy from or to freed memory
 *   out-of-bounds          copy that ends behind its allocation
 *   bad-address            copy from or to something that is in no allocation, or in one of the other kind
 *   bad-free, double-free  an address that is not an allocation's first, or freed already
 *   free-in-use            memory freed that the host has not waited for the last use of
 *   unload-in-use          a module unloaded likewise
 *   use-after-destroy      a handle whose object is gone
 *   bogus-handle           a handle that never was one
 *   no-context             a call that needs a current context, without one
 *   context-destroyed      a context that is gone, or that nobody retains
 *   wrong-context          a kernel, stream or event of another context
 *   event-never-recorded   waiting for an event that was never recorded
 *   leak                   something left in a context that ends
 *   kernel-fault           a kernel that ended early, with the PTX machine's text
 *   call-in-host-function  a driver call from cuLaunchHostFunc's function
 *   call-beside-capture    a call in a context that a capture forbids: its own thread's or, in the global mode, another's
 *   capture-broken         a capture that a call made useless: a wait for captured work, for all of a context or for an
 *                          event from outside, the legacy default stream, a stream that was drawn in and never joined
 *   internal               a fault of the soft driver itself */
uint64_t soft_cuda_violations(void);
int soft_cuda_clear_violations(void);

/* Notes that the host now reads or writes pinned or device memory, to have it checked against work under way. */
int soft_cuda_host_read(const void *address, size_t length);
int soft_cuda_host_write(const void *address, size_t length);

/* Writes the report, one JSON object, and a zero, cut to `size` bytes; returns the bytes that the whole needs.
 *   violations [{kind, text, count}], violation_count, calls {name: count}, allocations [text],
 *   contexts, retained, streams, events, modules: alive now;
 *   device_allocations, device_bytes, pinned_allocations, pinned_bytes, registered: in use now; ..._peak: at most so far;
 *   items: of work enqueued; pageable_copies: asynchronous copies with host memory that is not pinned */
size_t soft_cuda_report(char *buffer, size_t size);

/* Waits until every stream has executed what it has; the program's order knows nothing of it. */
int soft_cuda_drain(void);

/* Ends all contexts, and forgets devices, failures, violations and counts. Settings stay. */
int soft_cuda_reset(void);

#endif

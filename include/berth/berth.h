// SPDX-License-Identifier: Apache-2.0
// The C interface of libberth: what a program that uses a GPU can know of memory and have done
// about it. Plain C11, for any language. docs/library.md tells how it is meant; each function says
// here what it needs.
//
// - A function returns BERTH_OK, or a status and leaves a sentence in berth_last_error().
// - A structure begins with its size: set it to sizeof, and all else to 0 that is not wanted. A
//   later version only appends fields, and 0 in them means what an earlier version did.
// - A handle is a number, and 0 is none. One that is closed, of another kind, or from before a fork
//   is refused with BERTH_STALE; nothing happens.
// - Any thread may call any function. Callbacks are called on the thread that called the function
//   that needs them, with no lock held; they must return, and must not throw.
#pragma once

#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(readability-identifier-naming,modernize-*): names and types as C has them.
#define BERTH_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t berth_status;
enum {
  BERTH_OK = 0,
  BERTH_INVALID = 1,      // An argument makes no sense; the text names it.
  BERTH_STALE = 2,        // The handle is none, closed, of another kind or from before a fork.
  BERTH_NOT_FOUND = 3,    // Nothing has that name, or nothing is there to be fetched.
  BERTH_PERMISSION = 4,   // Not yours, or the system does not let us.
  BERTH_UNAVAILABLE = 5,  // No daemon, no lease or no device.
  BERTH_TIMED_OUT = 6,
  BERTH_IO = 7,       // A read or write failed; the text names the file.
  BERTH_FULL = 8,     // A bounded table or a disk is full.
  BERTH_CORRUPT = 9,  // What was read is not what was written.
  BERTH_OTHER_VERSION = 10,
  BERTH_CONFLICT = 11,  // Another one has it.
  BERTH_BUSY = 12,      // Such a call is under way, in another thread or further up in this one.
  BERTH_CALLBACK = 13,  // A callback threw; the text says which.
  BERTH_OUT_OF_MEMORY = 14,
  BERTH_INTERNAL = 15
};

// BERTH_ABI of the library that is loaded: the same, or a later one that still has all of this.
uint32_t berth_abi(void);
// "0.1.0"
const char* berth_version(void);
// "BERTH_STALE"; a number that is no status has the text "unknown status".
const char* berth_status_name(berth_status status);
// What the last call in this thread that failed had to say: one line, empty if none did. It stays
// until the next call of this thread fails.
const char* berth_last_error(void);

// ------------------------------------------------------------------------------------- the session

typedef uint64_t berth_session;

enum { BERTH_QUIET = 1 };  // Say nothing to anybody.

typedef struct berth_session_options {
  uint32_t size;
  uint32_t flags;
  // Gets what there is to say, once each: a line without an end. Null: they go to stderr.
  void (*say)(void* user, const char* line);
  void* user;
} berth_session_options;

// The session of this process: the lease of the `berth run` that it runs under, if there is one,
// and the devices that it sees. It never fails for want of a daemon, a lease or a GPU: it says so
// once, and what cannot be measured is unknown. `options` may be null.
berth_status berth_attach(const berth_session_options* options, berth_session* session);
// Closes the handle. Managers that were made from it go on.
berth_status berth_detach(berth_session session);

enum {
  BERTH_HAS_LEASE = 1,   // A budget is known.
  BERTH_HAS_DRIVER = 2,  // NVML answers.
  BERTH_SIMULATED = 4    // Its devices are simulated ones.
};

typedef struct berth_session_facts {
  uint32_t size;
  uint32_t flags;
  uint64_t lease;         // Its number; 0: no lease.
  uint32_t device_count;  // Those of the lease, else those that this process sees.
  uint32_t reserved;
} berth_session_facts;
berth_status berth_session_describe(berth_session session, berth_session_facts* facts);

typedef struct berth_device_facts {
  uint32_t size;
  int32_t driver_index;  // As the driver numbers it; -1: unknown.
  uint64_t total_bytes;  // 0: unknown.
  char uuid[48];
  char name[96];  // Empty: unknown.
} berth_device_facts;
// `device` counts from 0 to device_count, in the order in which programs see them.
berth_status berth_device_describe(berth_session session, uint32_t device,
                                   berth_device_facts* facts);

// --------------------------------------------------------------------------- a lease of one's own

#define BERTH_NO_END UINT64_MAX  // Of wait_ms: without bound.

typedef struct berth_request {
  uint32_t size;
  uint32_t devices;     // 0: one.
  uint64_t vram_bytes;  // On each device; 0: the devices for itself.
  uint64_t wait_ms;     // 0: now, or not at all.
  uint64_t eta_ms;      // How long it is expected to take; 0: unknown.
  uint64_t grace_ms;    // It can be asked to save itself, within that; 0: it cannot.
  const char* name;     // May be null.
} berth_request;

// Waits for a lease that ends with this process, or with berth_release(), and attaches to it. To be
// called before other threads are there and before the driver is used: it sets the environment as
// `berth run` does (CUDA_VISIBLE_DEVICES, BERTH_…). In a process that has a lease already it is
// joined, and BERTH_CONFLICT says so where more is asked for than it has; one that is over is none.
// No daemon is started. BERTH_CONFLICT: not now, or not within wait_ms.
berth_status berth_acquire(const berth_session_options* options, const berth_request* request,
                           berth_session* session);
// Ends the lease that the session has acquired; its memory stays charged until it is freed, and its
// variables go out of the environment: not while another thread reads that.
// BERTH_CONFLICT: it has joined one, which is not its own to end.
berth_status berth_release(berth_session session);
// Another budget on each device. More is granted within wait_ms or not at all (BERTH_CONFLICT).
berth_status berth_resize(berth_session session, uint64_t vram_bytes, uint64_t wait_ms);
// A lease that was reserved for a time, for that long from now.
berth_status berth_renew(berth_session session, uint64_t ttl_ms);

// ------------------------------------------------------------------------------------ how far it
// is

#define BERTH_NOTE_MAX 200  // Bytes of a note.
#define BERTH_PHASE_MAX 32  // And of a phase.

typedef struct berth_progress {
  uint32_t size;
  uint32_t reserved;
  uint64_t done;     // In whatever the program counts: steps, files, bytes.
  uint64_t total;    // Of how much, not less than is done; 0: unknown.
  uint64_t left_ms;  // How long the rest takes, a year at most; 0: by how fast it goes.
  const char* note;  // One line for others to read, BERTH_NOTE_MAX at most. May be null.
  // Of a training, for charts. A structure that ends before them tells neither.
  const double* loss;  // Of the last step; finite. May be null.
  const char* phase;   // What it does now, in a word, BERTH_PHASE_MAX at most. May be null.
} berth_progress;

// Tells those who wait for memory, and those who look on, how far the program is. To be called as
// often as it likes: a call within a second of the last that was told tells nothing, unless all is
// done since. It waits for the daemon for a second at most, and for ten more it does not try again
// where none answered. Of a lease with several processes the last to tell counts.
// BERTH_UNAVAILABLE: there is no lease, or no daemon: of no matter for what the program does.
berth_status berth_report_progress(berth_session session, const berth_progress* progress);

// -------------------------------------------------------------------- what is asked of the program

typedef struct berth_ask {
  uint32_t size;
  uint32_t action;     // BERTH_CHECKPOINT, BERTH_CLEANUP or BERTH_RELEASE
  uint64_t number;     // Of a checkpoint.
  uint64_t within_ms;  // What comes later counts as not done; 0: no bound is known.
  char reason[32];     // "asked", "periodic", "limit", "pressure", "requeue", …
} berth_ask;

// The next thing that the daemon asks of this lease, waiting up to `timeout_ms` for it (0: not at
// all). It is to be called again and again, from a thread of the program's choice: nothing is heard
// otherwise. A checkpoint is asked for where `berth run` was told `--checkpoint library`, or
// berth_acquire() a grace. BERTH_NOT_FOUND: nothing was asked. A daemon that is away is waited for.
// BERTH_UNAVAILABLE: there is no lease.
berth_status berth_session_next_ask(berth_session session, uint32_t timeout_ms, berth_ask* ask);
// How it went (BERTH_DONE…). Only a checkpoint has an answer that is waited for; `detail` is
// for people, and may be null.
berth_status berth_session_answer(berth_session session, const berth_ask* ask, int32_t outcome,
                                  const char* detail);
// Both in one: has act() do what was asked, and answers with what it returns. One that throws has
// not done it, and BERTH_CALLBACK is returned.
berth_status berth_session_serve(berth_session session, uint32_t timeout_ms,
                                 int32_t (*act)(void* user, const berth_ask* ask), void* user);

// ------------------------------------------------------------------------------------- measurement

enum {
  BERTH_UNKNOWN = 0,           // There is no figure: `bytes` means nothing.
  BERTH_FROM_DRIVER = 1,       // NVML
  BERTH_FROM_LEDGER = 2,       // What the programs of the lease have charged, by their guards.
  BERTH_FROM_ENVIRONMENT = 3,  // What `berth run` has told at the start.
  BERTH_FROM_PROVIDER = 4,     // The framework's allocator.
  BERTH_FROM_KERNEL = 5        // /proc
};

typedef struct berth_figure {
  uint64_t bytes;
  uint64_t age_ns;  // How long ago it was measured.
  uint32_t source;
  uint32_t reserved;
} berth_figure;

typedef struct berth_measurement {
  uint32_t size;
  uint32_t device;
  berth_figure device_total;
  berth_figure device_used;  // By all processes.
  berth_figure device_free;
  berth_figure process_used;  // By this one, on the device.
  berth_figure lease_used;    // By all of the lease, on the device.
  berth_figure lease_budget;
  berth_figure provider_allocated;  // In tensors.
  berth_figure provider_reserved;   // Taken from the device, cached blocks included.
  berth_figure host_used;           // Resident memory of this process.
} berth_measurement;

// No figure is older than `age_max_ns`, where it can be had; 0: all are measured now.
berth_status berth_measure(berth_session session, uint32_t device, uint64_t age_max_ns,
                           berth_measurement* measurement);

enum { BERTH_ROOM_UNKNOWN = 0, BERTH_ROOM_YES = 1, BERTH_ROOM_NO = 2 };

typedef struct berth_room {
  uint32_t size;
  uint32_t answer;  // Unknown, where a figure that it hangs on is.
  berth_figure device_free;
  berth_figure budget_left;  // Unknown without a lease too, where it counts for nothing.
} berth_room;

// Whether so many bytes would find room on the device, and in the budget if there is a lease. It
// holds none: what is free now may be taken in a moment. Where it is not known what the lease uses,
// what this process does counts.
berth_status berth_has_room(berth_session session, uint32_t device, uint64_t bytes,
                            uint64_t age_max_ns, berth_room* room);

// ------------------------------------------------------------------------------------ VRAM manager

typedef uint64_t berth_vram_manager;

enum {
  BERTH_BASIS_AUTO = 0,      // The budget if there is one, else the device, else the allocator.
  BERTH_BASIS_BUDGET = 1,    // What the lease uses of its budget.
  BERTH_BASIS_DEVICE = 2,    // What all processes use of the device.
  BERTH_BASIS_ALLOCATOR = 3  // What the provider has reserved: thresholds in bytes only.
};

typedef struct berth_vram_options {
  uint32_t size;
  uint32_t device;
  uint32_t basis;
  uint32_t cleanup_every;  // Steps; 0: only above the threshold.
  // In bytes, or, where that is 0, as a share; 0 too: 0.62, 0.75, 0.88. In rising order.
  uint64_t warn_bytes;
  uint64_t cleanup_bytes;
  uint64_t critical_bytes;
  double warn_share;
  double cleanup_share;
  double critical_share;
  uint64_t sample_every_ns;          // How often a step measures; 0: 100 ms. 1: each step.
  uint64_t checkpoint_cool_down_ns;  // Between two emergency checkpoints; 0: 10 minutes.
} berth_vram_options;

// `session` 0: none; then only the provider's figures are known. `options` null: all defaults.
berth_status berth_vram_manager_create(berth_session session, const berth_vram_options* options,
                                       berth_vram_manager* manager);
// A step that is under way in another thread ends as it would.
berth_status berth_vram_manager_destroy(berth_vram_manager manager);

// The framework that allocates. Each function may be null. They return 0, or anything else for
// «not known» and «not done».
typedef struct berth_provider {
  uint32_t size;
  uint32_t reserved;
  void* user;
  int32_t (*allocated)(void* user, uint32_t device, uint64_t* bytes);
  int32_t (*reserved_bytes)(void* user, uint32_t device, uint64_t* bytes);
  int32_t (*empty_cache)(void* user, uint32_t device);
  int32_t (*synchronize)(void* user, uint32_t device);
} berth_provider;
// Null takes it away. The structure is copied; `user` and the functions must outlive the manager.
berth_status berth_vram_manager_set_provider(berth_vram_manager manager,
                                             const berth_provider* provider);

// What a program is asked to do; they are bits in a report.
enum {
  BERTH_CLEANUP = 1,     // Give back what it holds and does not need.
  BERTH_CHECKPOINT = 2,  // Save itself, beside its usual saves.
  BERTH_SHRINK = 4,      // Go on with a smaller micro-batch, or look less far ahead.
  BERTH_OFFLOAD = 8,     // Move what can wait to host memory.
  BERTH_PAUSE = 16,      // Hold, until there is room.
  BERTH_RELEASE = 32     // Give the lease back: it is being ended. Only asked of a session.
};
// How it went.
enum {
  BERTH_DONE = 0,        // Of a checkpoint: it is saved, and was verified.
  BERTH_NOT_DONE = 1,    // It cannot, or it failed.
  BERTH_UNCONFIRMED = 2  // It may have; nothing counts on it.
};

enum {
  BERTH_LEVEL_UNKNOWN = 0,  // Nothing was measured.
  BERTH_LEVEL_NORMAL = 1,
  BERTH_LEVEL_WARN = 2,
  BERTH_LEVEL_CLEANUP = 3,
  BERTH_LEVEL_CRITICAL = 4
};

enum {
  BERTH_EVENT_LEVEL = 1,       // `value` is the level before.
  BERTH_EVENT_CLEANUP = 2,     // `bytes` were freed.
  BERTH_EVENT_CHECKPOINT = 3,  // An emergency one; `value` is how it went.
  BERTH_EVENT_MEASURE = 4,     // `action` was asked for; `value` is how it went.
  BERTH_EVENT_PHASE = 5,       // `name` has begun.
  BERTH_EVENT_LEAK = 6,        // Device memory grows by `bytes` a step.
  BERTH_EVENT_HOST_LEAK = 7,   // Host memory does.
  BERTH_EVENT_LEAK_OVER = 8,   // It does not any more; `value` 1: host memory.
  BERTH_EVENT_NO_MORE = 9      // It is still critical, and all measures were tried.
};

typedef struct berth_event {
  uint32_t size;
  uint32_t kind;
  uint64_t number;  // From 1; a gap shows that some were lost, of which nobody asked.
  uint64_t step;
  uint64_t time_unix_ms;
  uint64_t used_bytes;   // What was watched; valid if used_known.
  uint64_t whole_bytes;  // Of how much; 0: unknown.
  uint64_t bytes;
  uint64_t copies;  // So far.
  uint32_t used_known;
  uint32_t level;
  uint32_t action;
  int32_t value;
  char name[48];
  char text[160];  // One line for people.
} berth_event;

// Each may be null; then what is asked for stands in the report of the step, and the program
// answers with berth_vram_manager_answer().
typedef struct berth_vram_callbacks {
  uint32_t size;
  uint32_t reserved;
  void* user;
  int32_t (*act)(void* user, uint32_t action);
  void (*event)(void* user, const berth_event* event);
} berth_vram_callbacks;
berth_status berth_vram_manager_set_callbacks(berth_vram_manager manager,
                                              const berth_vram_callbacks* callbacks);

typedef struct berth_vram_report {
  uint32_t size;
  uint32_t level;
  uint32_t done;    // Actions that were done in this step.
  uint32_t wanted;  // An action that the program is to do now, and to answer; 0: none.
  uint64_t step;
  uint64_t used_bytes;   // What was watched; valid if used_known.
  uint64_t whole_bytes;  // Of how much; 0: unknown.
  uint64_t freed_bytes;  // By cleanups of this step.
  uint32_t used_known;
  uint32_t reserved;
} berth_vram_report;

// To be called once a training step, where the least memory is in use: measures if it is time to,
// decides, and has done what is due. `report` may be null. BERTH_BUSY: a step of this manager is
// under way. BERTH_CALLBACK: one threw, and counts as not done; the rest of the step was done.
berth_status berth_vram_manager_step(berth_vram_manager manager, berth_vram_report* report);
// How `wanted` of the last report went; what is to be done next comes with the next step. An
// action without an answer counts as not done.
berth_status berth_vram_manager_answer(berth_vram_manager manager, uint32_t action,
                                       int32_t outcome);
// Cleans up now. `freed_bytes` may be null.
berth_status berth_vram_manager_cleanup(berth_vram_manager manager, uint64_t* freed_bytes);
// As berth_measure(), with the provider's figures.
berth_status berth_vram_manager_measure(berth_vram_manager manager, uint64_t age_max_ns,
                                        berth_measurement* measurement);

// The program has copied a model or a part of one, of so many bytes.
berth_status berth_vram_manager_count_copy(berth_vram_manager manager, uint64_t bytes);
// A phase of that name begins (47 bytes of UTF-8 at most); the memory is noted.
berth_status berth_vram_manager_phase(berth_vram_manager manager, const char* name);

typedef struct berth_phase_mark {
  char name[48];
  uint64_t step;
  uint64_t time_unix_ms;
  berth_figure used;       // What is watched.
  berth_figure allocated;  // By the provider.
  uint64_t copies;         // So far.
} berth_phase_mark;
// The latest `capacity` transitions, oldest first; `count` is how many were written. Of a manager
// 256 are kept. `mark_size` is sizeof(berth_phase_mark).
berth_status berth_vram_manager_phases(berth_vram_manager manager, berth_phase_mark* marks,
                                       size_t mark_size, uint32_t capacity, uint32_t* count);

typedef struct berth_vram_counts {
  uint32_t size;
  uint32_t level;
  uint64_t steps;
  uint64_t copies;
  uint64_t copied_bytes;
  uint64_t cleanups;
  uint64_t freed_bytes;
  uint64_t checkpoints;  // Emergency ones that were saved.
  uint64_t warn_bytes;   // The thresholds as they count; 0: not known yet.
  uint64_t cleanup_bytes;
  uint64_t critical_bytes;
  uint32_t leaks;  // Device memory does now.
  uint32_t leaks_host;
  double growth_per_step;  // Bytes, by which device memory grows; 0 without a leak.
  double host_growth_per_step;
} berth_vram_counts;
berth_status berth_vram_manager_counts(berth_vram_manager manager, berth_vram_counts* counts);

// "VRAM: 8192 MiB | Copies: 35 | Cleanups: 5", with an end. `needed` may be null; it is the length
// without the end. BERTH_FULL: it did not fit, and was cut off.
berth_status berth_vram_manager_status_line(berth_vram_manager manager, char* text, size_t capacity,
                                            size_t* needed);

// The next event that nobody was given yet; BERTH_NOT_FOUND: there is none. 256 are kept. Events
// that went to a callback are not told again.
berth_status berth_vram_manager_next_event(berth_vram_manager manager, berth_event* event);

// --------------------------------------------------------------------------- batches out of memory

// How a step that ran out of memory is tried again: with half the micro-batch, and twice as many of
// them accumulated, so that what is learnt from stays the same.
typedef uint64_t berth_batch;

typedef struct berth_batch_options {
  uint32_t size;
  uint32_t device;
  uint64_t batch;             // Samples of a step.
  uint64_t micro_max;         // At once, at most; 0: all.
  uint64_t micro_min;         // At least; 0: 1.
  uint64_t grow_after;        // Steps without trouble until a larger one is tried; 0: 100.
  uint64_t bytes_per_sample;  // For the estimate of what growth takes; 0: unknown.
  // What the size that works is remembered by, with the device's name: the model, the length of
  // its sequences. Null: it is not remembered.
  const char* fingerprint;
  const char* directory;  // Where it is; null: berth/batches in the user's state directory.
} berth_batch_options;

// `session` 0: none.
berth_status berth_batch_create(berth_session session, const berth_batch_options* options,
                                berth_batch* batch);
berth_status berth_batch_destroy(berth_batch batch);

typedef struct berth_batch_plan {
  uint32_t size;
  uint32_t remembered;  // It begins with what has worked in an earlier run.
  uint64_t micro;       // micro * accumulation is the batch, always.
  uint64_t accumulation;
  uint64_t failures;  // How often memory ran out, so far.
} berth_batch_plan;
berth_status berth_batch_current(berth_batch batch, berth_batch_plan* plan);
// The step ran out of memory and its memory was freed: `plan` is what to try it again with, from
// its beginning. BERTH_OUT_OF_MEMORY: there is nothing smaller; the text says what to change.
berth_status berth_batch_out_of_memory(berth_batch batch, berth_batch_plan* plan);
// The step was done: what to do the next one with. It grows by a step after `grow_after` of them,
// where the estimate fits into what is free, and tries a size that has failed once in 500 steps at
// most. What works is remembered on disk. BERTH_IO: it is not, and the plan is told all the same.
berth_status berth_batch_step_done(berth_batch batch, berth_batch_plan* plan);

typedef struct berth_batch_search {
  uint32_t size;
  uint32_t device;
  uint64_t model_bytes;
  uint64_t overhead_bytes;  // What is not for samples.
  double factor;            // What a sample takes, in models; 0: 2.5.
  double margin;            // Of the size that fits, what is not used; 0: 0.05.
  uint64_t batch_max;       // 0: 65536.
  void* user;
  // One step with so many samples. 0: it was done; BERTH_OUT_OF_MEMORY: it was not, and its memory
  // is free again. Anything else ends the search with BERTH_CALLBACK. Null: only the guess.
  int32_t (*trial)(void* user, uint64_t batch);
} berth_batch_search;
// The largest batch that fits, less the margin. It begins with
// max(1, floor((free - overhead) / (model * factor))), of what is free on the device and in the
// budget. BERTH_OUT_OF_MEMORY: not even one sample fits.
berth_status berth_find_batch_size(berth_session session, const berth_batch_search* search,
                                   uint64_t* batch);

// NOLINTEND(readability-identifier-naming,modernize-*)
#ifdef __cplusplus
}  // extern "C"
#endif

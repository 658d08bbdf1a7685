// SPDX-License-Identifier: Apache-2.0
// A program that trains nothing and keeps an eye on its memory as a trainer should: each step takes
// memory and gives it back, a part of it goes into a cache, and, with --leak, a part is lost. It
// uses libberth through C, and the CUDA driver, simulated or real.
//
// Usage: trainer [--steps N] [--base MIB] [--cache MIB] [--leak MIB] [--save FILE] [--step-ms N]
// Exit: 0 all steps were done; 1 the driver refused; 64 wrong usage; 69 no driver; 75 it has saved
// itself and ended, because memory came to its end.
#include <berth/berth.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocksMax = 4096 };
static const unsigned long long kMiB = 1ULL << 20U;

struct driver {
  int (*init)(unsigned int);
  int (*device)(int*, int);
  int (*retain)(void**, int);
  int (*use)(void*);
  int (*allocate)(unsigned long long*, size_t);
  int (*release)(unsigned long long);
  int (*synchronize)(void);
};

struct trainer {
  struct driver driver;
  unsigned long long held[kBlocksMax];  // Of the model, and what has leaked.
  int held_count;
  unsigned long long cached;  // One block that the last step has left.
  unsigned long long held_bytes, cached_bytes;
  const char* save;
  int step;
  int ends;  // It is to end: nothing else has helped.
};

static int load(struct driver* driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  const struct {
    const char* name;
    void* to;
  } functions[] = {{"cuInit", &driver->init},
                   {"cuDeviceGet", &driver->device},
                   {"cuDevicePrimaryCtxRetain", &driver->retain},
                   {"cuCtxSetCurrent", &driver->use},
                   {"cuMemAlloc_v2", &driver->allocate},
                   {"cuMemFree_v2", &driver->release},
                   {"cuCtxSynchronize", &driver->synchronize}};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    void* address = dlsym(library, functions[i].name);
    if (address == NULL) return 0;
    memcpy(functions[i].to, &address, sizeof address);
  }
  return 1;
}

static int take(struct trainer* trainer, unsigned long long bytes) {
  if (bytes == 0) return 1;
  if (trainer->held_count == kBlocksMax) return 0;
  if (trainer->driver.allocate(&trainer->held[trainer->held_count], bytes) != 0) return 0;
  trainer->held_count += 1;
  trainer->held_bytes += bytes;
  return 1;
}

// What libberth asks the framework.
static int32_t told_allocated(void* user, uint32_t device, uint64_t* bytes) {
  (void)device;
  *bytes = ((struct trainer*)user)->held_bytes;
  return 0;
}
static int32_t told_reserved(void* user, uint32_t device, uint64_t* bytes) {
  (void)device;
  *bytes = ((struct trainer*)user)->held_bytes + ((struct trainer*)user)->cached_bytes;
  return 0;
}
static int32_t empty_cache(void* user, uint32_t device) {
  struct trainer* trainer = user;
  (void)device;
  if (trainer->cached_bytes > 0 && trainer->driver.release(trainer->cached) != 0) return 1;
  trainer->cached_bytes = 0;
  return 0;
}
static int32_t synchronize(void* user, uint32_t device) {
  (void)device;
  return ((struct trainer*)user)->driver.synchronize();
}

// Written beside and renamed: a save is there whole, or not at all.
static int save(const struct trainer* trainer) {
  char beside[4096];
  if (trainer->save == NULL) return 0;
  if (snprintf(beside, sizeof beside, "%s.tmp", trainer->save) >= (int)sizeof beside) return 0;
  FILE* file = fopen(beside, "w");
  if (file == NULL) return 0;
  const int written = fprintf(file, "step %d\n", trainer->step) > 0;
  return fclose(file) == 0 && written && rename(beside, trainer->save) == 0;
}

// What libberth asks the program to do.
static int32_t act(void* user, uint32_t action) {
  struct trainer* trainer = user;
  switch (action) {
    case BERTH_CHECKPOINT:
      return save(trainer) ? BERTH_DONE : BERTH_NOT_DONE;
    case BERTH_PAUSE:
      trainer->ends = 1;
      return BERTH_DONE;
    default:  // It has no smaller batch, and nothing to move: the next measure is tried.
      return BERTH_NOT_DONE;
  }
}

// What the daemon asks of it: a save, with `berth run --checkpoint library`, or to end.
static int32_t asked(void* user, const berth_ask* ask) {
  struct trainer* trainer = user;
  fprintf(stderr, "trainer: asked for action %u (%s)\n", ask->action, ask->reason);
  if (ask->action == BERTH_CHECKPOINT) return save(trainer) ? BERTH_DONE : BERTH_NOT_DONE;
  if (ask->action == BERTH_CLEANUP)
    return empty_cache(trainer, 0) == 0 ? BERTH_DONE : BERTH_NOT_DONE;
  if (ask->action == BERTH_RELEASE) trainer->ends = 1;
  return BERTH_DONE;
}

static void tell(void* user, const berth_event* event) {
  (void)user;
  if (event->kind == BERTH_EVENT_PHASE) return;  // Of which there is one each step.
  fprintf(stderr, "trainer: step %llu: %s\n", (unsigned long long)event->step, event->text);
}

static int fail(const char* what) {
  fprintf(stderr, "trainer: %s: %s\n", what, berth_last_error());
  return 1;
}

static berth_vram_manager watch(struct trainer* trainer, berth_session session) {
  berth_vram_manager manager = 0;
  berth_vram_options options = {.size = sizeof options, .sample_every_ns = 1};
  berth_provider provider = {.size = sizeof provider,
                             .user = trainer,
                             .allocated = told_allocated,
                             .reserved_bytes = told_reserved,
                             .empty_cache = empty_cache,
                             .synchronize = synchronize};
  berth_vram_callbacks callbacks = {
      .size = sizeof callbacks, .user = trainer, .act = act, .event = tell};
  if (berth_vram_manager_create(session, &options, &manager) != BERTH_OK) return 0;
  berth_vram_manager_set_provider(manager, &provider);
  berth_vram_manager_set_callbacks(manager, &callbacks);
  return manager;
}

struct plan {
  int steps, step_ms;
  unsigned long long base, cache, leak;
};

// The steps, until they are done or the program is to end. 0: the driver refused.
static int train(struct trainer* trainer, berth_session session, berth_vram_manager manager,
                 const struct plan* plan) {
  for (trainer->step = 1; trainer->step <= plan->steps && !trainer->ends; ++trainer->step) {
    berth_vram_manager_phase(manager, "forward");
    if (trainer->cached_bytes == 0 && plan->cache > 0) {
      if (trainer->driver.allocate(&trainer->cached, plan->cache) != 0) return 0;
      trainer->cached_bytes = plan->cache;
    }
    berth_vram_manager_count_copy(manager, plan->cache);
    if (!take(trainer, plan->leak)) return 0;
    if (plan->step_ms > 0) poll(NULL, 0, plan->step_ms);
    if (berth_vram_manager_step(manager, NULL) != BERTH_OK) fail("step");
    // Between two steps is where a save is easy. Without a lease nobody asks.
    const berth_status served = berth_session_serve(session, 0, asked, trainer);
    if (served != BERTH_OK && served != BERTH_NOT_FOUND && served != BERTH_UNAVAILABLE) {
      fail("asked");
    }
  }
  return 1;
}

// 0: it makes no sense.
static int parse(int count, char** arguments, struct plan* plan, struct trainer* trainer) {
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) return 0;
    const char* value = arguments[i + 1];
    const unsigned long long number = strtoull(value, NULL, 10);
    if (strcmp(arguments[i], "--steps") == 0) {
      plan->steps = (int)number;
    } else if (strcmp(arguments[i], "--step-ms") == 0) {
      plan->step_ms = (int)number;
    } else if (strcmp(arguments[i], "--base") == 0) {
      plan->base = number * kMiB;
    } else if (strcmp(arguments[i], "--cache") == 0) {
      plan->cache = number * kMiB;
    } else if (strcmp(arguments[i], "--leak") == 0) {
      plan->leak = number * kMiB;
    } else if (strcmp(arguments[i], "--save") == 0) {
      trainer->save = value;
    } else {
      return 0;
    }
  }
  return 1;
}

int main(int count, char** arguments) {
  static struct trainer trainer;
  struct plan plan = {.steps = 20, .base = 256 * kMiB, .cache = 64 * kMiB};
  if (!parse(count, arguments, &plan, &trainer)) return 64;
  int device = 0;
  void* context = NULL;
  if (!load(&trainer.driver) || trainer.driver.init(0) != 0) return 69;
  if (trainer.driver.device(&device, 0) != 0 || trainer.driver.retain(&context, device) != 0 ||
      trainer.driver.use(context) != 0 || !take(&trainer, plan.base)) {
    return 1;
  }
  berth_session session = 0;
  if (berth_attach(NULL, &session) != BERTH_OK) return fail("attach");
  const berth_vram_manager manager = watch(&trainer, session);
  if (manager == 0) return fail("create");
  const int trained = train(&trainer, session, manager, &plan);

  char line[128];
  if (berth_vram_manager_status_line(manager, line, sizeof line, NULL) == BERTH_OK) puts(line);
  berth_vram_manager_destroy(manager);
  berth_detach(session);
  if (!trained) return 1;
  return trainer.ends ? 75 : 0;
}

// SPDX-License-Identifier: Apache-2.0
// Time of the calls of libberth that a program makes in each step. Prints for each the median
// of many rounds, in nanoseconds: «step NS», «cached NS», «fresh NS», «progress NS», and, to set
// them against, «clock NS»: one look at the clock.
#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 41 };

static berth_session session;
static berth_vram_manager manager;

static int32_t told(void* user, uint32_t device, uint64_t* bytes) {
  (void)user;
  (void)device;
  *bytes = 1U << 30U;
  return 0;
}

static int measure(uint64_t age_max_ns) {
  berth_measurement measured = {.size = sizeof measured};
  return berth_measure(session, 0, age_max_ns, &measured) == BERTH_OK;
}
static int step(void) {
  return berth_vram_manager_step(manager, NULL) == BERTH_OK;
}
static int cached(void) {
  return measure(UINT64_MAX);
}
static int fresh(void) {
  return measure(0);
}
static int progress(void) {
  static berth_progress progress = {.size = sizeof progress};
  progress.done += 1;
  return berth_report_progress(session, &progress) == BERTH_OK;
}
static int look_at_clock(void) {
  struct timespec now;
  return clock_gettime(CLOCK_BOOTTIME, &now) == 0;
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static int time_of(const char* name, int (*call)(void), int calls) {
  static double rounds[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < calls; ++i) {
      if (!call()) return 0;
    }
    rounds[round] = (now_ns() - begin) / calls;
  }
  qsort(rounds, kRounds, sizeof rounds[0], compare);
  printf("%s %.1f\n", name, rounds[kRounds / 2]);
  return 1;
}

int main(void) {
  // Nothing is due in an hour: what a step costs then is what it costs each time.
  const berth_vram_options options = {.size = sizeof options, .sample_every_ns = 3600000000000};
  const berth_provider provider = {.size = sizeof provider, .allocated = told};
  if (berth_attach(NULL, &session) != BERTH_OK) return 1;
  if (berth_vram_manager_create(session, &options, &manager) != BERTH_OK) return 1;
  if (berth_vram_manager_set_provider(manager, &provider) != BERTH_OK) return 1;
  const int all = time_of("clock", look_at_clock, 1000) && time_of("step", step, 1000) &&
                  time_of("cached", cached, 1000) && time_of("fresh", fresh, 50) &&
                  time_of("progress", progress, 1000);
  if (!all) fputs(berth_last_error(), stderr);
  return all ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// Prints what is known of this process's memory and its device's: a line a figure, with where it
// comes from. What nobody knows is «unknown».
#include <berth/berth.h>
#include <stdio.h>

static const char* const kSources[] = {"", "driver", "ledger", "environment", "provider", "/proc"};

static void print(const char* name, berth_figure figure) {
  if (figure.source == BERTH_UNKNOWN) {
    printf("%s unknown\n", name);
    return;
  }
  const char* source = figure.source <= BERTH_FROM_KERNEL ? kSources[figure.source] : "elsewhere";
  printf("%s %llu MiB (%s)\n", name, (unsigned long long)(figure.bytes >> 20U), source);
}

int main(void) {
  berth_session session = 0;
  if (berth_attach(NULL, &session) != BERTH_OK) {
    fprintf(stderr, "measure: %s\n", berth_last_error());
    return 1;
  }
  berth_session_facts facts = {.size = sizeof facts};
  berth_measurement measured = {.size = sizeof measured};
  if (berth_session_describe(session, &facts) != BERTH_OK ||
      berth_measure(session, 0, 0, &measured) != BERTH_OK) {
    fprintf(stderr, "measure: %s\n", berth_last_error());
    return 1;
  }
  printf("libberth %s, lease %llu, devices %u\n", berth_version(), (unsigned long long)facts.lease,
         facts.device_count);
  print("device_total", measured.device_total);
  print("device_used", measured.device_used);
  print("device_free", measured.device_free);
  print("process_used", measured.process_used);
  print("lease_used", measured.lease_used);
  print("lease_budget", measured.lease_budget);
  print("host_used", measured.host_used);
  return berth_detach(session) == BERTH_OK ? 0 : 1;
}

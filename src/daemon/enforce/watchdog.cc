// SPDX-License-Identifier: Apache-2.0
// The watchdog: it compares what the driver measures of a lease's processes with its budget, a
// second or two after the fact, whatever they are and however they came to their memory.
#include "enforce/backend.h"

namespace berth::enforce {

Availability watchdog_availability(const Facts& facts) {
  if (!facts.driver_lists_processes) {
    return {.available = false,
            .fact = "whether the driver tells what each process uses is not known",
            .consequence = "the daemon asks it, and has had no answer yet",
            .cure = "berth status"};
  }
  if (!*facts.driver_lists_processes) {
    return {.available = false,
            .fact = "the driver does not tell what each process uses",
            .consequence = "nobody sees a lease above its budget; --enforce watchdog ends with 69",
            .cure = {}};
  }
  return {.available = true,
          .fact = "the watchdog can measure: the driver tells what each process uses",
          .consequence = {},
          .cure = {}};
}

}  // namespace berth::enforce

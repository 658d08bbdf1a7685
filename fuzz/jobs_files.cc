// SPDX-License-Identifier: Apache-2.0
// Files of a job: what it is, how it ended, the lines of an attempt, and lists of strings.
#include <cstddef>
#include <string_view>

#include "fuzz.h"
#include "jobs/job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  namespace jobs = berth::jobs;
  berth::fuzz::check_trip(text, jobs::decode_job, jobs::encode_job);
  berth::fuzz::check_trip(text, jobs::decode_result, jobs::encode_result);
  jobs::read_attempt(text);
  jobs::split_strings(text);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Files of a job: what it is, how it ended, the lines of an attempt, lists of strings; and members
// of a set.
#include <cstddef>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "jobs/job.h"
#include "jobs/sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  namespace jobs = berth::jobs;
  berth::fuzz::check_trip(text, jobs::decode_job, jobs::encode_job);
  berth::fuzz::check_trip(text, jobs::decode_result, jobs::encode_result);
  jobs::read_attempt(text);
  jobs::split_strings(text);
  if (const auto lines = jobs::lines_of_each(text); lines.ok()) {
    for (const std::string& line : *lines) {
      if (const auto parameters = jobs::parameters_of(line); parameters.ok()) {
        jobs::filled_in(line, *parameters);
      }
    }
  }
  static_cast<void>(jobs::lines_of_grid({std::string(text)}));
  return 0;
}

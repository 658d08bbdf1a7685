// SPDX-License-Identifier: Apache-2.0
// Output of `berth logs --json` and `berth doctor --json`, which the daemon hands on to a page. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"

namespace berth::wire {

struct JobLog {
  std::string job;  // As people name it: "17", "17.3".
  std::uint32_t attempt = 0;
  std::uint32_t attempts = 0;
  bool over = false;
  std::string trouble;
  std::string text;
  bool is_whole = false;
};
constexpr auto fields_of(Is<JobLog> auto*) {
  return fields({"JobLog", "What a job has printed.", "berth/log/v1"},
                field("job", &JobLog::job, "Its number; of a member of a set, 17.3."),
                field("attempt", &JobLog::attempt, "Of which this is; 0: it has not been started."),
                field("attempts", &JobLog::attempts, "How many were begun."),
                field("over", &JobLog::over, "Nothing is added any more."),
                field("trouble", &JobLog::trouble, "Why it was never run; null: it was."),
                field("text", &JobLog::text, "The end of it; what is no UTF-8 is replaced.")
                    .required(side::kAnswer),
                field("whole", &JobLog::is_whole, "False: there was more before."));
}
std::string encode_job_log(const JobLog& log);

struct DoctorFinding {
  std::string group;
  std::string check;
  std::string level;
  std::string fact;
  std::string consequence;
  std::string cure;
};
constexpr auto fields_of(Is<DoctorFinding> auto*) {
  using Finding = DoctorFinding;
  return fields(
      {"DoctorFinding", "What was looked at, and how it is."},
      field("group", &Finding::group, "\"driver\", \"daemon\" and so on.").required(side::kAnswer),
      field("check", &Finding::check, "One word for programs.").required(side::kAnswer),
      field("level", &Finding::level, "\"skip\": it could not be looked at, or need not be.")
          .required(side::kAnswer)
          .one_of("ok warn fail skip"),
      field("fact", &Finding::fact, "How it is.").required(side::kAnswer),
      field("consequence", &Finding::consequence, "What follows from it; null where all is well."),
      field("cure", &Finding::cure, "A command; null where there is none."));
}
struct DoctorReport {
  UnixMs time;
  std::vector<DoctorFinding> findings;
};
constexpr auto fields_of(Is<DoctorReport> auto*) {
  return fields({"DoctorReport", "What `berth doctor` finds.", "berth/doctor/v1"},
                field("time", &DoctorReport::time, "When it looked."),
                field("items", &DoctorReport::findings, "Grouped."));
}
std::string encode_doctor_report(const DoctorReport& report);

}  // namespace berth::wire

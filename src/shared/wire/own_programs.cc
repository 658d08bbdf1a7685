// SPDX-License-Identifier: Apache-2.0
#include "wire/own_programs.h"

#include "wire/field_writer.h"

namespace berth::wire {

std::string encode_job_log(const JobLog& log) {
  return answer_text(log);
}

std::string encode_doctor_report(const DoctorReport& report) {
  return answer_text(report);
}

}  // namespace berth::wire

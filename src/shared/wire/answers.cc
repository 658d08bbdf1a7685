// SPDX-License-Identifier: Apache-2.0
#include "wire/answers.h"

#include <utility>

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace berth::wire {
std::string encode_status(const StatusAnswer& status, const Viewer& viewer) {
  return answer_text(status, viewer, {.simulated = status.simulated});
}

Result<NamedStatus> decode_status(std::string_view text) {
  NamedStatus named;
  TRY(status, read_answer<StatusAnswer>(text, named.names));
  named.status = std::move(status);
  return named;
}

std::string encode_devices(const DeviceList& list, const UserNames& names) {
  return answer_text(list, names, {.simulated = list.simulated});
}

Result<NamedDevices> decode_devices(std::string_view text) {
  NamedDevices named;
  TRY(list, read_answer<DeviceList>(text, named.names));
  named.list = std::move(list);
  return named;
}

std::string encode_device(const DeviceView& device, bool simulated, const UserNames& names) {
  return answer_text(device, names, {.simulated = simulated});
}

Result<DeviceView> decode_device(std::string_view text) {
  return read_answer<DeviceView>(text);
}

std::string encode_unmanaged(const UnmanagedNews& news, const UserNames& names) {
  return answer_text(news, names);
}

Result<UnmanagedNews> decode_unmanaged(std::string_view text) {
  return read_answer<UnmanagedNews>(text);
}

std::string encode_why(const WhyView& why, const UserNames& names) {
  return answer_text(why, names);
}

Result<NamedWhy> decode_why(std::string_view text) {
  NamedWhy named;
  TRY(why, read_answer<WhyView>(text, named.names));
  named.why = std::move(why);
  return named;
}

std::string encode_progress_course(const ProgressCourse& course) {
  return answer_text(course);
}

std::string encode_fit(const FitView& fit, const UserNames& names) {
  return answer_text(fit, names);
}

Result<FitView> decode_fit(std::string_view text) {
  return read_answer<FitView>(text);
}

Result<NamedFit> decode_named_fit(std::string_view text) {
  NamedFit named;
  TRY(fit, read_answer<FitView>(text, named.names));
  named.fit = std::move(fit);
  return named;
}

}  // namespace berth::wire

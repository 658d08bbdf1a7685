// SPDX-License-Identifier: Apache-2.0
#include "wire/answers.h"

#include "base/json_writer.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

template <HasFields Answer>
std::string written(const Answer& answer, const Viewer& viewer, Extras extras = {}) {
  JsonWriter out;
  FieldWriter<side::kAnswer>(out, viewer, extras).object(answer);
  return out.take();
}

// Of what has no field that only some may see.
template <HasFields Answer>
std::string written(const Answer& answer, const UserNames& names, Extras extras = {}) {
  return written(answer, Viewer{.user = {}, .names = names}, extras);
}

template <HasFields Answer>
Status read(std::string_view text, Answer& answer, UserNames& names) {
  JsonDocument document(text, kAnswer);
  ObjectReader root = document.root();
  FieldReader<side::kAnswer>(names).object(root, answer);
  return document.status();
}

}  // namespace

std::string encode_status(const StatusAnswer& status, const Viewer& viewer) {
  return written(status, viewer, {.simulated = status.simulated});
}

Result<NamedStatus> decode_status(std::string_view text) {
  NamedStatus named;
  TRY_STATUS(read(text, named.status, named.names));
  return named;
}

std::string encode_devices(const DeviceList& list, const UserNames& names) {
  return written(list, names, {.simulated = list.simulated});
}

Result<NamedDevices> decode_devices(std::string_view text) {
  NamedDevices named;
  TRY_STATUS(read(text, named.list, named.names));
  return named;
}

std::string encode_device(const DeviceView& device, bool simulated, const UserNames& names) {
  return written(device, names, {.simulated = simulated});
}

std::string encode_unmanaged(const UnmanagedNews& news, const UserNames& names) {
  return written(news, names);
}

std::string encode_why(const WhyView& why, const UserNames& names) {
  return written(why, names);
}

Result<NamedWhy> decode_why(std::string_view text) {
  NamedWhy named;
  TRY_STATUS(read(text, named.why, named.names));
  return named;
}

std::string encode_fit(const FitView& fit, const UserNames& names) {
  return written(fit, names);
}

Result<FitView> decode_fit(std::string_view text) {
  FitView fit;
  UserNames names;
  TRY_STATUS(read(text, fit, names));
  return fit;
}

}  // namespace berth::wire

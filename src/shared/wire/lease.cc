// SPDX-License-Identifier: Apache-2.0
#include "wire/lease.h"

#include <cstdint>
#include <utility>

#include "base/json_writer.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

bool may_be_set(std::string_view variable) {
  return variable.starts_with("CUDA_") || variable.starts_with("NVIDIA_") ||
         variable.starts_with("BERTH_");
}

}  // namespace

void write_lease(JsonWriter& writer, const LeaseView& view, const Viewer& viewer,
                 LeaseExtras extras) {
  writer.begin_object();
  FieldWriter<side::kAnswer>(writer, viewer).fields(view);
  if (extras.env != nullptr) {
    writer.key("env").begin_object();
    for (const auto& [name, value] : *extras.env) writer.key(name).text(value);
    writer.end_object();
  }
  if (extras.refusal != nullptr) {
    writer.key("refusal");
    FieldWriter<side::kAnswer>(writer, viewer).object(to_api_error(*extras.refusal));
  }
  writer.end_object();
}

LeaseAnswer read_lease(ObjectReader& reader) {
  LeaseAnswer answer;
  UserNames& names = answer.names;
  FieldReader<side::kAnswer>(names).object(reader, answer.view);
  if (const auto name = names.find(answer.view.user); name != names.end()) {
    answer.user = name->second;
  }
  reader.texts("env", answer.env);
  std::erase_if(answer.env, [](const auto& entry) { return !may_be_set(entry.first); });
  if (std::optional<ObjectReader> refusal = reader.object("refusal")) {
    FieldReader<side::kAnswer>(names).object(*refusal, answer.refusal.emplace());
  }
  return answer;
}

std::string encode_lease(const LeaseView& view, const Viewer& viewer, LeaseExtras extras) {
  JsonWriter writer;
  write_lease(writer, view, viewer, extras);
  return writer.take();
}

Result<LeaseAnswer> decode_lease(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  LeaseAnswer answer = read_lease(reader);
  TRY_STATUS(document.status());
  return answer;
}

std::string encode_leases(const LeaseList& list, const Viewer& viewer) {
  return answer_text(list, viewer);
}

Result<LeaseList> decode_leases(std::string_view text) {
  UserNames names;
  TRY(list, read_answer<LeaseList>(text, names));
  list.names = std::move(names);
  return list;
}

std::string encode_queue(const LeaseQueue& queue, const Viewer& viewer) {
  return answer_text(queue, viewer);
}

std::optional<LeaseId> next_of_leases(std::string_view text) {
  JsonDocument document(text, kAnswer);
  const auto next = document.root().number("next", {1, kMax64});
  return next && document.status().ok() ? std::optional(LeaseId{*next}) : std::nullopt;
}

}  // namespace berth::wire

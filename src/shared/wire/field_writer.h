// SPDX-License-Identifier: Apache-2.0
// Writes structs as JSON by their tables of fields (base/fields.h): bodies of requests and answers.
// For the other files of this folder. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "model/alert.h"
#include "model/lease.h"
#include "model/request.h"
#include "wire/hello.h"
#include "wire/lease.h"
#include "wire/viewer.h"

namespace berth::wire {

/// What is said beside the fields.
struct Extras {
  bool simulated = false;                      // Of devices.
  UnixMs now = {};                             // Of what goes on.
  std::array<std::string_view, 2> named = {};  // Fields of a body, said even at their default.
};

template <Sides kSide>
class FieldWriter {
 public:
  FieldWriter(JsonWriter& out, const Viewer& viewer, Extras extras = {})
      : out_(out), viewer_(viewer), extras_(extras) {}

  template <HasFields T>
  void object(const T& value) {
    out_.begin_object();
    constexpr std::string_view kSchema = kFieldsOf<T>.noun.schema;
    if (!kSchema.empty()) out_.plain_key("schema").plain_text(kSchema);
    fields(value);
    out_.end_object();
  }
  template <HasFields T>
  void fields(const T& object) {
    if constexpr (std::is_same_v<T, LeaseView>) owner_ = object.user;
    for_each_field<T, kSide>([&](auto at) { field<decltype(at)>(object); });
  }

 private:
  template <class At>
  void field(const auto& object) {
    constexpr const auto& kField = At::kField;
    using Place = std::remove_cvref_t<decltype(kField.place)>;
    if constexpr (kIsSpliced<Place>) {
      fields(kField.place.get(object));
    } else if constexpr (kSide == side::kBody) {
      if (is_said<At>(object)) named_value<At>(kField.place.get(object));
    } else if constexpr (requires { kField.place.get(object, extras_); }) {
      named_value<At>(kField.place.get(object, extras_));
    } else if constexpr (kField.is_left_out(side::kAnswer)) {
      const auto& value = kField.place.get(object);
      if (value) named_value<At>(value);
    } else {
      named_value<At>(kField.place.get(object));
    }
  }

  template <class T>
  static const T& defaults_of() {
    static const T kDefaults;
    return kDefaults;
  }
  template <class At, class T>
  bool is_said(const T& object) const {
    constexpr const auto& kField = At::kField;
    if constexpr (kField.is_always_written(side::kBody)) return true;
    return !(kField.place.get(object) == kField.place.get(defaults_of<T>())) ||
           std::ranges::count(extras_.named, kField.wire.text()) > 0;
  }

  template <class At, class T>
  void named_value(const T& value) {
    constexpr std::string_view kName = At::kField.wire.text();
    if constexpr (std::is_same_v<typename ElementOf<T>::Type, UserId>) {
      static constexpr FieldName kId(kName, "_id");
      user(kName, kId.text(), value);
    } else {
      out_.plain_key(kName);
      is_kept_back<At>() ? void(out_.null()) : any<At>(value);
    }
  }
  void user(std::string_view key, std::string_view id_key, std::optional<UserId> user) {
    const auto name = user ? viewer_.names.find(*user) : viewer_.names.end();
    out_.plain_key(key).text_or_null(name == viewer_.names.end() ? "" : name->second);
    out_.plain_key(id_key);
    user ? out_.number(user->value) : out_.null();
  }

  template <class At>
  bool is_kept_back() const {
    constexpr Secret kSecret = At::kField.secret;
    const bool is_own = viewer_.user == owner_;
    return (kSecret == Secret::kCommand && !is_own && !viewer_.sees_all_commands) ||
           (kSecret == Secret::kHandle && !is_own && !viewer_.sees_all_handles);
  }

  template <class At, class T>
  void any(const T& value) {
    if constexpr (At::kField.is_words) {
      words(value);
    } else if constexpr (At::kField.default_is_null) {
      value == T() ? void(out_.null()) : write(value);
    } else if constexpr (std::is_same_v<T, std::string> && kSide == side::kAnswer &&
                         !At::kField.is_always_written(kSide)) {
      out_.text_or_null(value);
    } else {
      write(value);
    }
  }
  template <class Flags>
  void words(const Flags& flags) {
    out_.begin_array();
    for_each_field<Flags, kSide>([&](auto at) {
      constexpr const auto& kFlag = decltype(at)::kField;
      if (kFlag.place.get(flags)) out_.plain_text(kFlag.wire.text());
    });
    out_.end_array();
  }

  void write(bool value) { out_.boolean(value); }
  void write(std::signed_integral auto value) { out_.integer(value); }
  void write(std::unsigned_integral auto value) { out_.number(value); }
  void write(double value) { out_.real(value); }
  void write(Bytes value) { out_.bytes(value); }
  void write(Duration value) { out_.milliseconds(value); }
  void write(UnixMs value) { out_.time(value); }
  void write(LeaseId value) { out_.number(value.value); }
  void write(Handle value) { out_.plain_text(to_text(value)); }
  void write(DeviceId value) { out_.plain_text(to_text(value)); }
  void write(HasWords auto value) { out_.plain_text(to_text(value)); }
  void write(const std::string& value) { out_.text(value); }
  void write(ApiVersion value) { out_.plain_text(to_text(value)); }
  void write(Thousandths value) { out_.thousandths(value.value); }
  void write(std::monostate /*nothing*/) { out_.null(); }
  template <class... T>
  void write(const std::variant<T...>& value) {
    std::visit([this](const auto& known) { this->write(known); }, value);
  }
  void write(const std::map<std::string, std::string>& map) {
    out_.begin_object();
    for (const auto& [name, value] : map) out_.key(name).text(value);
    out_.end_object();
  }
  template <class T>
  void write(const std::optional<T>& value) {
    value ? write(*value) : void(out_.null());
  }
  template <class T>
  void write(const std::vector<T>& list) {
    out_.begin_array();
    for (const T& item : list) write(item);
    out_.end_array();
  }
  void write(const LeaseView& lease) { write_lease(out_, lease, viewer_); }
  void write(const HasFields auto& value) { object(value); }

  JsonWriter& out_;
  const Viewer& viewer_;
  const Extras extras_;
  UserId owner_;  // Of the lease that is being written.
};

template <HasFields Answer>
std::string answer_text(const Answer& answer, const Viewer& viewer, Extras extras = {}) {
  JsonWriter out;
  FieldWriter<side::kAnswer>(out, viewer, extras).object(answer);
  return out.take();
}
/// Of what has no field that only some may see.
template <HasFields Answer>
std::string answer_text(const Answer& answer, const UserNames& names = {}, Extras extras = {}) {
  return answer_text(answer, Viewer{.user = {}, .names = names}, extras);
}

}  // namespace berth::wire

// SPDX-License-Identifier: Apache-2.0
// Reads structs from JSON by their tables of fields (base/fields.h): bodies of requests, strictly,
// and answers, leniently. Fields that are absent or null leave their member as it is. For the other
// files of this folder. Any thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/lease.h"
#include "model/request.h"
#include "wire/fields.h"
#include "wire/hello.h"
#include "wire/json_reader.h"
#include "wire/lease.h"
#include "wire/viewer.h"

namespace berth::wire {

template <Sides kSide>
class FieldReader {
 public:
  /// What users are called is added to `names`.
  explicit FieldReader(UserNames& names) : names_(names) {}

  /// False: there is a word in it of a newer version, for which the whole is to be left out.
  template <HasFields T>
  bool object(ObjectReader& from, T& to) {
    require<T>(from);
    fields(from, to);
    from.done();
    return !std::exchange(is_unknown_, false);
  }
  template <HasFields T>
  void fields(ObjectReader& from, T& to) {
    for_each_field<T, kSide>([&](auto at) {
      if (!is_unknown_) field<decltype(at)>(from, to);
    });
  }

  template <HasFields T>
  void require(ObjectReader& from) {
    for_each_field<T, kSide>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      using Place = std::remove_cvref_t<decltype(kField.place)>;
      if constexpr (kIsSpliced<Place>) {
        require<typename Place::Value>(from);
      } else if constexpr (kField.is_required(kSide)) {
        using Value = std::remove_cvref_t<decltype(kField.place.get(std::declval<const T&>()))>;
        from.require(std::is_same_v<Value, UserId> ? kIdName<decltype(at)>.text()
                                                   : kField.wire.text());
      }
    });
  }

 private:
  template <class At>
  static constexpr FieldName kIdName = FieldName(At::kField.wire.text(), "_id");

  template <class At>
  void field(ObjectReader& from, auto& to) {
    constexpr const auto& kField = At::kField;
    using Place = std::remove_cvref_t<decltype(kField.place)>;
    if constexpr (kIsSpliced<Place>) {
      fields(from, kField.place.reach(to));
    } else if constexpr (kIsComputed<Place>) {
      if constexpr (!kIsOnlyTold<Place>) computed<At>(from, to);
    } else {
      read<At>(from, key<At>(from), kField.place.reach(to));
    }
  }
  template <class At>
  void computed(ObjectReader& from, auto& to) {
    using Told = std::remove_cvref_t<decltype(At::kField.place.get(std::as_const(to)))>;
    std::optional<typename Unwrapped<Told>::Type> value;
    read<At>(from, key<At>(from), value);
    if (value) At::kField.place.set(to, *std::move(value));
  }
  template <class T>
  struct Unwrapped {
    using Type = T;
  };
  template <class T>
  struct Unwrapped<std::optional<T>> {
    using Type = T;
  };

  template <class At>
  static std::string_view key(ObjectReader& from) {
    constexpr const auto& kField = At::kField;
    return kField.former.empty() ? kField.wire.text()
                                 : from.either(kField.wire.text(), kField.former);
  }

  template <class At>
  static constexpr ObjectReader::Range kRange = {At::kField.min, At::kField.max};
  template <class At>
  static constexpr Duration kShortest = milliseconds(static_cast<std::int64_t>(At::kField.min));

  template <class At>
  void read(ObjectReader& from, std::string_view key, bool& to) {
    from.boolean(key, to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, double& to) {
    from.real(key, to);
  }
  template <class At, std::integral T>
  void read(ObjectReader& from, std::string_view key, T& to) {
    constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
    // Pids are bounded in bodies alone: that of a process in another namespace may be 0.
    if constexpr (std::is_signed_v<T> && (kSide == side::kAnswer || At::kField.max > kMost)) {
      from.integer(key, to);
    } else if (const auto number =
                   from.number(key, {At::kField.min, std::min(At::kField.max, kMost)})) {
      to = static_cast<T>(*number);
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, Bytes& to) {
    from.bytes(key, to, Bytes{At::kField.min});
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::optional<Bytes>& to) {
    if constexpr (kSide == side::kAnswer) {
      from.bytes(key, to);
    } else if (from.has(key)) {
      read<At>(from, key, to.emplace());
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, Duration& to) {
    std::optional<Duration> value;
    read<At>(from, key, value);
    to = value.value_or(to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::optional<Duration>& to) {
    from.milliseconds(key, to, kShortest<At>);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, UnixMs& to) {
    from.time(key, to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, LeaseId& to) {
    if (const auto number = from.number(key, kRange<At>)) to = LeaseId{*number};
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, UserId& to) {
    from.number(kIdName<At>.text(), to.value, kAny);
    std::string name;
    from.text(key, name);
    if (!name.empty()) names_.emplace(to, std::move(name));
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::optional<UserId>& to) {
    if (from.has(kIdName<At>.text())) read<At>(from, key, to.emplace());
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, Handle& to) {
    std::string handle;
    from.text(key, handle);
    const std::optional<Handle> parsed = parse_handle(handle);
    if (!parsed && !handle.empty()) from.refuse(key, "must be the handle of a lease");
    to = parsed.value_or(to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, DeviceId& to) {
    if (!At::kField.default_is_null || from.has(key)) to = read_device_id(from, key);
  }
  template <class At, HasWords Enum>
  void read(ObjectReader& from, std::string_view key, Enum& to) {
    if constexpr (At::kField.unknown == Unknown::kSkipped) {
      std::string word;
      from.text(key, word);
      const std::optional<Enum> known = parse_word<Enum>(word);
      is_unknown_ = !known;
      to = known.value_or(to);
    } else if constexpr (At::kField.unknown == Unknown::kIsDefault) {
      std::string word;
      from.text(key, word);
      to = parse_word<Enum>(word).value_or(to);
    } else {
      from.word(key, to);
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, ApiVersion& to) {
    std::string text;
    from.text(key, text);
    const std::optional<ApiVersion> version = parse_api_version(text);
    if (!version) from.refuse(key, "must be MAJOR.MINOR");
    to = version.value_or(to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, ObjectReader::NumberOrText& to) {
    if (auto value = from.number_or_text(key)) to = *std::move(value);
  }
  // A text that names no device says nothing.
  template <class At>
  void read(ObjectReader& from, std::string_view key,
            std::variant<std::monostate, LeaseId, DeviceId>& to) {
    const std::optional<ObjectReader::NumberOrText> id = from.number_or_text(key);
    if (!id) return;
    if (const auto* number = std::get_if<std::uint64_t>(&*id)) {
      to = LeaseId{*number};
    } else if (const auto device = parse_device_id(std::get<std::string>(*id))) {
      to = *device;
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::string& to) {
    constexpr TextForm kForm = At::kField.form;
    if (kForm == TextForm::kAny) from.text(key, to);
    if (kForm == TextForm::kLine) from.line(key, to);
    if (kForm == TextForm::kTitle) from.title(key, to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::map<std::string, std::string>& to) {
    At::kField.form == TextForm::kTitle ? from.titles(key, to) : from.texts(key, to);
  }
  template <class At, class T>
  void read(ObjectReader& from, std::string_view key, std::optional<T>& to) {
    if (!from.has(key)) return;
    T value = {};
    read<At>(from, key, value);
    if (!std::exchange(is_unknown_, false)) to = std::move(value);
  }

  template <class At, std::integral T>
  void read(ObjectReader& from, std::string_view key, std::vector<T>& to) {
    for (const std::uint64_t number : from.numbers(key, kRange<At>, At::kField.count_max)) {
      to.push_back(static_cast<T>(number));
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::vector<std::string>& to) {
    from.words(key, to);
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::vector<LeaseId>& to) {
    for (const std::uint64_t id : from.numbers(key, kRange<At>, At::kField.count_max)) {
      to.push_back(LeaseId{id});
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::vector<DeviceId>& to) {
    std::vector<std::string> uuids;
    from.words(key, uuids);
    for (const std::string& uuid : uuids) {
      const std::optional<DeviceId> device = parse_device_id(uuid);
      if (!device) from.refuse(key, "must be UUIDs of devices");
      to.push_back(device.value_or(DeviceId{}));
    }
  }
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::vector<DeviceName>& to) {
    if constexpr (kSide == side::kBody) {
      read_device_names(from, key, At::kField.count_max, to);
    } else {
      read_device_names(from, key, to);
    }
  }
  template <class At, HasFields T>
  void read(ObjectReader& from, std::string_view key, std::vector<T>& to) {
    for (ObjectReader& item : from.objects(key, At::kField.count_max)) {
      T value;
      if (object(item, value)) to.push_back(std::move(value));
    }
  }
  // Of a lease in a list the owner alone is told apart.
  template <class At>
  void read(ObjectReader& from, std::string_view key, std::vector<LeaseView>& to) {
    for (ObjectReader& item : from.objects(key, At::kField.count_max)) {
      LeaseAnswer answer = read_lease(item);
      if (!answer.user.empty()) names_.emplace(answer.view.user, std::move(answer.user));
      to.push_back(std::move(answer.view));
    }
  }
  template <class At, HasFields T>
  void read(ObjectReader& from, std::string_view key, T& to) {
    if constexpr (At::kField.is_words) {
      std::vector<std::string> set;
      from.words(key, set);
      for_each_field<T, kSide>([&](auto at) {
        constexpr const auto& kFlag = decltype(at)::kField;
        if (std::ranges::find(set, kFlag.wire.text()) != set.end()) kFlag.place.reach(to) = true;
      });
    } else if (auto inner = from.object(key)) {
      is_unknown_ = !object(*inner, to);
    }
  }

  UserNames& names_;
  bool is_unknown_ = false;  // The object that is being read has a word of a newer version.
};

/// What users are called in it is added to `names`.
template <HasFields Answer>
Result<Answer> read_answer(std::string_view text, UserNames& names,
                           const JsonDocument::Form& form = kAnswer) {
  JsonDocument document(text, form);
  ObjectReader root = document.root();
  Answer answer;
  FieldReader<side::kAnswer>(names).object(root, answer);
  TRY_STATUS(document.status());
  return answer;
}
template <HasFields Answer>
Result<Answer> read_answer(std::string_view text, const JsonDocument::Form& form = kAnswer) {
  UserNames names;
  return read_answer<Answer>(text, names, form);
}

}  // namespace berth::wire

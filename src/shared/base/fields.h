// SPDX-License-Identifier: Apache-2.0
// The fields of a struct, said once, right below it:
//
//   struct Pause { UnixMs since; std::string reason; std::optional<UnixMs> until; };
//   constexpr auto fields_of(Is<Pause> auto*) {
//     return fields({"Paused", "It is to stay suspended or frozen."},
//                   field("since", &Pause::since, "When they said so the last time.").required(),
//                   field("reason", &Pause::reason, "Theirs, for others to read."),
//                   field("until", &Pause::until, "Then it goes on by itself."));
//   }
//
// The journal, the bodies of requests, answers, OpenAPI and samples for tests are all made from
// such tables: Note [A field on each side]. Nothing here reads or writes. Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/check.h"
#include "base/units.h"

namespace berth {

template <class T, class Struct>
concept Is = std::is_same_v<std::remove_const_t<T>, Struct>;

// Note [A field on each side]
//
// A field has one name and, by its type, one form on each side. Quantities end in their unit:
//
//   type       journal  wire
//   Bytes      _bytes   _bytes
//   Duration   _ns      _ms
//   Instant    _ns      (is not sent)
//   UnixMs     _ms      (a text such as 2026-02-07T13:15:00.123Z)
//   UserId     (a uid)  two fields: the name, and the uid with _id
//
// The journal leaves out what is absent or empty, unless it is required. A body of a request leaves
// out what is at its default, so that an older daemon meets a field that it does not know only
// where it is asked for something that it cannot do. An answer has all fields, null where one is
// absent. Order is that of the table; the journal, whose bytes stay, may have another
// (journal_after()).

/// Where fields are written and read; several, added.
using Sides = std::uint8_t;
namespace side {
inline constexpr Sides kJournal = 1;
inline constexpr Sides kBody = 2;    // Of a request: read strictly.
inline constexpr Sides kAnswer = 4;  // Read leniently.
inline constexpr Sides kWire = kBody | kAnswer;
inline constexpr Sides kAll = kJournal | kWire;
}  // namespace side

/// A name that is put together when it is compiled.
class FieldName {
 public:
  constexpr FieldName(std::string_view name, std::string_view suffix) {
    CHECK(name.size() + suffix.size() <= letters_.size());
    for (const char c : name) letters_[size_++] = c;
    for (const char c : suffix) letters_[size_++] = c;
  }
  constexpr std::string_view text() const { return {letters_.data(), size_}; }

 private:
  std::array<char, 31> letters_ = {};
  std::uint8_t size_ = 0;
};

/// Of what an optional or a list is one.
template <class T>
struct ElementOf {
  using Type = T;
};
template <class T>
struct ElementOf<std::optional<T>> : ElementOf<T> {};
template <class T>
struct ElementOf<std::vector<T>> : ElementOf<T> {};

template <class Value>
constexpr std::string_view unit_of(Sides side) {
  using T = typename ElementOf<std::remove_cvref_t<Value>>::Type;
  const bool kept = side == side::kJournal;
  if constexpr (std::is_same_v<T, Bytes>) return "_bytes";
  if constexpr (std::is_same_v<T, Instant>) return "_ns";
  if constexpr (std::is_same_v<T, Duration>) return kept ? "_ns" : "_ms";
  if constexpr (std::is_same_v<T, UnixMs>) return kept ? "_ms" : "";
  return "";
}

/// What letters a text may have.
enum class TextForm : std::uint8_t {
  kAny,
  kLine,   // No control characters.
  kTitle,  // A line of letters that can be seen.
};

/// From whom a field of an answer is kept.
enum class Secret : std::uint8_t {
  kNo,
  kCommand,  // From those who do not see commands of others.
  kHandle,   // From those who may not speak for the lease.
};

/// A word of a newer version.
enum class Unknown : std::uint8_t {
  kRefused,
  kIsDefault,
  kSkipped,  // As if there were no such object.
};

/// The option of the command line that sets a field, and does nothing else.
struct FieldOption {
  std::string_view name = {};  // "--yield"; empty: there is none.
  std::string_view metavar = {};
  std::string_view help = {};
  enum class With : std::uint8_t { kAll, kCommands, kReservations };
  With with = With::kAll;  // Only where a command is started, or where there is none.
};

/// What is to be known of a field beside where its value is.
struct FieldRules {
  FieldName journal;
  FieldName wire;
  std::string_view doc = {};
  Sides sides = side::kAll;
  Sides required_on = 0;  // Always written; its absence is an error.
  Sides written_on = 0;   // Written even at its default.
  std::uint64_t min = 0;  // Of a number, bytes, milliseconds.
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  std::size_t count_max = std::numeric_limits<std::size_t>::max();  // Of a list.
  TextForm form = TextForm::kAny;
  Secret secret = Secret::kNo;
  bool default_is_null = false;  // In an answer.
  bool is_words = false;         // A struct of flags, as a list of those that are set.
  Sides left_out_on = 0;         // Of an answer where it is absent, of the journal at its default.
  Unknown unknown = Unknown::kRefused;
  std::string_view journal_place = {};  // Behind which field.
  std::string_view former = {};
  std::string_view words = {};  // That its text has, where that is no enumeration of ours.
  FieldOption typed = {};
  std::string_view shown_doc = {};  // Where shown_fields() has it; empty: it does not.
};

/// A field: rules, and the place of its value. Each of the functions below gives a changed copy.
template <class Place>
struct Field : FieldRules {
  Place place;

  constexpr Field required(Sides where = side::kAll) const {
    return with([&](Field& field) { field.required_on = where; });
  }
  /// Written on these sides even at its default; in an answer also a text that is empty.
  constexpr Field written(Sides where) const {
    return with([&](Field& field) { field.written_on = where; });
  }
  constexpr Field only(Sides where) const {
    return with([&](Field& field) { field.sides = where; });
  }
  /// Another name, whole, on these sides.
  constexpr Field called(std::string_view name, Sides where = side::kAll) const {
    return with([&](Field& field) {
      if ((where & side::kJournal) != 0) field.journal = FieldName(name, {});
      if ((where & side::kWire) != 0) field.wire = FieldName(name, {});
    });
  }
  /// What it was called on the wire before: still read in answers of daemons of then.
  constexpr Field once_called(std::string_view name) const {
    return with([&](Field& field) { field.former = name; });
  }
  constexpr Field from(std::uint64_t least) const {
    return with([&](Field& field) { field.min = least; });
  }
  constexpr Field to(std::uint64_t most) const {
    return with([&](Field& field) { field.max = most; });
  }
  constexpr Field at_most(std::size_t count) const {
    return with([&](Field& field) { field.count_max = count; });
  }
  constexpr Field of(TextForm which) const {
    return with([&](Field& field) { field.form = which; });
  }
  constexpr Field kept_from(Secret whom) const {
    return with([&](Field& field) { field.secret = whom; });
  }
  constexpr Field null_at_default() const {
    return with([&](Field& field) { field.default_is_null = true; });
  }
  /// For users alone: reading takes other words as well.
  constexpr Field one_of(std::string_view several) const {
    return with([&](Field& field) { field.words = several; });
  }
  constexpr Field as_words() const {
    return with([&](Field& field) { field.is_words = true; });
  }
  /// Of an answer where it is absent; of the journal at its default, as is best for a new field: a
  /// record without it stays as it was.
  constexpr Field left_out(Sides where = side::kAnswer) const {
    return with([&](Field& field) { field.left_out_on |= where; });
  }
  constexpr Field unknown_as_default() const {
    return with([&](Field& field) { field.unknown = Unknown::kIsDefault; });
  }
  constexpr Field skipping_unknown() const {
    return with([&](Field& field) { field.unknown = Unknown::kSkipped; });
  }
  /// In the journal it stands behind the field of that name.
  constexpr Field journal_after(std::string_view name) const {
    return with([&](Field& field) { field.journal_place = name; });
  }

  /// `name` is "--yield", or "--leftovers=WHAT" where it takes a value.
  constexpr Field option(std::string_view name, std::string_view help) const {
    return with([&](Field& field) {
      const std::size_t equals = std::min(name.find('='), name.size());
      field.typed.name = name.substr(0, equals);
      field.typed.metavar = name.substr(std::min(equals + 1, name.size()));
      field.typed.help = help;
    });
  }
  constexpr Field with_a_command() const {
    return with([&](Field& field) { field.typed.with = FieldOption::With::kCommands; });
  }
  constexpr Field of_a_reservation() const {
    return with([&](Field& field) { field.typed.with = FieldOption::With::kReservations; });
  }

  /// Shown of what has such an object inside: see shown_fields().
  constexpr Field shown(std::string_view for_users) const {
    return with([&](Field& field) { field.shown_doc = for_users; });
  }

  constexpr bool is_on(Sides side) const { return (sides & side) != 0; }
  constexpr bool is_required(Sides side) const { return (required_on & side) != 0; }
  constexpr bool is_left_out(Sides side) const { return (left_out_on & side) != 0; }
  constexpr bool is_always_written(Sides side) const {
    return ((required_on | written_on) & side) != 0;
  }
  constexpr std::string_view name(Sides side) const {
    return side == side::kJournal ? journal.text() : wire.text();
  }

 private:
  constexpr Field with(const auto& change) const {
    Field changed = *this;
    change(changed);
    return changed;
  }
};

// ---- Places.

template <class Struct, class T>
struct Member {
  using Value = T;
  T Struct::* member;
  constexpr const T& get(const Struct& object) const { return object.*member; }
  constexpr T& reach(Struct& object) const { return object.*member; }
};
template <class Struct, class T>
struct Member<Struct, Boxed<T>> {
  using Value = T;
  Boxed<T> Struct::* member;
  constexpr const T& get(const Struct& object) const { return *(object.*member); }
  constexpr T& reach(Struct& object) const { return *(object.*member); }
};
template <class Struct, class Inner, class T>
struct Nested {
  using Value = T;
  Inner Struct::* outer;
  T Inner::* member;
  constexpr const T& get(const Struct& object) const { return object.*outer.*member; }
  constexpr T& reach(Struct& object) const { return object.*outer.*member; }
};
/// All fields of what lies there, among those of the struct.
template <class Place>
struct Spliced : Place {};
/// What follows from other members. `set` puts back what was read, if it is more than nullptr.
template <class Get, class Set>
struct Computed {
  Get get;
  Set set;
};

template <class Place>
inline constexpr bool kIsSpliced = false;
template <class Place>
inline constexpr bool kIsSpliced<Spliced<Place>> = true;
template <class Place>
inline constexpr bool kIsComputed = false;
template <class Get, class Set>
inline constexpr bool kIsComputed<Computed<Get, Set>> = true;

/// Nothing of it is read back.
template <class Place>
inline constexpr bool kIsOnlyTold = false;
template <class Get>
inline constexpr bool kIsOnlyTold<Computed<Get, std::nullptr_t>> = true;

// ---- Rows of a table.

template <class Value>
constexpr FieldRules rules_for(std::string_view name, std::string_view doc) {
  return {.journal = FieldName(name, unit_of<Value>(side::kJournal)),
          .wire = FieldName(name, unit_of<Value>(side::kWire)),
          .doc = doc};
}
/// `name` without a unit, which its type adds; `doc` is for users: OpenAPI has it.
template <class Struct, class T>
constexpr auto field(std::string_view name, T Struct::* member, std::string_view doc = {}) {
  return Field<Member<Struct, T>>{rules_for<T>(name, doc), {member}};
}
template <class Struct, class Inner, class T>
constexpr auto field(std::string_view name, Inner Struct::* outer, T Inner::* member,
                     std::string_view doc = {}) {
  return Field<Nested<Struct, Inner, T>>{rules_for<T>(name, doc), {outer, member}};
}
/// Of the journal, or of the wire, alone.
template <class... Where>
constexpr auto kept(std::string_view name, Where... where) {
  return field(name, where...).only(side::kJournal);
}
template <class... Where>
constexpr auto told(std::string_view name, Where... where) {
  return field(name, where...).only(side::kWire);
}
template <class Struct, class T>
constexpr auto all_fields(T Struct::* member) {
  using Place = Member<Struct, T>;
  return Field<Spliced<Place>>{rules_for<T>({}, {}), {Place{member}}}.only(side::kWire);
}
template <class Struct, class Inner, class T>
constexpr auto all_fields(Inner Struct::* outer, T Inner::* member) {
  using Place = Nested<Struct, Inner, T>;
  return Field<Spliced<Place>>{rules_for<T>({}, {}), {Place{outer, member}}}.only(side::kWire);
}
/// On the wire alone, where `name` is the whole name. `get` takes the object and, if it wants, for
/// whom it is written; `set(object, value)` is called for a value that is there.
template <class Get, class Set = std::nullptr_t>
constexpr auto computed(std::string_view name, std::string_view doc, Get get, Set set = nullptr) {
  return Field<Computed<Get, Set>>{rules_for<int>(name, doc), {get, set}}.only(side::kWire);
}

// ---- Tables.

/// What a struct is called: in OpenAPI, or as a fact in the journal.
struct Noun {
  std::string_view name = {};
  std::string_view doc = {};
  std::string_view schema = {};  // Of a whole answer: its first field, "berth/…/v1".
};

template <std::size_t kIndex, class Field>
struct FieldRow {
  Field field;
};
template <class Indexes, class... Field>
struct FieldTable;
template <std::size_t... kIndexes, class... Field>
struct FieldTable<std::index_sequence<kIndexes...>, Field...> : FieldRow<kIndexes, Field>... {
  static constexpr std::size_t kCount = sizeof...(Field);
  Noun noun;
  constexpr explicit FieldTable(Noun of, Field... field)
      : FieldRow<kIndexes, Field>{field}..., noun(of) {}
};
template <std::size_t kIndex, class Field>
constexpr const Field& field_at(const FieldRow<kIndex, Field>& row) {
  return row.field;
}

template <class... Field>
constexpr auto fields(Noun noun, Field... field) {
  return FieldTable<std::index_sequence_for<Field...>, Field...>(noun, field...);
}

/// The rows of both, as those of the first.
template <std::size_t... kOfFirst, class... First, std::size_t... kOfSecond, class... Second>
constexpr auto operator+(const FieldTable<std::index_sequence<kOfFirst...>, First...>& first,
                         const FieldTable<std::index_sequence<kOfSecond...>, Second...>& second) {
  return fields(first.noun, field_at<kOfFirst>(first)..., field_at<kOfSecond>(second)...);
}

template <class T>
concept HasFields = requires(std::remove_const_t<T>* pointer) { fields_of(pointer); };

template <HasFields T>
inline constexpr auto kFieldsOf = fields_of(static_cast<T*>(nullptr));

/// A field as a constant: `decltype(at)::kField`.
template <class T, std::size_t kIndex>
struct FieldAt {
  static constexpr const auto& kField = field_at<kIndex>(kFieldsOf<T>);
};

/// The indexes of the fields on a side, in its order.
template <class T, Sides kSide>
consteval auto order_of() {
  constexpr std::size_t kCount = kFieldsOf<T>.kCount;
  return []<std::size_t... kAt>(std::index_sequence<kAt...>) {
    constexpr std::size_t kThere =
        (std::size_t{field_at<kAt>(kFieldsOf<T>).is_on(kSide)} + ... + 0);
    std::array<std::string_view, kCount> names = {field_at<kAt>(kFieldsOf<T>).name(kSide)...};
    std::array<std::string_view, kCount> after = {field_at<kAt>(kFieldsOf<T>).journal_place...};
    std::array<bool, kCount> waits = {field_at<kAt>(kFieldsOf<T>).is_on(kSide)...};
    std::array<std::size_t, kThere> order = {};
    std::size_t count = 0;
    const auto place = [&](std::size_t field, std::size_t at) {
      for (std::size_t i = count++; i > at; --i) order[i] = order[i - 1];
      order[at] = field;
      waits[field] = false;
    };
    for (std::size_t i = 0; i != kCount; ++i) {
      if (waits[i] && (kSide != side::kJournal || after[i].empty())) place(i, count);
    }
    while (count != kThere) {
      const std::size_t before = count;
      for (std::size_t i = 0; i != kCount; ++i) {
        for (std::size_t at = 0; waits[i] && at < count; ++at) {
          if (names[order[at]] == after[i]) place(i, at + 1);
        }
      }
      CHECK(count > before);  // Else no field of that name is there.
    }
    return order;
  }(std::make_index_sequence<kCount>());
}
template <class T, Sides kSide>
inline constexpr auto kOrderOf = order_of<T, kSide>();

/// Calls visit(FieldAt<T, …>()) for each field on that side, in its order.
template <class T, Sides kSide>
constexpr void for_each_field(auto&& visit) {
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    (visit(FieldAt<T, kOrderOf<T, kSide>[kAt]>()), ...);
  }(std::make_index_sequence<kOrderOf<T, kSide>.size()>());
}

/// The indexes of the rows that are shown, in the order of the table.
template <HasFields T>
consteval auto shown_rows() {
  constexpr std::size_t kCount = kFieldsOf<T>.kCount;
  return []<std::size_t... kAt>(std::index_sequence<kAt...>) {
    std::array<std::size_t, (std::size_t{!field_at<kAt>(kFieldsOf<T>).shown_doc.empty()} + ... + 0)>
        rows = {};
    std::size_t count = 0;
    ((field_at<kAt>(kFieldsOf<T>).shown_doc.empty() ? void() : void(rows[count++] = kAt)), ...);
    return rows;
  }(std::make_index_sequence<kCount>());
}

template <HasFields T>
inline constexpr auto kShownRows = shown_rows<T>();

template <class Outer, class Inner, class T>
constexpr auto shown_row(const Field<Member<Inner, T>>& row, Inner Outer::* outer) {
  return Field<Nested<Outer, Inner, T>>{
      {.journal = row.journal, .wire = row.wire, .doc = row.shown_doc, .sides = side::kWire},
      {outer, row.place.member}};
}

/// Rows of the outer struct for those of the inner one that are shown, as told() makes them.
template <class Outer, class Inner>
constexpr auto shown_fields(Inner Outer::* outer) {
  return [outer]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    return fields({}, shown_row(field_at<kShownRows<Inner>[kAt]>(kFieldsOf<Inner>), outer)...);
  }(std::make_index_sequence<kShownRows<Inner>.size()>());
}

}  // namespace berth

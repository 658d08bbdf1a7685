// SPDX-License-Identifier: Apache-2.0
#include "model/record_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_tree.h"
#include "base/sample_for_test.h"
#include "model/record_samples_for_test.h"

namespace berth {
namespace {

// Walks the fields as the writer does, and fills them with anything.
class Filler {
 public:
  template <class T>
  void fill(std::optional<T>& value) {
    if (*rc::gen::arbitrary<bool>()) fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& list) {
    list.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (T& item : list) fill(item);
  }
  void fill(std::integral auto& value) {
    value = *rc::gen::arbitrary<std::remove_reference_t<decltype(value)>>();
  }
  void fill(double& value) { value = *rc::gen::arbitrary<double>(); }
  // Text that is UTF-8 already; what becomes of other text has a test of its own.
  void fill(std::string& text) {
    for (const char* piece : *rc::gen::container<std::vector<const char*>>(rc::gen::element(
             "a", "7", "\"", "\\", "/", "\n", "\x01", "\x7f", "ä", "€", "😀", "{", "}"))) {
      text += piece;
    }
  }
  void fill(std::map<std::string, std::string>& map) {
    for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
      std::string name;
      fill(name);
      fill(map[name]);
    }
  }
  void fill(DeviceName& name) {
    if (*rc::gen::arbitrary<bool>()) {
      fill(name.emplace<DeviceId>());
    } else {
      fill(name.emplace<std::uint32_t>());
    }
  }
  void fill(Bytes& bytes) { fill(bytes.value); }
  void fill(Instant& instant) { fill(instant.ns); }
  void fill(Duration& duration) { fill(duration.ns); }
  void fill(UnixMs& time) { fill(time.value); }
  void fill(LeaseId& id) { fill(id.value); }
  void fill(UserId& user) { fill(user.value); }
  void fill(Handle& handle) {
    fill(handle.high);
    fill(handle.low);
  }
  void fill(DeviceId& device) {
    fill(device.high);
    fill(device.low);
    fill(device.mig);
  }
  template <HasWords Enum>
  void fill(Enum& value) {
    value = kWordsOf<Enum>[*rc::gen::inRange<std::size_t>(0, kWordsOf<Enum>.size())].value;
  }
  template <HasFields T>
  void fill(T& value) {
    for_each_field<T, side::kJournal>(
        [&](auto at) { fill(decltype(at)::kField.place.reach(value)); });
  }
};

template <std::size_t kIndex = 0>
void emplace_fact(std::size_t index, Fact& fact) {
  if constexpr (kIndex < std::variant_size_v<AnyFact>) {
    if (index != kIndex) return emplace_fact<kIndex + 1>(index, fact);
    Filler filler;
    filler.fill(fact.emplace<kIndex>());
  }
}

Record any_record() {
  Record record;
  Filler filler;
  filler.fill(record.sequence);
  filler.fill(record.at);
  filler.fill(record.wall);
  emplace_fact(*rc::gen::inRange<std::size_t>(0, std::variant_size_v<AnyFact>), record.fact);
  return record;
}

RC_GTEST_PROP(RecordJson, AnyRecordReadsBackAsItWas, ()) {
  const std::string line = to_json(any_record());
  const Result<Record> record = parse_record(line);
  if (!record.ok()) RC_FAIL(record.error().message + ": " + line);
  RC_ASSERT(to_json(*record) == line);
}

RC_GTEST_PROP(RecordJson, AnyBytesAreARecordOrAnError, ()) {
  const auto line = *rc::gen::arbitrary<std::string>();
  const Result<Record> record = parse_record(line);
  const bool says_why = record.ok() || !record.error().message.empty();
  RC_ASSERT(says_why);
}

// What a struct of so many fields can be made from.
struct Anything {
  template <class T>
  operator T() const {
    std::abort();  // Never called, only looked up.
  }
};
template <class T, class... Values>
consteval std::size_t field_count() {
  if constexpr (requires { T{Values{}..., Anything{}}; }) {
    return field_count<T, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

template <class T>
constexpr std::size_t kKeptCount = kOrderOf<T, side::kJournal>.size();

template <class... Structs>
void expect_all_kept() {
  const auto expect_kept = []<class Struct>(const Struct* /*type*/) {
    EXPECT_EQ(kKeptCount<Struct>, field_count<Struct>())
        << testing::internal::GetTypeName<Struct>();
  };
  (expect_kept(static_cast<Structs*>(nullptr)), ...);
}

template <std::size_t... kIndexes>
void expect_facts_kept(std::index_sequence<kIndexes...>) {
  expect_all_kept<std::variant_alternative_t<kIndexes, AnyFact>...>();
}

TEST(RecordJson, NoFieldIsForgotten) {
  expect_facts_kept(std::make_index_sequence<std::variant_size_v<AnyFact>>());
  expect_all_kept<Process, ExitStatus, Part, Peak, PastRun, Request, CheckpointWay, CheckpointAsk,
                  CheckpointEnd, Checkpoints, MeasureTaken>();
  // Not gpu_utilization,
  EXPECT_EQ(kKeptCount<LeasePart> + 1, field_count<LeasePart>());
  // nor on_hold, astray, suspending, resuming, requeuing, frozen and
  // message,
  EXPECT_EQ(kKeptCount<LeaseFlags> + 7, field_count<LeaseFlags>());
  // nor pressure, full_in, strays, turn_ends_at, idle_since, requeue, requeued_by, left_alone,
  // halt and progress.
  EXPECT_EQ(kKeptCount<LeaseView> + 10, field_count<LeaseView>());
}

// Two rows for one member would hide that another has none.
template <HasFields T>
void expect_own_places() {
  const T object;
  std::set<const void*> places;
  for_each_field<T, side::kJournal>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    EXPECT_TRUE(places.insert(&kField.place.get(object)).second) << kField.journal.text();
  });
}

template <class T>
void expect_same(const std::string& name, const T& read, const T& written);

template <class T>
void expect_same_items(const std::string& name, const T& read, const T& written) {
  ASSERT_TRUE(read.size() == written.size() && !written.empty()) << name;
  for (std::size_t i = 0; i != read.size(); ++i) expect_same(name, read[i], written[i]);
}

template <class T>
void expect_same(const std::string& name, const T& read, const T& written) {
  if constexpr (HasFields<T>) {
    expect_own_places<T>();
    for_each_field<T, side::kJournal>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      expect_same(name + '.' + std::string(kField.journal.text()), kField.place.get(read),
                  kField.place.get(written));
    });
  } else if constexpr (requires { written.has_value(); }) {
    ASSERT_TRUE(read && written) << name;
    expect_same(name, *read, *written);
  } else if constexpr (requires { []<class Item>(const std::vector<Item>&) {}(written); }) {
    expect_same_items(name, read, written);
  } else {
    EXPECT_EQ(read, written) << name;
  }
}

// The text of a record alone does not show that a field survives which neither side knows.
TEST(RecordJson, EveryFieldOfEveryFactIsInTheLine) {
  for (const Record& record : samples::all_facts()) {
    const Result<Record> back = parse_record(to_json(record));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(to_json(*back), to_json(record));
    std::visit(
        [&]<class Of>(const Of& fact) {
          expect_same(std::string(name_of(record.fact)), std::get<Of>(back->fact), fact);
        },
        static_cast<const AnyFact&>(record.fact));
  }
}

// So a new field changes no record of those who do not ask for it.
TEST(RecordJson, FieldThatIsLeftOutAtItsDefaultIsWrittenOtherwise) {
  int count = 0;
  for (const Request& request : {Request(), full_sample<Request>()}) {
    Record record;
    record.fact = RequestQueued{.request = request};
    const std::string line = to_json(record);
    for_each_field<Request, side::kJournal>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      if (!kField.is_left_out(side::kJournal)) return;
      const bool is_said = !(kField.place.get(request) == kField.place.get(Request()));
      const std::string key = "\"" + std::string(kField.journal.text()) + "\":";
      EXPECT_EQ(line.find(key) != std::string::npos, is_said) << line;
      ++count;
    });
  }
  EXPECT_GE(count, 2);
}

TEST(RecordJson, WhatFollowsOrIsFoundOutAgainIsNotKept) {
  Record record;
  record.fact = full_sample<LeaseRestored>();
  const Result<Record> back = parse_record(to_json(record));
  ASSERT_TRUE(back.ok());
  const LeaseView& view = *std::get<LeaseRestored>(back->fact).view;
  EXPECT_FALSE(view.requeued_by) << "it follows from the rest";
  EXPECT_FALSE(view.halt) << "it follows from the rest";
  EXPECT_FALSE(view.requeue) << "it follows from the rest";
  EXPECT_TRUE(view.left_alone.empty()) << "it is found out again";
  EXPECT_FALSE(view.turn_ends_at) << "it follows from what is measured";
  EXPECT_FALSE(view.progress) << "it is told again and again";
  EXPECT_EQ(view.pressure, Pressure::kNormal);  // Measurements are not kept.
  EXPECT_FALSE(view.full_in);
  EXPECT_TRUE(view.strays.empty());
  EXPECT_FALSE(view.flags.astray || view.flags.suspending || view.flags.resuming ||
               view.flags.requeuing || view.flags.frozen);
}

TEST(RecordJson, LineReadsAsDocumented) {
  EXPECT_EQ(to_json({7, {1'000}, {2'000}, LeaseGranted{{3}, {{{1, 2}, gib(1)}}, true}}),
            R"({"sequence":7,"at_ns":1000,"wall_ms":2000,"fact":"lease_granted","id":3,)"
            R"("devices":[{"uuid":"GPU-00000000-0000-0001-0000-000000000002",)"
            R"("vram_granted_bytes":1073741824}],"passed_others":true})");
  EXPECT_EQ(to_json({8, {1}, {-2}, LeaseClaimed{{3}, {}}}),
            R"({"sequence":8,"at_ns":1,"wall_ms":-2,"fact":"lease_claimed","id":3})");
}

TEST(RecordJson, FieldsOfALaterReleaseArePassedOver) {
  for (const Record& record : samples::all_facts()) {
    std::string later;
    for (const char c : to_json(record)) {
      later += c;
      if (c == '{') later += R"("invented":{"later":[1,{},"}"],"x":null},)";
    }
    // Labels have no fields of ours: there it is a label that is no text.
    const std::size_t labels = later.find(R"("labels":{"invented")");
    if (labels != std::string::npos) {
      later.replace(later.find('{', labels), later.find(R"("key")") - later.find('{', labels), "{");
    }
    const Result<Record> back = parse_record(later);
    ASSERT_TRUE(back.ok()) << back.error().message << later;
    EXPECT_EQ(to_json(*back), to_json(record));
  }
}

TEST(RecordJson, OrderOfFieldsDoesNotMatter) {
  const Result<Record> record = parse_record(
      R"({ "id" : 3 , "fact":"member_seen", "process": {"start_ticks":2,"pid":1}, "wall_ms":1,)"
      R"("at_ns":5,"sequence":9})");
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(to_json(*record), R"({"sequence":9,"at_ns":5,"wall_ms":1,"fact":"member_seen",)"
                              R"("id":3,"process":{"pid":1,"start_ticks":2}})");
}

TEST(RecordJson, UnknownFactIsToldFromADamagedOne) {
  const Result<Record> later =
      parse_record(R"({"sequence":1,"at_ns":1,"wall_ms":1,"fact":"lease_lent","id":1})");
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code, Errc::kVersion);
  EXPECT_NE(later.error().message.find("lease_lent"), std::string::npos);
}

struct Field {
  std::string name;
  std::size_t start = 0;  // Where its value begins in the line,
  std::size_t end = 0;    // and ends.
};

std::vector<Field> fields_of(const std::string& line) {
  const std::optional<JsonTree> tree = JsonTree::parse(line);
  std::vector<Field> fields;
  for (std::uint32_t key = 1; key < (*tree)[0].end; key = (*tree)[key + 1].end) {
    const std::string_view name = (*tree)[key].text;
    const auto start = static_cast<std::size_t>(name.data() - line.data());
    if (!fields.empty()) fields.back().end = start - 2;  // `,"` stands between.
    fields.push_back({std::string(name), start + name.size() + 2, line.size() - 1});
  }
  return fields;
}

TEST(RecordJson, DamageNamesTheField) {
  for (const Record& record : samples::all_facts()) {
    const std::string line = to_json(record);
    for (const Field& field : fields_of(line)) {
      const bool is_flag = line[field.start] == 't' || line[field.start] == 'f';
      std::string damaged = line;
      damaged.replace(field.start, field.end - field.start, is_flag ? "7" : "true");
      const Result<Record> wrong = parse_record(damaged);
      ASSERT_FALSE(wrong.ok()) << damaged;
      EXPECT_EQ(wrong.error().code, Errc::kCorrupt);
      EXPECT_NE(wrong.error().message.find(field.name), std::string::npos) << wrong.error().message;
    }
  }
}

TEST(RecordJson, WhatARecordCannotBeWithoutIsMissed) {
  const std::string line = to_json(samples::all_facts().front());
  for (const char* name : {"sequence", "at_ns", "wall_ms", "fact", "id", "handle", "request",
                           "priority", "vram_bytes", "leftovers", "pid"}) {
    std::string without = line;
    without.replace(line.find("\"" + std::string(name) + "\":"), 2, "\"x");
    const Result<Record> wrong = parse_record(without);
    ASSERT_FALSE(wrong.ok()) << name;
    EXPECT_NE(wrong.error().message.find(name), std::string::npos) << wrong.error().message;
  }
}

TEST(RecordJson, FiguresOutsideTheirTypeAreRefused) {
  const auto with = [](const std::string& field, const std::string& value) {
    std::string line = R"({"sequence":1,"at_ns":1,"wall_ms":1,"fact":"member_seen","id":1,)"
                       R"("process":{"pid":1,"start_ticks":1}})";
    for (const Field& old : fields_of(line)) {
      if (old.name == field) {
        line.replace(old.start, old.end - old.start, value);
        break;
      }
    }
    return parse_record(line);
  };
  EXPECT_TRUE(with("id", "18446744073709551615").ok());
  EXPECT_TRUE(with("at_ns", "-9223372036854775808").ok());
  EXPECT_FALSE(with("id", "18446744073709551616").ok());
  EXPECT_FALSE(with("id", "-1").ok());
  EXPECT_FALSE(with("id", "1.0").ok());
  EXPECT_FALSE(with("id", "null").ok());
  EXPECT_FALSE(with("at_ns", "9223372036854775808").ok());
  EXPECT_FALSE(with("process", R"({"pid":2147483648,"start_ticks":1})").ok());
  EXPECT_FALSE(with("process", R"({"pid":1,"start_ticks":-1})").ok());
  EXPECT_FALSE(with("process", R"({"pid":1})").ok());
  EXPECT_FALSE(with("process", "[]").ok());
  EXPECT_FALSE(
      parse_record(R"({"sequence":1,"at_ns":1,"wall_ms":1,"fact":"usage_restored","user_id":1,)"
                   R"("byte_seconds":1e999,"counted_at_ns":1})")
          .ok());
}

TEST(RecordJson, WhatIsNoJsonObjectIsRefused) {
  for (const char* line : {"", "{", "[]", "null", "7", "{}", "{\"sequence\":1", "\xff\xfe",
                           "{\"sequence\":1}{\"sequence\":2}"}) {
    EXPECT_EQ(parse_record(line).error().code, Errc::kCorrupt) << line;
  }
  const std::string deep(100'000, '[');
  EXPECT_FALSE(parse_record(deep).ok());
  EXPECT_FALSE(parse_record("{\"x\":\"" + std::string(kRecordLineMax, 'a') + "\"}").ok());
}

TEST(RecordJson, CommandThatIsNoTextIsStillReadable) {
  Record record = samples::all_facts().front();
  std::get<RequestQueued>(record.fact).request.command = "cat \xff\xc3(";
  const Result<Record> back = parse_record(to_json(record));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<RequestQueued>(back->fact).request.command, "cat \uFFFD\uFFFD(");
}

TEST(RecordJson, LargestLeaseIsStillRead) {
  Record record;
  LeaseView& lease = *record.fact.emplace<LeaseRestored>(full_sample<LeaseRestored>()).view;
  lease.request.command = std::string(4'096, '\x01');
  for (int i = 0; i < 16; ++i) {
    lease.request.labels[std::string(63, '\x02') + static_cast<char>('a' + i)] =
        std::string(64, '\x03');
  }
  lease.request.devices.assign(16, DeviceName{DeviceId{1, 2, true}});
  lease.parts.assign(
      16, {DeviceId{~0ULL, ~0ULL}, 4'000'000'000, Bytes::max(), Bytes::max(), Bytes::max()});
  lease.members.assign(512, {std::numeric_limits<std::int32_t>::max(), ~0ULL});
  lease.request.ancestors.assign(32, {~0ULL});
  const std::string line = to_json(record);
  EXPECT_LT(line.size(), kRecordLineMax / 2);
  EXPECT_TRUE(parse_record(line).ok());
}

}  // namespace
}  // namespace berth

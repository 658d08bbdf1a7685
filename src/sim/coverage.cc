// SPDX-License-Identifier: Apache-2.0
#include "sim/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace berth::sim {
namespace {

/// Which of a few things a field says, and how many there are: a word, or a flag.
template <class Value>
inline constexpr std::size_t kChoices = 0;
template <>
inline constexpr std::size_t kChoices<bool> = 2;
template <HasWords Value>
inline constexpr std::size_t kChoices<Value> = kWordsOf<Value>.size();

/// Records of a lease. Others are of snapshots alone, and a world without them would not recover.
template <class T>
concept TellsOfLease = requires(const T& fact) { fact.id; };

/// Calls visit(field, how many things it can say) for each field of a fact that says one of a few.
template <TellsOfLease T>
constexpr void for_each_choice(auto&& visit) {
  for_each_field<T, side::kJournal>([&]<class At>(At /*at*/) {
    using Value = std::remove_cvref_t<decltype(At::kField.place.get(std::declval<const T&>()))>;
    if constexpr (kChoices < Value >> 0) visit.template operator()<Value>(At::kField);
  });
}

template <class T>
consteval std::size_t marks_of() {
  std::size_t count = 0;
  if constexpr (TellsOfLease<T>) {
    count = 1;
    for_each_choice<T>([&]<class Value>(const auto& /*field*/) { count += kChoices<Value>; });
  }
  return count;
}

/// Where the marks of each kind of record begin, and how much can be reached in all.
template <class... Kind>
consteval auto places_of(const std::variant<Kind...>* /*type*/) {
  std::array<std::size_t, sizeof...(Kind) + 1> places = {kFaultCount + kWordsOf<Moment>.size(),
                                                         marks_of<Kind>()...};
  std::partial_sum(places.begin(), places.end(), places.begin());
  return places;
}
constexpr auto kPlaces = places_of(static_cast<const AnyFact*>(nullptr));

/// What need not be reached. Whatever is added to a record has to be, or stands here as well.
constexpr std::string_view kNotWanted[] = {
    // Nobody writes it.
    "lease_revoked result killed",
    "lease_revoked result refused",
    "lease_revoked result detached",
    "lease_releasing result refused",
    "measure_begun measure notify",
    // No simulated client or device is in such a state, as things are.
    "allocation_refused",
    "lease_idle",
    "checkpoint_asked reason suspend",
    "checkpoint_ended outcome unconfirmed",
    "checkpoint_ended outcome uncaught",
    "measure_begun cause device_critical",
    "requeue_dropped result ok",
    "requeue_dropped result failed",
    "requeue_dropped result killed",
    "requeue_dropped result limit",
    "requeue_dropped result refused",
    "requeue_dropped result over_budget",
    "requeue_dropped result detached",
    // Machines up to seed 10 000 have nobody who does it.
    "request_edited",
    // No simulated user asks for it yet.
    "request_on_hold",
    "request_on_hold on_hold",
    "request_on_hold not on_hold",
    "request_kept",
    "job_queued_again",
    "command_ended kind out_of_memory",
    "command_ended kind final",
    "command_ended kind shutdown",
    "message_sent",
    "message_answered",
    "message_answered answer agreed",
    "message_answered answer refused",
    "message_answered answer lapsed",
    // Two seeds in a hundred reach it: not each run of 200 does.
    "lease_revoked result failed",
    "measure_begun cause unmanaged",
};

template <class T>
void name_marks(auto&& add) {
  const std::string_view kind = kFieldsOf<T>.noun.name;
  if constexpr (TellsOfLease<T>) {
    add(std::string(kind));
    for_each_choice<T>([&]<class Value>(const auto& field) {
      const std::string_view name = field.name(side::kJournal);
      if constexpr (std::is_same_v<Value, bool>) {
        for (const std::string_view no : {"not ", ""}) add(fmt::format("{} {}{}", kind, no, name));
      } else {
        for (const auto text : kTextsOf<Value>) add(fmt::format("{} {} {}", kind, name, text));
      }
    });
  }
}

}  // namespace

Coverage::Coverage() : times_(kPlaces.back()) {}

void Coverage::wrote(const Fact& fact) {
  std::size_t place = kPlaces[fact.index()];
  const auto count = [&]<class T>(const T& what) {
    if constexpr (TellsOfLease<T>) {
      ++times_[place++];
      for_each_choice<T>([&]<class Value>(const auto& field) {
        ++times_[place + static_cast<std::size_t>(field.place.get(what))];
        place += kChoices<Value>;
      });
    }
  };
  std::visit(count, static_cast<const AnyFact&>(fact));
}

std::uint64_t Coverage::faults() const {
  return std::accumulate(times_.begin(), times_.begin() + kFaultCount, std::uint64_t{0});
}

CoverageOfSeeds::CoverageOfSeeds() {
  const auto add = [&](std::string name) {
    const bool is_wanted = std::ranges::find(kNotWanted, name) == std::end(kNotWanted);
    rows_.push_back({std::move(name), is_wanted});
  };
  for (const std::string_view fault : kTextsOf<Fault>) add(std::string(fault));
  for (const std::string_view moment : kTextsOf<Moment>) add(std::string(moment));
  [&]<class... Kind>(const std::variant<Kind...>* /*type*/) {
    (name_marks<Kind>(add), ...);
  }(static_cast<const AnyFact*>(nullptr));
  CHECK(rows_.size() == kPlaces.back());
  CHECK(std::ranges::count(rows_, false, &Row::is_wanted) == std::ssize(kNotWanted));
}

void CoverageOfSeeds::add(const Coverage& coverage) {
  ++seeds_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].times += coverage.times()[i];
    rows_[i].seeds += coverage.times()[i] > 0 ? 1U : 0U;
  }
}

std::string CoverageOfSeeds::missed() const {
  const auto is_rare = [&](const Row& row) { return row.seeds * 100 < seeds_ || row.seeds == 0; };
  for (const Row& row : rows_) {
    if (row.is_wanted && is_rare(row)) return row.name;
  }
  return {};
}

std::string CoverageOfSeeds::faults_told() const {
  std::string text;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows_[i].name, rows_[i].times);
  }
  return text;
}

void CoverageOfSeeds::print() const {
  fmt::print("{:<44} {:>10} {:>12}\n", "reached", "seeds", "times");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double share = 100.0 * static_cast<double>(rows_[i].seeds) / static_cast<double>(seeds_);
    fmt::print("  {:<42} {:>8.1f} % {:>12}\n", rows_[i].name, share, rows_[i].times);
  }
}

}  // namespace berth::sim

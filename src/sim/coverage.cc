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
    // After an hour.
    "message_answered answer lapsed",
    // Two seeds in a hundred reach it: not each run of 200 does.
    "lease_revoked result failed",
    "measure_begun cause unmanaged",
    // Two in a thousand.
    "command_ended kind final",
};

/// What need not be reached by machines that have no jobs: nobody of theirs does it.
constexpr std::string_view kOfJobs[] = {
    "request_edited",
    "request_kept",
    "job_queued_again",
    "command_ended kind out_of_memory",
    "command_ended kind shutdown",
    "request_on_hold",
    "request_on_hold on_hold",
    "request_on_hold not on_hold",
    "message_sent",
    "message_answered",
    "message_answered answer agreed",
    "message_answered answer refused",
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
    const auto is_of = [&](const auto& list) {
      return std::ranges::find(list, name) != std::end(list);
    };
    const Wanted wanted = is_of(kNotWanted) ? Wanted::kNo
                          : is_of(kOfJobs)  ? Wanted::kWithJobs
                                            : Wanted::kYes;
    rows_.push_back({std::move(name), wanted});
  };
  for (const std::string_view fault : kTextsOf<Fault>) add(std::string(fault));
  for (const std::string_view moment : kTextsOf<Moment>) add(std::string(moment));
  [&]<class... Kind>(const std::variant<Kind...>* /*type*/) {
    (name_marks<Kind>(add), ...);
  }(static_cast<const AnyFact*>(nullptr));
  CHECK(rows_.size() == kPlaces.back());
  CHECK(std::ranges::count(rows_, Wanted::kNo, &Row::wanted) == std::ssize(kNotWanted));
  CHECK(std::ranges::count(rows_, Wanted::kWithJobs, &Row::wanted) == std::ssize(kOfJobs));
}

void CoverageOfSeeds::add(const Coverage& coverage, bool has_jobs) {
  ++seeds_;
  with_jobs_ += has_jobs ? 1U : 0U;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].times += coverage.times()[i];
    rows_[i].seeds += coverage.times()[i] > 0 ? 1U : 0U;
  }
}

std::string CoverageOfSeeds::missed() const {
  for (const Row& row : rows_) {
    const std::uint64_t seeds = row.wanted == Wanted::kYes        ? seeds_
                                : row.wanted == Wanted::kWithJobs ? with_jobs_
                                                                  : 0;
    if (seeds > 0 && (row.seeds * 100 < seeds || row.seeds == 0)) return row.name;
  }
  return {};
}

Coverage CoverageOfSeeds::all_but(std::string_view name) {
  const CoverageOfSeeds seeds;
  Coverage coverage;
  for (std::size_t i = 0; i < seeds.rows_.size(); ++i) {
    coverage.times_[i] = seeds.rows_[i].name == name ? 0 : 1;
  }
  return coverage;
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

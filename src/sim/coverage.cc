// SPDX-License-Identifier: Apache-2.0
#include "sim/coverage.h"

#include <fmt/core.h>

#include <algorithm>
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

/// Where the marks of each kind of record begin, and how many there are in all.
template <class... Kind>
consteval auto places_of(const std::variant<Kind...>* /*type*/) {
  std::array<std::size_t, sizeof...(Kind) + 1> places = {0, marks_of<Kind>()...};
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
    // Two seeds in a hundred reach it: not each run of 200 does.
    "lease_revoked result failed",
    "measure_begun cause unmanaged",
};

template <class T>
void name_marks(auto& rows) {
  if constexpr (TellsOfLease<T>) {
    const std::string kind(kFieldsOf<T>.noun.name);
    const auto add = [&](const std::string& name) {
      rows.push_back({name, std::ranges::find(kNotWanted, name) == std::end(kNotWanted)});
    };
    add(kind);
    for_each_choice<T>([&]<class Value>(const auto& field) {
      const std::string_view name = field.name(side::kJournal);
      if constexpr (std::is_same_v<Value, bool>) {
        add(fmt::format("{} not {}", kind, name));
        add(fmt::format("{} {}", kind, name));
      } else {
        for (const auto& word : kWordsOf<Value>)
          add(fmt::format("{} {} {}", kind, name, word.text));
      }
    });
  }
}

auto with_words(std::string title, auto table, const auto& texts) {
  table.title = std::move(title);
  for (const std::string_view text : texts) table.rows.push_back({std::string(text)});
  return table;
}

}  // namespace

Coverage::Coverage() : marks_(kPlaces.back()) {}

void Coverage::wrote(const Fact& fact) {
  std::size_t place = kPlaces[fact.index()];
  const auto count = [&]<class T>(const T& what) {
    if constexpr (TellsOfLease<T>) {
      ++marks_[place++];
      for_each_choice<T>([&]<class Value>(const auto& field) {
        ++marks_[place + static_cast<std::size_t>(field.place.get(what))];
        place += kChoices<Value>;
      });
    }
  };
  std::visit(count, static_cast<const AnyFact&>(fact));
}

std::uint64_t Coverage::faults() const {
  return std::accumulate(faults_.begin(), faults_.end(), std::uint64_t{0});
}

CoverageOfSeeds::CoverageOfSeeds()
    : faults_(with_words("fault", Table{}, kTextsOf<Fault>)),
      marks_{.title = "written", .rows = {}},
      moments_(with_words("moment", Table{}, kTextsOf<Moment>)) {
  [&]<class... Kind>(const std::variant<Kind...>* /*type*/) {
    (name_marks<Kind>(marks_.rows), ...);
  }(static_cast<const AnyFact*>(nullptr));
  CHECK(std::ranges::count(marks_.rows, false, &Row::is_wanted) == std::ssize(kNotWanted));
}

void CoverageOfSeeds::Table::add(const auto& times) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].times += times[i];
    rows[i].seeds += times[i] > 0 ? 1U : 0U;
  }
}

void CoverageOfSeeds::add(const Coverage& coverage) {
  ++seeds_;
  faults_.add(coverage.faults_);
  marks_.add(coverage.marks_);
  moments_.add(coverage.moments_);
}

std::string CoverageOfSeeds::missed() const {
  for (const Table* table : {&faults_, &marks_, &moments_}) {
    for (const Row& row : table->rows) {
      const bool is_rare = row.seeds * 100 < seeds_ || row.seeds == 0;
      if (is_rare && row.is_wanted) return row.name;
    }
  }
  return {};
}

std::string CoverageOfSeeds::faults_told() const {
  std::string text;
  for (const Row& row : faults_.rows) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.name, row.times);
  }
  return text;
}

void CoverageOfSeeds::print() const {
  for (const Table* table : {&faults_, &marks_, &moments_}) {
    fmt::print("{:<44} {:>10} {:>12}\n", table->title, "seeds", "times");
    for (const Row& row : table->rows) {
      fmt::print("  {:<42} {:>8.1f} % {:>12}\n", row.name,
                 100.0 * static_cast<double>(row.seeds) / static_cast<double>(seeds_), row.times);
    }
  }
}

}  // namespace berth::sim

// SPDX-License-Identifier: Apache-2.0
// Messages to webhooks and commands that are on their way: which is to be tried when, and when it
// is given up. Messages of one rule to one channel are tried in order, one at a time, so that
// nobody hears that something is over before that it was so. Pure: the caller that takes a message
// tries it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/alert.h"

namespace berth::alerts {

enum class Outcome : std::uint8_t { kDelivered, kRetry, kRefused };

class Deliveries {
 public:
  static constexpr std::size_t kWaitingMax = 1'000;
  static constexpr std::size_t kAtOnce = 4;  // Tried at the same time.
  static constexpr Duration kGiveUpAfter = hours(24);
  static constexpr Duration kPauseMax = minutes(15);

  /// Those of a daemon before this one, and all that was added meanwhile after them. Nothing is due
  /// before.
  void restore(std::vector<AlertDelivery> kept);
  /// With its number. `about`: whose lease it is about; nobody's, where it is about a GPU, or of a
  /// daemon before. Where there are too many, of the user who has most the oldest that is not being
  /// tried makes room, and is returned.
  std::optional<AlertDelivery> add(AlertDelivery delivery, std::optional<UserId> about = {});

  /// Those to be tried now. Each is finished() later.
  std::vector<AlertDelivery> take_due(UnixMs now);
  enum class Disposition : std::uint8_t { kDone, kAgain, kGivenUp };
  /// `pause`: what the other side asked for. `chance`: anything at all.
  Disposition finished(std::uint64_t number, Outcome outcome, std::optional<Duration> pause,
                       UnixMs now, std::uint64_t chance);
  /// Of rules that are gone, or have no such channel any more; not those being tried.
  template <class Gone>
  void drop_if(Gone gone) {
    std::erase_if(waiting_, [&](const auto& entry) {
      const bool drops = !tried_.contains(entry.first) && gone(entry.second);
      if (drops) dropped(entry.first);
      return drops;
    });
  }

  /// How long until one is due; absent: none is before one that is being tried is finished.
  std::optional<Duration> next(UnixMs now) const;
  std::uint64_t count_of(const std::string& rule) const;

  /// What changed since the last call: to be kept where a daemon after this one finds it.
  struct Changes {
    std::vector<AlertDelivery> put;
    std::vector<std::uint64_t> drop;
    bool empty() const { return put.empty() && drop.empty(); }
  };
  Changes take_changes();

 private:
  using Lane = std::pair<std::string, AlertDelivery::Channel>;

  void changed(std::uint64_t number) { put_.insert(number); }
  void dropped(std::uint64_t number);
  std::vector<const AlertDelivery*> heads() const;
  std::uint64_t one_too_many() const;

  std::map<std::uint64_t, AlertDelivery> waiting_;  // By number: in order.
  std::map<std::uint64_t, UserId> about_;           // Whose lease each of these is about.
  std::set<std::uint64_t> tried_;                   // Of these, being tried.
  std::set<std::uint64_t> put_;
  std::vector<std::uint64_t> drop_;
  std::uint64_t last_number_ = 0;
  bool restored_ = false;
};

/// When a delivery that failed for the time being is tried again: later each time, and not all at
/// the same moment. `chance`: anything at all.
Duration retry_after(std::uint32_t attempts, std::uint64_t chance);

}  // namespace berth::alerts

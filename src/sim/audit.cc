// SPDX-License-Identifier: Apache-2.0
// Audits: a daemon that starts now would be as the living one is, and nothing is left when all is
// over.
#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/record_json.h"
#include "sim/invariant_checker.h"

namespace berth::sim {
namespace {

/// Each lease that has not ended, in the words of the journal.
std::map<LeaseId, std::string> leases_in(const std::vector<Record>& snapshot) {
  std::map<LeaseId, std::string> leases;
  for (const Record& record : snapshot) {
    const auto* lease = std::get_if<LeaseRestored>(&record.fact);
    const bool lives = lease != nullptr && lease->view->state != LeaseState::kEnded;
    if (lives) leases.emplace(lease->view->id, to_json(record));
  }
  return leases;
}

/// What was written leads to the leases of the living coordinator, to the last of their fields.
std::string check_replay(const std::vector<Record>& replayed, const std::vector<Record>& living) {
  const std::map<LeaseId, std::string> written = leases_in(replayed);
  for (const auto& [id, lease] : leases_in(living)) {
    const auto found = written.find(id);
    const std::string_view other =
        found == written.end() ? "nothing" : std::string_view(found->second);
    if (lease != other) {
      return fmt::format("lease {} is {}, and by the journal {}", id.value, lease, other);
    }
  }
  return {};
}

std::string listed(const std::vector<LeaseId>& ids) {
  std::string text;
  for (const LeaseId id : ids) text += fmt::format(" {}", id.value);
  return text;
}

}  // namespace

core::Coordinator InvariantChecker::restored(const std::vector<Record>& records) {
  core::Coordinator coordinator(observations_.settings);
  for (const Record& record : records) {
    if (const Status applied = coordinator.apply(record); !applied.ok()) {
      context_.fail("a record that was written does not fit: " + applied.error().message);
    }
  }
  return coordinator;
}

core::Coordinator InvariantChecker::started(core::Coordinator coordinator, core::Now at) {
  // As a daemon would; nothing has reconnected and nothing is sampled, so it grants nothing.
  static_cast<void>(coordinator.step(at, core::Recovered{.same_boot = true, .safe_mode = false}));
  return coordinator;
}

void InvariantChecker::audit(const server::Engine& engine, core::Now at) {
  if (engine.journal_behind()) return;
  Result<store::Recovered> read = disk_.read(0);
  if (!read.ok()) {
    context_.fail("the journal cannot be read: " + read.error().message);
    return;
  }
  std::vector<Record> records = std::move(read->snapshot);
  records.insert(records.end(), read->records.begin(), read->records.end());
  const std::vector<Record> now_living = engine.coordinator().snapshot(at);
  core::Coordinator replayed = restored(records);
  check(check_replay(replayed.snapshot(at), now_living));
  const core::Coordinator again = started(std::move(replayed), at);
  again.check_everything();
  const std::vector<LeaseView> views = engine.coordinator().leases(at);
  const std::vector<LeaseView> found = again.leases(at);
  if (found.size() != views.size() || observations_.journal.leases().size() != views.size()) {
    context_.fail(
        fmt::format("{} leases live, {} are in the journal, and a daemon that starts "
                    "finds {}",
                    views.size(), observations_.journal.leases().size(), found.size()));
    return;
  }
  for (const LeaseView& view : found) check_view(view, engine);
  for (const LeaseView& view : views) check_view(view, engine);
  // What the living one shows may be a moment old: its snapshot is asked instead.
  const core::Coordinator living = started(restored(now_living), at);
  if (again.queue(at) != living.queue(at)) {
    context_.fail(fmt::format("a daemon that starts finds another order in the queue: {} became {}",
                              listed(living.queue(at)), listed(again.queue(at))));
  }
}

void InvariantChecker::all_over(const server::Engine& engine) {
  audit(engine, now());
  if (!observations_.journal.leases().empty()) {
    context_.fail("not all has ended: <" +
                  observations_.journal.leases().begin()->second.describe() + ">");
  }
  for (const DeviceView& device : engine.coordinator().devices(now())) {
    if (device.charged != Bytes{} || device.granted != Bytes{}) {
      context_.fail(fmt::format("{} are still charged and {} granted when all has ended",
                                device.charged.value, device.granted.value));
    }
  }
  for (const auto& [connection, call] : calls_) {
    context_.fail(fmt::format("call {} of kind {} was never {}", connection.value,
                              call.command.index(), call.streams ? "ended" : "answered"));
  }
}

}  // namespace berth::sim

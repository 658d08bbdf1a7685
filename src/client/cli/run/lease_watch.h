// SPDX-License-Identifier: Apache-2.0
// Listens to the news of a lease while its command runs, and says what a person should know. The
// command is not held up by it: where the daemon is gone, it goes on, and the daemon is looked for
// again now and then. A save that the daemon asks for is passed on to a saver, and the stop before
// a requeue to a stopper. Not shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "cli/run/console.h"
#include "cli/save/saver.h"
#include "cli/supervise/stopper.h"
#include "cli/supervise/supervisor.h"
#include "client/client.h"
#include "wire/lease.h"
#include "wire/sse.h"

namespace berth::cli {

class LeaseWatch final : public Observer {
 public:
  /// The client's connection is used from here on, and must have no request under way.
  /// Null where the command cannot be asked for that.
  struct Helpers {
    Saver* saver = nullptr;
    Stopper* stopper = nullptr;
  };
  LeaseWatch(client::Client& client, const LeaseView& lease, Console& console, Helpers helpers);

  int descriptor() const override;
  Instant wake_at() const override;
  void readable() override;
  void woke(Instant now) override;
  void reaped(std::int32_t pid, int status) override;
  bool stops_all() const override { return stopper_ != nullptr && stopper_->begun(); }
  bool is_frozen() const override;

  /// The command was told to end: by its limit, or by a user.
  const std::optional<EndResult>& revoked() const { return revoked_; }
  /// That the command goes on without its lease was said.
  bool detached() const { return detached_; }

 private:
  void listen();
  void lost();
  void take(const wire::SseEvent& event);
  void say_alert(const std::string& data);
  bool says_turn(const LeaseView& view);
  void say_strays(const LeaseView& view);
  void say_messages(wire::EventName name, const LeaseView& view);
  void describe_frozen(const LeaseView& view);
  void say_resumed(const LeaseView& view);
  void take_saves(const Checkpoints& saves);
  void take_requeue(const LeaseView& lease);
  void offer_to_stop(Instant now);
  void reconnect_daemon();
  void tell_save(Instant now);

  client::Client& client_;
  Handle handle_;
  std::string name_;  // "lease 12"
  Console& console_;
  Saver* saver_;
  Stopper* stopper_;
  std::optional<client::Connection> teller_;  // Of the last save that was told.
  Instant tell_at_;
  std::optional<client::Connection> offerer_;  // The same, of the last offer to stop.
  Instant offer_at_ = Instant::never();        // Until the daemon has taken it.
  bool listening_ = false;
  std::set<std::pair<DeviceId, Process>> strays_told_;
  std::uint64_t messages_told_ = 0;  // The number of the last.
  bool turns_told_ = false;
  std::vector<DeviceId> devices_;  // On which it runs, as far as was said.
  bool detached_ = false;
  std::optional<EndResult> revoked_;
  Instant reconnect_at_ = Instant::never();
};

}  // namespace berth::cli

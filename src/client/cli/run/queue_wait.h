// SPDX-License-Identifier: Apache-2.0
// A request's way through the queue: asked, waiting, granted, claimed; with all that may happen to
// the requester on the way (Ctrl-C, Ctrl-Z) and to the daemon (gone and back). Says what it waits
// for. Not shared between threads; waits for signals and the daemon.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "cli/exit_status.h"
#include "cli/run/console.h"
#include "cli/run/status_descriptor.h"
#include "client/client.h"
#include "model/request.h"
#include "os/signals.h"
#include "wire/error.h"
#include "wire/lease.h"
#include "wire/request.h"
#include "wire/sse.h"

namespace berth::cli {

/// The request is over without a lease; why was said. `signal`: it ended by this one.
struct ExitOutcome {
  int code = 0;
  int signal = 0;
  std::optional<wire::ApiError> error = {};  // As it is told to programs.
  /// It was asked for before, with the same key. Nothing was said of that.
  std::optional<LeaseId> exists() const { return error ? error->lease : std::nullopt; }
};

class QueueWait {
 public:
  struct Ports {
    client::Client& client;
    const client::ClientOptions& options;  // To find or start the daemon once more.
    os::SignalDescriptor& signals;
    Console& console;
    StatusDescriptor& status;
  };
  QueueWait(Ports ports, RequestBody request);

  /// The request is there already, and another process asked for it: takes its place.
  void adopt(Handle handle, std::uint32_t restarts);
  /// Asks, if that was not done.
  void begin();
  /// Asks, and waits until the request has a number.
  std::variant<LeaseView, ExitOutcome> wait_until_queued();
  struct Granted {};
  /// Waits for the grant. After a claim that came too late: waits for the next one.
  std::variant<Granted, ExitOutcome> wait();
  /// What was told with the grant.
  Result<wire::LeaseAnswer> granted() const;

  /// Takes the grant up for a process that stands ready. Absent: the offer went to the next one
  /// meanwhile, and it must be waited for again. `meanwhile` is done while the daemon answers.
  std::variant<std::optional<wire::LeaseAnswer>, ExitOutcome> claim(
      const Process& command, const std::function<void()>& meanwhile);

  /// The command was stopped, and is to be started again: for that many times then.
  void wait_again(std::uint32_t restarts);

  /// The number of the request, once it has one.
  std::optional<LeaseId> lease() const { return id_; }

 private:
  using Outcome = std::optional<std::variant<Granted, ExitOutcome>>;
  struct Told {
    wire::EventName event;
    std::string lease;  // Not read before it is needed: a grant is taken up without.
  };

  Outcome step();
  Outcome handle_signals();
  Outcome receive();
  Outcome take(const wire::SseEvent& event);
  Outcome refused(const client::Answer& answer);
  Outcome lost_connection(const Error& error);
  Outcome reconnect_daemon(Instant now);
  Outcome stream_ended();
  ExitOutcome fail(ExitCode code, const std::string& sentence);
  ExitOutcome fail(const wire::ApiError& error);
  bool asks_again(const wire::ApiError& error);
  void ask();
  void show(const wire::SseEvent& event);
  void set_aside();
  void park(bool parked);

  Ports ports_;
  RequestBody request_;
  std::optional<Handle> handle_;  // Absent: the daemon has not answered yet.
  std::optional<LeaseId> id_;
  bool adopted_ = false;
  bool tells_why_ = true;                  // What it waits for.
  std::optional<Told> last_;               // By the stream.
  bool asked_ = false;                     // A stream is open, and tells of the request.
  std::optional<Instant> reconnect_at_;    // The daemon is away.
  std::size_t tries_ = 0;                  // To reach it again.
  std::uint32_t restarts_ = 0;             // Of the command.
  std::optional<Instant> too_fast_since_;  // The user asks faster than they may.
  unsigned too_fast_ = 0;                  // So often that was said.
};

}  // namespace berth::cli

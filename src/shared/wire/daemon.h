// SPDX-License-Identifier: Apache-2.0
// The daemon's description of itself. Written by the daemon, read leniently by clients. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "wire/hello.h"

namespace berth::wire {

/// GET /v1/version
std::string encode_version(const ServerHello& hello);
Result<ServerHello> decode_version(std::string_view text);

/// GET /v1/daemon
struct DaemonView {
  enum class Mode : std::uint8_t { kUser, kSystem };
  struct Probe {
    std::string state;                   // "starting", "answering", "stale", "asleep", "failed".
    std::optional<Duration> sample_age;  // Absent: no sample yet.
    std::uint64_t restarts = 0;          // Children that were given up.
    std::string driver_version;          // Empty: unknown.
    std::string trouble;                 // Empty: none.
  };
  struct Counts {
    std::uint64_t waiting = 0;
    std::uint64_t held = 0;
    std::uint64_t releasing = 0;
    std::uint64_t connections = 0;
    std::uint64_t event_streams = 0;
  };
  struct Journal {
    std::string path;
    std::uint64_t sequence = 0;  // Of the last record.
    std::uint64_t records = 0;   // Since the last snapshot.
    bool safe_mode = false;      // It was moved aside: nothing is granted.
    std::string trouble;         // Empty: it can be written.
  };
  std::int32_t pid = 0;
  std::string version;
  UnixMs started;
  std::string socket;
  std::string http_address;  // Empty: the socket alone.
  std::string state_dir;
  Mode mode = Mode::kUser;
  std::string world;
  bool simulated = false;
  std::string trouble;
  Probe probe;
  Counts counts;
  Journal journal;
};
constexpr auto words_of(DaemonView::Mode) {
  using enum DaemonView::Mode;
  return make_words<DaemonView::Mode>({{kUser, "user"}, {kSystem, "system"}});
}
constexpr auto fields_of(Is<DaemonView::Probe> auto*) {
  using Probe = DaemonView::Probe;
  return fields({},
                field("state", &Probe::state, "starting, answering, stale, asleep or failed.")
                    .written(side::kAnswer),
                field("sample_age", &Probe::sample_age, "Of the last figures."),
                field("restarts", &Probe::restarts, "Probe processes that were given up."),
                field("driver_version", &Probe::driver_version, "Of the GPU driver."),
                field("trouble", &Probe::trouble, "For people."));
}
constexpr auto fields_of(Is<DaemonView::Counts> auto*) {
  using Counts = DaemonView::Counts;
  return fields(
      {}, field("waiting", &Counts::waiting, "Requests."), field("held", &Counts::held, "Leases."),
      field("releasing", &Counts::releasing, "Ended leases whose memory is not yet seen free."),
      field("connections", &Counts::connections, "To the daemon."),
      field("event_streams", &Counts::event_streams, "Of those, listening for events."));
}
constexpr auto fields_of(Is<DaemonView::Journal> auto*) {
  using Journal = DaemonView::Journal;
  return fields({}, field("path", &Journal::path, "Its file.").written(side::kAnswer),
                field("sequence", &Journal::sequence, "Of the last record."),
                field("records", &Journal::records, "Since the last snapshot."),
                field("safe_mode", &Journal::safe_mode, "It was moved aside; nothing is granted."),
                field("trouble", &Journal::trouble, "Null: it can be written."));
}
constexpr auto fields_of(Is<DaemonView> auto*) {
  using View = DaemonView;
  return fields(
      {"Daemon", "", "berth/daemon/v1"},
      field("pid", &View::pid, "Of the daemon.").required(side::kAnswer),
      field("version", &View::version, "Of the daemon.").written(side::kAnswer),
      computed("api", "MAJOR.MINOR of this interface.",
               [](const View&) { return to_text(kApiVersion); })
          .written(side::kAnswer),
      field("started", &View::started, "When it started."),
      field("socket", &View::socket, "Its path.").written(side::kAnswer),
      field("http_address", &View::http_address,
            "Where it answers over TCP, too, to who has the token in state_dir. Null: nowhere."),
      field("state_dir", &View::state_dir, "Where its journal lies.").written(side::kAnswer),
      field("mode", &View::mode, "For one user, or for the machine."),
      field("world", &View::world, "real, or the name of the simulated machine.")
          .written(side::kAnswer),
      field("simulated", &View::simulated, "The GPUs are simulated."),
      field("trouble", &View::trouble, "Why there are no GPUs."),
      field("probe", &View::probe, "The process that asks the driver."),
      field("counts", &View::counts), field("journal", &View::journal));
}
std::string encode_daemon(const DaemonView& daemon);
Result<DaemonView> decode_daemon(std::string_view text);

/// The answer to POST /v1/dashboard.
struct DashboardCode {
  std::string address;
  std::string code;
  std::optional<UnixMs> expires;
  std::size_t revoked = 0;
};
constexpr auto fields_of(Is<DashboardCode> auto*) {
  return fields({"DashboardCode", "What opens a session in a browser."},
                field("address", &DashboardCode::address, "Where the page is; null: nowhere."),
                field("code", &DashboardCode::code, "To be posted to /open, once. A secret."),
                field("expires", &DashboardCode::expires, "When the code is over."),
                field("revoked", &DashboardCode::revoked, "How many sessions were ended."));
}
std::string encode_dashboard_code(const DashboardCode& code);
Result<DashboardCode> decode_dashboard_code(std::string_view text);

}  // namespace berth::wire

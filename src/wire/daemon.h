// SPDX-License-Identifier: Apache-2.0
// The daemon's description of itself. Written by the daemon, read leniently by clients. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
std::string encode_daemon(const DaemonView& daemon);
Result<DaemonView> decode_daemon(std::string_view text);

}  // namespace berth::wire

// SPDX-License-Identifier: Apache-2.0
// Sessions of browsers. A code, for one use within a minute, opens one for the user who asked for
// the code; it ends when it was not used for half a day, or is revoked. Secrets are drawn outside.
// Pure; one thread.
//
// Note [Two secrets of a session]
//
// A browser sends a cookie of 127.0.0.1 to each server of that address, whatever its port: a server
// of another user of the machine would have it. So the cookie opens no more than the page, which
// anybody can read in its sources. Questions need the key too. The page keeps it by origin, to
// which the port belongs, and was told it once, in the answer to the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "wire/guest.h"

namespace berth::wire {

struct SessionSecrets {
  std::string cookie;
  std::string key;
};

/// As it is kept over a restart.
struct BrowserSession {
  Guest guest;
  SessionSecrets secrets;
  UnixMs used_at;
};

class BrowserSessions {
 public:
  static constexpr Duration kCodeFor = seconds(60);
  static constexpr Duration kIdleFor = seconds(std::int64_t{12} * 3600);
  /// Of one user; then the one that was used longest ago makes room.
  static constexpr std::size_t kCodesMax = 4;
  static constexpr std::size_t kSessionsMax = 32;

  /// The code that `guest` may hand in. Letter case, blanks and hyphens do not count.
  void add_code(std::string_view code, Guest guest, UnixMs now);
  /// Opens a session with these secrets. Absent: the code is over, was handed in, or never was one.
  std::optional<Guest> redeem(std::string_view code, SessionSecrets secrets, UnixMs now);

  /// Whether the page may be seen. See Note [Two secrets of a session].
  bool opens_page(std::string_view cookie, UnixMs now) const;
  /// Whose the question is, and notes that the session was used. Absent: nobody's.
  std::optional<Guest> guest_of(std::string_view cookie, std::string_view key, UnixMs now);

  /// Ends the sessions and codes of that user; of all users if absent. Returns how many sessions.
  std::size_t revoke(std::optional<UserId> user);
  /// Forgets what is over. When the sessions change so, they have to be kept anew.
  void forget_old(UnixMs now);
  /// Neither a session nor a code that could open one.
  bool is_empty() const { return codes_.empty() && sessions_.empty(); }

  /// Those that are not over, by their last use, to be kept; and those that were kept.
  const std::vector<BrowserSession>& sessions() const { return sessions_; }
  void restore(std::vector<BrowserSession> kept, UnixMs now);

 private:
  struct Code {
    std::string letters;
    Guest guest;
    UnixMs made_at;
  };

  std::vector<Code> codes_;               // The oldest first.
  std::vector<BrowserSession> sessions_;  // The one that was used longest ago first.
};

/// Sessions as they are kept in a file: one a line. kInvalid names the line.
std::string encode_kept_sessions(const std::vector<BrowserSession>& sessions);
Result<std::vector<BrowserSession>> decode_kept_sessions(std::string_view text);

/// 60 bits as a person can type them: "K7QD-41MX-9B2F". `random`: 64 of them.
std::string code_of(std::uint64_t random);

}  // namespace berth::wire

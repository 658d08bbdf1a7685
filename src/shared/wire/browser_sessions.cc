// SPDX-License-Identifier: Apache-2.0
#include "wire/browser_sessions.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/letters.h"
#include "base/number.h"
#include "wire/door.h"

namespace berth::wire {
namespace {

// Crockford's: without I, L, O and U, which are read as others.
constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kCodeLetters = 12;
constexpr std::size_t kLettersTogether = 4;
constexpr unsigned kBitsOfLetter = 5;

std::string without_form(std::string_view code) {
  std::string letters;
  for (const char c : code) {
    if (c == '-' || c == ' ' || c == '\t') continue;
    letters += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return letters;
}

// A clock that was set back makes nothing live longer than from now on.
bool is_over(UnixMs since, Duration within, UnixMs now) {
  return now.value - std::min(since.value, now.value) >= within.ns / milliseconds(1).ns;
}

// Cuts the next word off.
std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

std::optional<BrowserSession> session_in(std::string_view line) {
  BrowserSession session;
  const auto user = parse_number<std::uint32_t>(next_word(line));
  const std::string_view may = next_word(line);
  const auto used_at = parse_number<std::int64_t>(next_word(line));
  session.secrets.cookie = next_word(line);
  session.secrets.key = next_word(line);
  if (!user || !used_at || (may != "act" && may != "look") || !line.empty() ||
      !is_bare_word(session.secrets.cookie) || !is_bare_word(session.secrets.key)) {
    return std::nullopt;
  }
  session.guest = {.user = UserId{*user}, .may_act = may == "act"};
  session.used_at = UnixMs{*used_at};
  return session;
}

// So that a user who makes many takes room from nobody else.
template <typename Item>
void make_room(std::vector<Item>& items, UserId user, std::size_t most) {
  const auto is_theirs = [user](const Item& item) { return item.guest.user == user; };
  if (std::cmp_less(std::ranges::count_if(items, is_theirs), most)) return;
  items.erase(std::ranges::find_if(items, is_theirs));
}

}  // namespace

void BrowserSessions::add_code(std::string_view code, Guest guest, UnixMs now) {
  forget_old(now);
  make_room(codes_, guest.user, kCodesMax);
  codes_.push_back({.letters = without_form(code), .guest = guest, .made_at = now});
}

std::optional<Guest> BrowserSessions::redeem(std::string_view code, SessionSecrets secrets,
                                             UnixMs now) {
  forget_old(now);
  const std::string letters = without_form(code);
  auto found = codes_.end();
  // Each is compared, so that the time tells nothing of which one is like it.
  for (auto it = codes_.begin(); it != codes_.end(); ++it) {
    if (is_same_secret(letters, it->letters)) found = it;
  }
  if (found == codes_.end()) return std::nullopt;
  const Guest guest = found->guest;
  codes_.erase(found);
  make_room(sessions_, guest.user, kSessionsMax);
  sessions_.push_back({.guest = guest, .secrets = std::move(secrets), .used_at = now});
  return guest;
}

bool BrowserSessions::opens_page(std::string_view cookie, UnixMs now) const {
  bool opens = false;
  for (const BrowserSession& session : sessions_) {
    const bool is_it = is_same_secret(cookie, session.secrets.cookie);
    if (is_it && !is_over(session.used_at, kIdleFor, now)) opens = true;
  }
  return opens;
}

std::optional<Guest> BrowserSessions::guest_of(std::string_view cookie, std::string_view key,
                                               UnixMs now) {
  auto found = sessions_.end();
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    const bool has_cookie = is_same_secret(cookie, it->secrets.cookie);
    const bool has_key = is_same_secret(key, it->secrets.key);
    if (has_cookie && has_key && !is_over(it->used_at, kIdleFor, now)) found = it;
  }
  if (found == sessions_.end()) return std::nullopt;
  found->used_at = now;
  std::rotate(found, std::next(found), sessions_.end());
  return sessions_.back().guest;
}

std::size_t BrowserSessions::revoke(std::optional<UserId> user) {
  const auto is_theirs = [user](const auto& one) { return !user || one.guest.user == *user; };
  std::erase_if(codes_, is_theirs);
  return std::erase_if(sessions_, is_theirs);
}

void BrowserSessions::forget_old(UnixMs now) {
  std::erase_if(codes_, [&](const Code& code) { return is_over(code.made_at, kCodeFor, now); });
  std::erase_if(sessions_, [&](const BrowserSession& session) {
    return is_over(session.used_at, kIdleFor, now);
  });
}

void BrowserSessions::restore(std::vector<BrowserSession> kept, UnixMs now) {
  sessions_ = std::move(kept);
  std::ranges::sort(sessions_, {}, &BrowserSession::used_at);
  forget_old(now);
}

std::string encode_kept_sessions(const std::vector<BrowserSession>& sessions) {
  std::string text;
  for (const BrowserSession& session : sessions) {
    text += std::to_string(session.guest.user.value) +
            (session.guest.may_act ? " act " : " look ") + std::to_string(session.used_at.value) +
            " " + session.secrets.cookie + " " + session.secrets.key + "\n";
  }
  return text;
}

Result<std::vector<BrowserSession>> decode_kept_sessions(std::string_view text) {
  std::vector<BrowserSession> sessions;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto session = session_in(text.substr(0, end));
    if (!session) {
      return Error{Errc::kInvalid, "line " + std::to_string(line) + " is no session"};
    }
    sessions.push_back(*std::move(session));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sessions;
}

std::string code_of(std::uint64_t random) {
  std::string code;
  for (std::size_t i = 0; i < kCodeLetters; ++i) {
    if (i > 0 && i % kLettersTogether == 0) code += '-';
    code += kLetters[random % kLetters.size()];
    random >>= kBitsOfLetter;
  }
  return code;
}

}  // namespace berth::wire

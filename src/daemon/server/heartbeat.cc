// SPDX-License-Identifier: Apache-2.0
#include "server/heartbeat.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace berth::server {

Heartbeat::Heartbeat(boost::asio::io_context& io, const NotifySocket& notify,
                     std::optional<Duration> within)
    : timer_(io), notify_(notify) {
  if (!within) return;
  every_ = {within->ns / 2};
  await();
}

std::optional<Duration> Heartbeat::wanted() {
  const char* text = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (text == nullptr || (pid != nullptr && std::to_string(::getpid()) != pid)) return std::nullopt;
  const std::string_view digits = text;
  std::uint32_t us = 0;  // An hour, and more, is no watchdog.
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), us);
  if (error != std::errc() || end != digits.data() + digits.size() || us == 0) return std::nullopt;
  return Duration{std::int64_t{us} * 1'000};
}

void Heartbeat::await() {
  timer_.expires_after(std::chrono::nanoseconds(every_.ns));
  timer_.async_wait([this](const boost::system::error_code& code) {
    if (code) return;
    notify_.alive();
    await();
  });
}

}  // namespace berth::server

// SPDX-License-Identifier: Apache-2.0
// Quantities as types, so that bytes, instants and durations cannot be mistaken for one another.
// Bytes has no minus: the one subtraction saturates, because figures of a device and of a ledger
// come from different moments and their difference may well be negative.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace berth {

struct Bytes {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;

  static constexpr Bytes max() { return {std::numeric_limits<std::uint64_t>::max()}; }
};

/// Saturates at Bytes::max().
constexpr Bytes operator+(Bytes a, Bytes b) {
  const std::uint64_t sum = a.value + b.value;
  return sum < a.value ? Bytes::max() : Bytes{sum};
}
constexpr Bytes& operator+=(Bytes& a, Bytes b) {
  return a = a + b;
}

/// a - b, or 0 where b is larger.
constexpr Bytes saturating_sub(Bytes a, Bytes b) {
  return b.value >= a.value ? Bytes{} : Bytes{a.value - b.value};
}

constexpr Bytes kib(std::uint64_t n) {
  return {n << 10U};
}
constexpr Bytes mib(std::uint64_t n) {
  return {n << 20U};
}
constexpr Bytes gib(std::uint64_t n) {
  return {n << 30U};
}

struct Duration {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;

  static constexpr Duration max() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr Duration milliseconds(std::int64_t n) {
  return {n * 1'000'000};
}
constexpr Duration seconds(std::int64_t n) {
  return milliseconds(n * 1'000);
}
constexpr Duration minutes(std::int64_t n) {
  return seconds(n * 60);
}
constexpr Duration hours(std::int64_t n) {
  return minutes(n * 60);
}

/// A point on CLOCK_BOOTTIME, valid within one boot. Only os/posix_clock.cc makes one from the
/// machine; all others are handed theirs.
struct Instant {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;

  /// Later than every instant that is met.
  static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// Saturate at Instant::never(), Duration::max().
constexpr Instant operator+(Instant at, Duration by) {
  if (by.ns > 0 && at.ns > Instant::never().ns - by.ns) return Instant::never();
  return {at.ns + by.ns};
}
constexpr Duration operator+(Duration a, Duration b) {
  if (b.ns > 0 && a.ns > Duration::max().ns - b.ns) return Duration::max();
  return {a.ns + b.ns};
}
constexpr Duration operator-(Instant later, Instant earlier) {
  return {later.ns - earlier.ns};
}

/// Milliseconds since 1970, UTC. It stands beside an Instant in records and output and decides
/// nothing.
struct UnixMs {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(const UnixMs&, const UnixMs&) = default;
};

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "wire/iso_time.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth::wire {
namespace {

constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";  // 0 stands for any digit.

std::int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) value = value * 10 + (text[i] - '0');
  return value;
}

bool leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  constexpr std::array<std::int64_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap(year) ? 1 : 0);
}

// Days from 1970-01-01 to the first of January; year 0 is a leap year.
std::int64_t days_before(std::int64_t year) {
  constexpr std::int64_t kFromYearZeroTo1970 = 719'528;
  const std::int64_t leaps =
      year == 0 ? 0 : (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1;
  return year * 365 + leaps - kFromYearZeroTo1970;
}

}  // namespace

std::optional<UnixMs> parse_time(std::string_view text) {
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const std::int64_t year = digits(text, 0, 4);
  const std::int64_t month = digits(text, 5, 2);
  const std::int64_t day = digits(text, 8, 2);
  const std::int64_t hour = digits(text, 11, 2);
  const std::int64_t minute = digits(text, 14, 2);
  const std::int64_t second = digits(text, 17, 2);
  if (month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::int64_t days = days_before(year) + day - 1;
  for (std::int64_t m = 1; m < month; ++m) days += days_in(year, m);
  return UnixMs{((days * 24 + hour) * 60 + minute) * 60'000 + second * 1'000 + digits(text, 20, 3)};
}

}  // namespace berth::wire

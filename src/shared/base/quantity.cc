// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "base/number.h"

namespace berth {
namespace {

struct NamedUnit {
  std::string_view name;
  double factor;
};

constexpr double kBytesMax = 4611686018427387904.0;         // 2^62
constexpr double kDurationMaxNs = 100.0 * 365.0 * 86400e9;  // 100 years

constexpr std::array kSizeUnits = {
    NamedUnit{"b", 1.0},   NamedUnit{"k", 0x1p10}, NamedUnit{"kib", 0x1p10},
    NamedUnit{"kb", 1e3},  NamedUnit{"m", 0x1p20}, NamedUnit{"mib", 0x1p20},
    NamedUnit{"mb", 1e6},  NamedUnit{"g", 0x1p30}, NamedUnit{"gib", 0x1p30},
    NamedUnit{"gb", 1e9},  NamedUnit{"t", 0x1p40}, NamedUnit{"tib", 0x1p40},
    NamedUnit{"tb", 1e12},
};
constexpr std::array kTimeUnits = {
    NamedUnit{"ms", 1e6},   NamedUnit{"s", 1e9},     NamedUnit{"m", 60e9},
    NamedUnit{"h", 3600e9}, NamedUnit{"d", 86400e9},
};

struct Number {
  double value;
  std::size_t length;
};

// Digits with at most one point; strtod would also take signs, exponents, hexadecimals and "nan".
std::optional<Number> number_at_start(std::string_view text) {
  double value = 0;
  double place = 0;
  std::size_t digits = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && place == 0) {
      place = 1;
    } else if (c >= '0' && c <= '9') {
      ++digits;
      if (place == 0) {
        value = value * 10 + (c - '0');
      } else {
        place /= 10;
        value += place * (c - '0');
      }
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  return Number{value, i};
}

std::size_t skip_blanks(std::string_view text, std::size_t i) {
  while (i < text.size() && text[i] == ' ') ++i;
  return i;
}

std::string lower_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

template <std::size_t kCount>
std::optional<double> factor_of(const std::array<NamedUnit, kCount>& units, std::string_view name) {
  for (const NamedUnit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

Error bad_size(std::string_view text) {
  return {Errc::kInvalid, "'" + std::string(text) +
                              "' is not a size: write a number and a unit, as in 8G, 512MiB or "
                              "1.5GiB"};
}

Error bad_duration(std::string_view text) {
  return {Errc::kInvalid, "'" + std::string(text) +
                              "' is not a duration: write numbers and units, as in 90s, 5m or "
                              "2h30m"};
}

std::string printed(const char* format, double value, const char* unit) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value, unit);
  return text.data();
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const std::optional<Number> number = number_at_start(text);
  if (!number) return bad_size(text);
  const std::size_t unit_at = skip_blanks(text, number->length);
  const std::string unit = lower_word(text.substr(unit_at));
  if (unit_at + unit.size() != text.size()) return bad_size(text);
  const std::optional<double> factor = factor_of(kSizeUnits, unit.empty() ? "b" : unit);
  if (!factor) return bad_size(text);
  const double bytes = number->value * *factor;
  if (bytes > kBytesMax) {
    return Error{Errc::kInvalid, "'" + std::string(text) + "' is too large: at most 4 EiB"};
  }
  // What to_text() of others writes in full is read to the last byte: a double has 53 bits.
  const auto whole = parse_number<std::uint64_t>(text.substr(0, number->length));
  if (whole) return Bytes{*whole * static_cast<std::uint64_t>(*factor)};
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

Result<Duration> parse_duration(std::string_view text) {
  double total_ns = 0;
  std::size_t at = 0;
  if (text.empty()) return bad_duration(text);
  while (at < text.size()) {
    const std::optional<Number> number = number_at_start(text.substr(at));
    if (!number) return bad_duration(text);
    const bool first = at == 0;
    at = skip_blanks(text, at + number->length);
    const std::string unit = lower_word(text.substr(at));
    if (unit.empty() && !(first && at == text.size())) return bad_duration(text);
    const std::optional<double> factor = factor_of(kTimeUnits, unit.empty() ? "s" : unit);
    if (!factor) return bad_duration(text);
    total_ns += number->value * *factor;
    at = skip_blanks(text, at + unit.size());
  }
  if (total_ns > kDurationMaxNs) {
    return Error{Errc::kInvalid, "'" + std::string(text) + "' is too long: at most 100 years"};
  }
  return Duration{std::llround(total_ns)};
}

std::string to_text(Bytes bytes) {
  const auto value = static_cast<double>(bytes.value);
  if (bytes.value < kib(1).value) return printed("%.0f %s", value, "B");
  // 1023.95 MiB would round to "1024.0 MiB": the larger unit takes over just before.
  if (value < 1023.95 * 0x1p10) return printed("%.1f %s", value / 0x1p10, "KiB");
  if (value < 1023.95 * 0x1p20) {
    const double in_mib = value / 0x1p20;
    return printed(in_mib == std::floor(in_mib) ? "%.0f %s" : "%.1f %s", in_mib, "MiB");
  }
  if (value < 1023.95 * 0x1p30) return printed("%.1f %s", value / 0x1p30, "GiB");
  return printed("%.1f %s", value / 0x1p40, "TiB");
}

std::string to_text(Duration duration) {
  if (duration.ns < 0) return "-" + to_text(Duration{-(duration.ns + 1)});
  const std::int64_t ms = duration.ns / 1'000'000;
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const std::int64_t s = ms / 1'000;
  const auto two_digits = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  // In the larger unit and the next one below, of which no zero is written.
  const auto in = [&](std::int64_t unit, std::int64_t next, char name, char name_of_next) {
    const std::int64_t rest = s % unit / next;
    const std::string text = std::to_string(s / unit) + name;
    return rest == 0 ? text : text + two_digits(rest) + name_of_next;
  };
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3'600) return in(60, 1, 'm', 's');
  if (s < 86'400) return in(3'600, 60, 'h', 'm');
  return in(86'400, 3'600, 'd', 'h');
}

std::string to_text(UnixMs time) {
  // Days to a civil date after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  std::int64_t days = time.value / 86'400'000;
  std::int64_t ms = time.value % 86'400'000;
  if (ms < 0) {
    ms += 86'400'000;
    --days;
  }
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                      static_cast<int>(year), static_cast<int>(month), static_cast<int>(day),
                      static_cast<int>(ms / 3'600'000), static_cast<int>(ms / 60'000 % 60),
                      static_cast<int>(ms / 1'000 % 60), static_cast<int>(ms % 1'000));
  return text.data();
}

}  // namespace berth

// SPDX-License-Identifier: Apache-2.0
#include "alerts/expression.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/quantity.h"

namespace berth::alerts {
namespace {

using Kind = Alert::Subject::Kind;

/// What stands behind a source.
enum class Form : std::uint8_t {
  kSize,
  kShare,
  kTemperature,
  kPower,
  kLevel,
  kTime,
  kFlag,
  kEvent
};
constexpr std::size_t kValueMax = 128;
constexpr std::array<std::string_view, 4> kComparisons = {"<", "<=", ">", ">="};

Form form_of(Source source) {
  switch (source) {
    using enum Source;
    case kGpuMemUsed:
    case kGpuUnmanaged:
    case kGpuGrantable:
    case kLeaseMemUsed:
      return Form::kSize;
    case kGpuUtilization:
    case kLeaseUtilization:
      return Form::kShare;
    case kGpuTemperature:
      return Form::kTemperature;
    case kGpuPower:
      return Form::kPower;
    case kGpuPressure:
    case kLeasePressure:
      return Form::kLevel;
    case kGpuLost:
    case kGpuThrottled:
    case kGpuEccErrors:
    case kLeaseOverBudget:
    case kLeaseFrozen:
      return Form::kFlag;
    case kLeaseWaiting:
      return Form::kTime;
    case kLeaseQueued:
    case kLeaseGranted:
    case kLeaseCheckpoint:
    case kLeaseCheckpointed:
    case kLeaseSuspended:
    case kLeaseResumed:
    case kLeaseRefused:
    case kLeaseEnded:
    case kLeaseMessage:
      return Form::kEvent;
  }
  std::unreachable();
}

bool is_figure(Form form) {
  return form != Form::kFlag && form != Form::kEvent;
}

struct Token {
  std::string_view text;
  std::size_t column = 1;
};

bool is_sign(char c) {
  return c == '<' || c == '>' || c == '=';
}

/// Words and signs; blanks end a word, signs do so too.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    const bool sign = is_sign(text[at]);
    while (end < text.size() && text[end] != ' ' && is_sign(text[end]) == sign) ++end;
    tokens.push_back({.text = text.substr(at, end - at), .column = at + 1});
    at = end;
  }
  return tokens;
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)), end_(text.size() + 1) {}

  Result<Expression> parse() {
    TRY_STATUS(read_source());
    const Form form = form_of(is_.source);
    if (is_figure(form)) TRY_STATUS(read_comparison(form));
    while (at_ < tokens_.size()) TRY_STATUS(read_more(form));
    return is_;
  }

 private:
  Token next() const { return at_ < tokens_.size() ? tokens_[at_] : Token{.column = end_}; }
  Token take() {
    const Token token = next();
    ++at_;
    return token;
  }
  static Error wrong(const Token& token, std::string_view what) {
    return {Errc::kInvalid,
            "column " + std::to_string(token.column) + ": " +
                (token.text.empty() ? "it ends here, and " + std::string(what)
                                    : quoted(token.text) + " " + std::string(what))};
  }

  Status read_source() {
    const Token token = take();
    const std::optional<Source> source = parse_word<Source>(token.text);
    if (!source) {
      if (token.text.empty()) return wrong(token, "must begin with a figure such as gpu.mem_used");
      const auto meant = nearest(token.text, kTextsOf<Source>);
      return wrong(token, "is nothing to look at" +
                              (meant ? "; did you mean " + quoted(*meant) + "?" : std::string()));
    }
    is_.source = *source;
    return Unit{};
  }

  Status read_comparison(Form form) {
    const Token sign = take();
    const auto found = std::ranges::find(kComparisons, sign.text);
    if (found == kComparisons.end()) return wrong(sign, "should be <, <=, > or >=");
    is_.comparison = static_cast<Comparison>(found - kComparisons.begin());
    TRY(threshold, read_threshold(form));
    is_.threshold = threshold;
    return Unit{};
  }

  Result<Threshold> read_threshold(Form form) {
    const Token token = take();
    if (form == Form::kLevel) {
      const auto level = parse_word<Pressure>(token.text);
      if (level) return Threshold(*level);
      return wrong(token, "should be " + choices<Pressure>());
    }
    if (form == Form::kTime) {
      TRY(time, duration_of(token));
      return Threshold(time);
    }
    if (form == Form::kTemperature) {
      if (const auto celsius = number_before('C', token)) return Threshold(Celsius{*celsius});
      return wrong(token, "should be whole degrees Celsius, such as 85C");
    }
    if (form == Form::kPower && !token.text.ends_with('%')) {
      if (const auto watts = number_before('W', token)) return Threshold(Watts{*watts});
      return wrong(token,
                   "should be whole watts, such as 250W, or a share of the limit, such as 95%");
    }
    if (form == Form::kShare || token.text.ends_with('%')) {
      const auto percent = number_before('%', token);
      if (percent && *percent <= 100) return Threshold(Percent{*percent});
      return wrong(token, "should be a whole share from 0% to 100%");
    }
    const auto size = parse_bytes(token.text);
    // 8 would be eight bytes, which nobody means.
    const bool bare = token.text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (size.ok() && (!bare || size->value == 0)) return Threshold(*size);
    return wrong(token, "should be a size with its unit, such as 8GiB, or a share, such as 88%");
  }

  static std::optional<std::uint32_t> number_before(char unit, const Token& token) {
    if (!token.text.ends_with(unit)) return std::nullopt;
    return parse_number<std::uint32_t>(token.text.substr(0, token.text.size() - 1));
  }

  static Result<Duration> duration_of(const Token& token) {
    const auto time = parse_duration(token.text);
    if (time.ok() && time->ns % milliseconds(1).ns == 0) return *time;
    return wrong(token, "should be a duration such as 30s or 10m");
  }

  Status read_more(Form form) {
    const Token word = take();
    const bool figure = is_.threshold.has_value();
    if (word.text == "for" && form != Form::kEvent && is_.lasting == Duration{}) {
      TRY(time, duration_of(take()));
      is_.lasting = time;
      return Unit{};
    }
    if (word.text == "clear" && figure && form != Form::kTime && !is_.clear) {
      const Token value = next();
      TRY(clear, read_threshold(form));
      is_.clear = clear;
      return check_clear(value);
    }
    if (next().text != "=") return wrong(word, not_understood(form));
    return read_filter(word);
  }

  std::string not_understood(Form form) const {
    std::string may = form == Form::kEvent ? "" : "for DURATION";
    if (is_.threshold && form != Form::kTime) may += ", clear VALUE";
    if (about(is_.source) == Kind::kLease)
      may += std::string(may.empty() ? "" : ", ") + "name=NAME";
    if (is_.source == Source::kLeaseEnded) may += ", result=RESULT";
    if (is_.source == Source::kLeaseCheckpointed) may += ", outcome=OUTCOME";
    return "is not understood here; each of these may stand here once: " + may;
  }

  // On the side of the threshold where it does not hold, or it would be over at once.
  Status check_clear(const Token& value) const {
    CHECK(is_.clear && is_.threshold);
    const Threshold& clear = *is_.clear;
    const Threshold& threshold = *is_.threshold;
    if (clear.index() != threshold.index()) {
      return wrong(value,
                   "should be a share if the threshold is one, and " +
                       std::string(form_of(is_.source) == Form::kPower ? "watts" : "a size") +
                       " if not");
    }
    const bool upwards =
        is_.comparison == Comparison::kMore || is_.comparison == Comparison::kAtLeast;
    if (upwards ? clear <= threshold : clear >= threshold) return Unit{};
    return wrong(
        value, upwards ? "should not be above the threshold" : "should not be below the threshold");
  }

  Status read_filter(const Token& key) {
    ++at_;  // The sign.
    const Token value = take();
    if (value.text.empty()) return wrong(value, "a value is missing");
    if (value.text.size() > kValueMax) return wrong(value, "is longer than any name");
    if (key.text == "name" && about(is_.source) == Kind::kLease && is_.name.empty()) {
      is_.name = value.text;
      return Unit{};
    }
    if (key.text == "result" && is_.source == Source::kLeaseEnded && !is_.result) {
      is_.result = parse_word<EndResult>(value.text);
      if (is_.result) return Unit{};
      return wrong(value,
                   "should be ok, failed, killed, cancelled, limit, refused, lost or "
                   "over_budget");
    }
    if (key.text == "outcome" && is_.source == Source::kLeaseCheckpointed && !is_.outcome) {
      is_.outcome = parse_word<CheckpointOutcome>(value.text);
      if (is_.outcome) return Unit{};
      return wrong(value, "should be " + choices<CheckpointOutcome>());
    }
    return wrong(key, not_understood(form_of(is_.source)));
  }

  std::vector<Token> tokens_;
  std::size_t end_;  // The column after the last one.
  std::size_t at_ = 0;
  Expression is_;
};

struct UnitOf {
  std::uint64_t factor;
  std::string_view name;
};

std::string exact(std::uint64_t value, std::span<const UnitOf> units) {
  for (const UnitOf& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return "0" + std::string(units.back().name);
}

struct Written {
  std::string operator()(Bytes bytes) const {
    constexpr std::array<UnitOf, 4> kUnits = {
        {{1ULL << 30U, "GiB"}, {1ULL << 20U, "MiB"}, {1ULL << 10U, "KiB"}, {1, "B"}}};
    return exact(bytes.value, kUnits);
  }
  std::string operator()(Percent percent) const { return std::to_string(percent.value) + "%"; }
  std::string operator()(Duration time) const {
    constexpr std::array<UnitOf, 4> kUnits = {
        {{3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}}};
    return exact(static_cast<std::uint64_t>(time.ns / milliseconds(1).ns), kUnits);
  }
  std::string operator()(Celsius celsius) const { return std::to_string(celsius.value) + "C"; }
  std::string operator()(Watts watts) const { return std::to_string(watts.value) + "W"; }
  std::string operator()(Pressure level) const { return std::string(berth::to_text(level)); }
};

}  // namespace

Alert::Subject::Kind about(Source source) {
  return berth::to_text(source).starts_with("gpu.") ? Kind::kDevice : Kind::kLease;
}

bool is_event(Source source) {
  return form_of(source) == Form::kEvent;
}

Result<Expression> parse_expression(std::string_view text) {
  if (text.size() > kExpressionMax) {
    return Error{Errc::kInvalid, "column " + std::to_string(kExpressionMax + 1) +
                                     ": it has more than " + std::to_string(kExpressionMax) +
                                     " bytes"};
  }
  const auto control =
      std::ranges::find_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (control != text.end()) {
    return Error{Errc::kInvalid,
                 "column " + std::to_string(control - text.begin() + 1) + ": a control character"};
  }
  return Parser(text).parse();
}

std::string to_text(const Expression& expression) {
  std::string text(berth::to_text(expression.source));
  if (expression.threshold) {
    text += " " + std::string(kComparisons.at(static_cast<std::size_t>(expression.comparison))) +
            " " + std::visit(Written{}, *expression.threshold);
  }
  if (!expression.name.empty()) text += " name=" + expression.name;
  if (expression.result) text += " result=" + std::string(to_text(*expression.result));
  if (expression.outcome) text += " outcome=" + std::string(to_text(*expression.outcome));
  if (expression.lasting > Duration{}) text += " for " + Written{}(expression.lasting);
  if (expression.clear) text += " clear " + std::visit(Written{}, *expression.clear);
  return text;
}

}  // namespace berth::alerts

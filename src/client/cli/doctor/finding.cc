// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/finding.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/render/phrases.h"
#include "wire/own_programs.h"

namespace berth::cli {
namespace {

constexpr std::size_t kIndent = 8;  // Below the fact, behind the level.
constexpr std::size_t kWidthUnknown = 100;

constexpr std::array kColours = {Colour::kGreen, Colour::kYellow, Colour::kRed, Colour::kDim};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string text_of(const Finding& finding, const RenderContext& context) {
  const std::size_t width = std::min(context.width.value_or(kWidthUnknown), kWidthUnknown);
  const auto below = [&](const std::string& text) {
    return wrapped(escape_control(text, context.charset), kIndent, width);
  };
  const std::string level(to_text(finding.level));
  std::string text = below(finding.fact);
  std::string head =
      "  " + painted(level, kColours.at(static_cast<std::size_t>(finding.level)), context.charset);
  head.append(kIndent - 2 - level.size(), ' ');
  text.replace(0, kIndent, head);
  if (!finding.consequence.empty()) text += below(finding.consequence);
  // A command is not broken into lines: it is there to be copied.
  if (!finding.cure.empty()) {
    text +=
        std::string(kIndent, ' ') + "-> " + escape_control(finding.cure, context.charset) + "\n";
  }
  return text;
}

Finding finding_of(Level level, std::string_view check, Trouble trouble) {
  return {.check = check,
          .level = level,
          .fact = std::move(trouble.fact),
          .consequence = std::move(trouble.consequence),
          .cure = std::move(trouble.cure)};
}

std::uint64_t count_of(const Findings& findings, Level level) {
  return static_cast<std::uint64_t>(std::ranges::count(findings, level, &Finding::level));
}

}  // namespace

Finding fine(std::string_view check, std::string fact) {
  return {.check = check, .fact = std::move(fact)};
}

Finding warning(std::string_view check, Trouble trouble) {
  return finding_of(Level::kWarn, check, std::move(trouble));
}

Finding failure(std::string_view check, Trouble trouble) {
  return finding_of(Level::kFail, check, std::move(trouble));
}

Finding skipped(std::string_view check, Trouble trouble) {
  return finding_of(Level::kSkip, check, std::move(trouble));
}

std::string findings_text(const Findings& findings, const RenderContext& context) {
  std::string text;
  std::string_view group;
  for (const Finding& finding : findings) {
    if (finding.group != group) {
      text += painted(finding.group, Colour::kBold, context.charset) + "\n";
    }
    group = finding.group;
    text += text_of(finding, context);
  }
  return text + counted(count_of(findings, Level::kFail), "failure") + ", " +
         counted(count_of(findings, Level::kWarn), "warning") + "\n";
}

std::string findings_json(const Findings& findings, UnixMs now) {
  wire::DoctorReport report{.time = now, .findings = {}};
  for (const Finding& finding : findings) {
    report.findings.push_back({.group = std::string(finding.group),
                               .check = std::string(finding.check),
                               .level = lower(to_text(finding.level)),
                               .fact = finding.fact,
                               .consequence = finding.consequence,
                               .cure = finding.cure});
  }
  return wire::encode_doctor_report(report);
}

}  // namespace berth::cli

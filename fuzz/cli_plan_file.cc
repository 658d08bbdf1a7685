// SPDX-License-Identifier: Apache-2.0
// Plan files: whatever they hold, they are read as sessions in an order, or as problems with
// places.
#include <set>
#include <string>
#include <variant>

#include "base/check.h"
#include "cli/plan/plan_file.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace cli = berth::cli;
  const auto parsed = cli::parse_plan("berth.toml", berth::fuzz::text_of(data, size));
  if (const auto* problems = std::get_if<berth::config::Problems>(&parsed)) {
    CHECK(!problems->empty());
    for (const auto& problem : *problems) CHECK(problem.line > 0 && !problem.message.empty());
    return 0;
  }
  std::set<std::string> before;
  for (const cli::PlannedSession& session : std::get<cli::Plan>(parsed).sessions) {
    CHECK(!session.command.empty() && !session.fingerprint().empty());
    for (const auto& after : session.after) CHECK(before.contains(after.session));
    CHECK(before.insert(session.name).second);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "model/audit_entry.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 16> kVerbs = {
    "grant",   "end",     "cancel", "release", "detach",  "limit",      "pause", "resume",
    "preempt", "measure", "move",   "resize",  "requeue", "checkpoint", "renew", "reload"};

}  // namespace

std::string_view to_text(Verb verb) {
  const auto index = static_cast<std::size_t>(verb);
  CHECK(index < kVerbs.size());
  return kVerbs[index];
}

std::optional<Verb> parse_verb(std::string_view word) {
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    if (kVerbs[i] == word) return static_cast<Verb>(i);
  }
  return std::nullopt;
}

}  // namespace berth

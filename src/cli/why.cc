// SPDX-License-Identifier: Apache-2.0
// `berth why`: why a request waits, who has what it waits for, and what would help.
#include "cli/render/why.h"

#include <optional>
#include <string>

#include "cli/showing.h"
#include "cli/verbs.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

std::optional<std::string> explanation(const LeaseView& lease, Showing& showing) {
  Conversation& conversation = showing.conversation();
  const auto body =
      conversation.ask({.route = wire::Route::kWhy, .lease = std::to_string(lease.id.value)});
  if (!body) return std::nullopt;
  if (!showing.choice().is_for_people()) {
    return showing.for_programs({.json = *body, .sample = *body});
  }
  const auto answer = conversation.understood(wire::decode_why(*body));
  if (!answer) return std::nullopt;
  conversation.learn(answer->names);
  return why_text(lease, answer->why, showing.scene());
}

}  // namespace

int run_why(Invocation& invocation) {
  invocation.about =
      "Says what a request lacks, who has it and until when, who is ahead, and what would make it "
      "start sooner.";
  invocation.examples = {{"berth why 14", "the request with that number"}};
  return show_leases(invocation, &explanation);
}

}  // namespace berth::cli

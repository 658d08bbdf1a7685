// SPDX-License-Identifier: Apache-2.0
#include "cli/waiting.h"

#include <string>
#include <utility>

#include "wire/answers.h"

namespace berth::cli {
namespace {

std::optional<WhyView> reason_of(LeaseId id, DaemonSession& session) {
  const client::HttpRequest question{.route = wire::Route::kWhy, .lease = to_text(id)};
  auto answer = session.client().connection().ask(question);
  if (!answer.ok() || !answer->ok()) return std::nullopt;
  auto named = wire::decode_why(answer->body);
  if (!named.ok()) return std::nullopt;
  session.learn(named->names);
  if (named->why.reason == WhyView::Reason::kNotWaiting) return std::nullopt;
  return std::move(named->why);
}

}  // namespace

std::vector<Waiting> with_reasons(std::vector<LeaseView> queue, std::size_t count,
                                  DaemonSession& session) {
  std::vector<Waiting> waiting;
  for (LeaseView& lease : queue) {
    const bool asked = waiting.size() < count;
    const LeaseId id = lease.id;
    waiting.push_back({std::move(lease), asked ? reason_of(id, session) : std::nullopt});
  }
  return waiting;
}

}  // namespace berth::cli

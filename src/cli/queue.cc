// SPDX-License-Identifier: Apache-2.0
// `berth queue`: who waits, in order, and for what.
#include <string>
#include <utility>

#include "cli/render/status.h"
#include "cli/showing.h"
#include "cli/verbs.h"
#include "cli/waiting.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReasonsShown = 50;

const std::string& sample_queue() {
  static const std::string kSample =
      wire::encode_leases(wire::kQueueSchema, {}, {LeaseView{}}, {.names = wire::UserNames{}});
  return kSample;
}

std::optional<std::string> render(Showing& showing) {
  Conversation& conversation = showing.conversation();
  const auto body = conversation.ask({.route = wire::Route::kQueue});
  if (!body) return std::nullopt;
  if (!showing.choice().is_for_people()) {
    return showing.for_programs({.json = *body, .items = "items", .sample = sample_queue()});
  }
  auto list = conversation.understood(wire::decode_leases(*body));
  if (!list) return std::nullopt;
  conversation.learn(list->names);
  const auto queue = with_reasons(std::move(list->items), kReasonsShown, conversation);
  const Scene scene = showing.scene();
  std::string text = queue.empty() ? "Nobody waits.\n" : queue_lines(queue, scene);
  if (scene.simulated)
    text += painted("(the GPU is simulated)", Colour::kDim, scene.letters) + "\n";
  return text;
}

}  // namespace

int run_queue(Invocation& invocation) {
  Showing showing(invocation);
  invocation.about = "Shows the waiting requests, the next one first, and what each waits for.";
  showing.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (!showing.open()) return showing.conversation().status();
  return showing.show([&] { return render(showing); });
}

}  // namespace berth::cli

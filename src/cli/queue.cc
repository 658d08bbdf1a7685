// SPDX-License-Identifier: Apache-2.0
// `berth queue`: who waits, in order, and for what.
#include <string>
#include <utility>

#include "cli/output_mode.h"
#include "cli/render/status.h"
#include "cli/verbs.h"
#include "cli/waiting.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReasonsShown = 50;

const std::string& sample_queue() {
  static const std::string kSample =
      wire::encode_queue({.items = {LeaseView{}}}, {.names = wire::UserNames{}});
  return kSample;
}

std::optional<std::string> render(OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  const auto body = session.ask({.route = wire::Route::kQueue});
  if (!body) return std::nullopt;
  if (!output_mode.choice().is_for_people()) {
    return output_mode.for_programs({.json = *body, .items = "items", .sample = sample_queue()});
  }
  auto list = session.understood(wire::decode_leases(*body));
  if (!list) return std::nullopt;
  session.learn(list->names);
  const auto queue = with_reasons(std::move(list->items), kReasonsShown, session);
  const RenderContext context = output_mode.context();
  std::string text = queue.empty() ? "Nobody waits.\n" : queue_lines(queue, context);
  if (context.simulated)
    text += painted("(the GPU is simulated)", Colour::kDim, context.charset) + "\n";
  return text;
}

}  // namespace

int run_queue(Invocation& invocation) {
  OutputMode output_mode(invocation);
  invocation.about = "Shows the waiting requests, the next one first, and what each waits for.";
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (!output_mode.open()) return output_mode.session().status();
  return output_mode.show([&] { return render(output_mode); });
}

}  // namespace berth::cli

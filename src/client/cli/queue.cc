// SPDX-License-Identifier: Apache-2.0
// `berth queue`: who waits, in order, and for what.
#include <string>
#include <utility>

#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/render/phrases.h"
#include "cli/render/status.h"
#include "cli/verbs.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReasonsShown = 50;

std::optional<std::string> render(OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  static const std::string kSample =
      wire::encode_queue({.items = {LeaseView{}}}, {.names = wire::UserNames{}});
  return output_mode.answer_text(
      {.route = wire::Route::kQueue}, {.items = "items", .sample = kSample}, wire::decode_leases,
      [&](wire::LeaseList& list) {
        session.learn(list.names);
        const auto queue = with_reasons(std::move(list.items), kReasonsShown, session);
        const RenderContext context = output_mode.context();
        return (queue.empty() ? "Nobody waits.\n" : queue_lines(queue, context)) +
               simulated_line(context);
      });
}

}  // namespace

int run_queue(Invocation& invocation) {
  OutputMode output_mode(invocation);
  invocation.about = "Shows the waiting requests, the next one first, and what each waits for.";
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  return output_mode.open_and_show([&] { return render(output_mode); });
}

}  // namespace berth::cli

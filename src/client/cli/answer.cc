// SPDX-License-Identifier: Apache-2.0
// `berth agree` and `berth refuse`: what the holder of a lease says to a message.
#include <optional>
#include <string>

#include "cli/control.h"
#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/render/messages.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

constexpr std::string_view kNumberHelp = "which message, where several are open";

/// Of what is the same of both.
struct Answering {
  explicit Answering(Invocation& invocation) : output_mode(invocation) {}
  OutputMode output_mode;
  std::string word;
  std::optional<std::uint32_t> number;
};

void declare(Invocation& invocation, Answering& answering) {
  invocation.options.operand("LEASE", store(answering.word), "its number, name or handle");
  invocation.options.add("--number=N", store(answering.number), kNumberHelp);
}

int answer(Answering& answering, const client::HttpRequest& question) {
  if (!answering.output_mode.open()) return answering.output_mode.session().status();
  DaemonSession& session = answering.output_mode.session();
  const auto leases = select_leases(session, {answering.word});
  if (!leases) return session.status();
  for (const LeaseView& lease : *leases) {
    client::HttpRequest asked = question;
    asked.lease = reference_to(lease);
    const auto body = session.ask(asked);
    if (!body) continue;
    const auto now = session.understood(wire::decode_lease(*body));
    if (!now) continue;
    if (!answering.output_mode.choice().is_for_people()) {
      if (const auto text = answering.output_mode.for_programs({.json = *body})) print(*text);
      continue;
    }
    const RenderContext context = answering.output_mode.context();
    const Message* said = last_answered(now->view);
    const std::string what =
        said == nullptr ? "answered"
                        : message_text(*said, context) + " is " + answer_text(*said, context);
    const std::string next = now->view.flags.suspending ? "; it is on its way out" : "";
    std::string said_text = "lease " + named(now->view, context);
    said_text.append(": ").append(what).append(next);
    complain("berth: " + said_text + "\n");
  }
  return session.status();
}

}  // namespace

int run_agree(Invocation& invocation) {
  Answering answering(invocation);
  AgreeBody body;
  invocation.about =
      "Agrees to what a message asks of a lease. What its sender hears is that you agreed; what "
      "you do then is yours, or --pause does it: the lease's GPU memory goes to host memory for "
      "so long. Where the daemon asks for room for a request, the lease makes room by itself, and "
      "comes back after it.";
  invocation.examples = {{"berth agree 12", "say so"},
                         {"berth agree 12 --pause 10m", "and leave the GPU for ten minutes"}};
  declare(invocation, answering);
  invocation.options.add("--pause=DURATION", store_positive(body.lasts),
                         "pause the lease for so long; it resumes by itself");
  answering.output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  body.number = answering.number;
  return answer(answering, {.route = wire::Route::kAgree, .body = body});
}

int run_refuse(Invocation& invocation) {
  Answering answering(invocation);
  RefuseBody body;
  invocation.about = "Refuses what a message asks of a lease. Its sender hears so, and why.";
  invocation.examples = {{"berth refuse 12", "say no"},
                         {"berth refuse 12 'an hour left, then it ends'", "and say why"}};
  declare(invocation, answering);
  invocation.options.operand("[WHY]", store(body.why), "for the sender, and all others, to read");
  answering.output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  body.number = answering.number;
  return answer(answering, {.route = wire::Route::kRefuse, .body = body});
}

}  // namespace berth::cli

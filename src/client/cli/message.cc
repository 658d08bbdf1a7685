// SPDX-License-Identifier: Apache-2.0
// `berth message`: something is asked of the holder of a lease.
#include <algorithm>
#include <optional>
#include <string>

#include "cli/control.h"
#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/render/messages.h"
#include "cli/verbs.h"
#include "os/users.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

// Ours is the last that we have sent: one at a time is open.
const Message* own_message(const LeaseView& lease) {
  const auto& all = lease.messages;
  const auto found = std::find_if(all.rbegin(), all.rend(), [](const Message& message) {
    return message.from == os::own_user();
  });
  return found == all.rend() ? nullptr : &*found;
}

ExitCode exit_code_of(const std::optional<MessageAnswer>& answer, bool waited) {
  if (answer == MessageAnswer::kAgreed) return ExitCode::kOk;
  if (answer == MessageAnswer::kRefused) return ExitCode::kFailed;
  return waited ? ExitCode::kTryLater : ExitCode::kOk;
}

}  // namespace

int run_message(Invocation& invocation) {
  OutputMode output_mode(invocation);
  std::string word;
  MessageBody body;
  invocation.about =
      "Asks something of the holder of a lease, also of another user's. It is shown by their "
      "berth run, berth ps and berth show, and everybody can read it. The holder answers with "
      "berth agree or berth refuse, or by a rule (berth run --on-message). With --wait it ends "
      "with 0 if they agreed, 1 if they refused, and 75 if there is no answer in that time; "
      "without, with 0 as soon as it was sent.";
  invocation.examples = {
      {"berth message 12 'need 6 GiB for 10 min'", "ask, and go on"},
      {"berth message 12 'may I?' --wait 5m && berth run -m 6G -- CMD", "ask, and wait for it"}};
  invocation.options.operand("LEASE", store(word), "its number, name or handle");
  invocation.options.operand("TEXT", store(body.text), "one line of at most 280 bytes");
  invocation.options.add("-W,--wait=DURATION", store_positive(body.wait_max),
                         "wait for the answer this long, then end with 75");
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (!output_mode.open()) return output_mode.session().status();

  DaemonSession& session = output_mode.session();
  const auto holder = select_one(session, word);
  if (!holder) return session.status();
  const bool waits = body.wait_max.has_value();
  const Duration within = client::Connection::kAnswerWithin + body.wait_max.value_or(Duration{});
  const auto answer = session.ask(
      {.route = wire::Route::kMessage, .lease = reference_to(*holder), .body = body}, within);
  if (!answer) return session.status();
  const auto lease = session.understood(wire::decode_lease(*answer));
  if (!lease) return session.status();
  const Message* own = own_message(lease->view);
  const std::optional<MessageAnswer> said = own == nullptr ? std::nullopt : own->answer;
  session.note(exit_code_of(said, waits));
  if (!output_mode.choice().is_for_people()) {
    if (const auto text = output_mode.for_programs({.json = *answer})) print(*text);
    return session.status();
  }
  const RenderContext context = output_mode.context();
  const std::string what = own == nullptr ? "no answer yet" : answer_text(*own, context);
  complain("berth: asked the holder of lease " + named(lease->view, context) + ": " + what + "\n");
  return session.status();
}

}  // namespace berth::cli

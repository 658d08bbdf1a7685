// SPDX-License-Identifier: Apache-2.0
#include "cli/control.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/render/phrases.h"
#include "os/users.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

// Ten seconds from SIGTERM to SIGKILL, half a minute in which memory is seen to be freed, and some.
constexpr Duration kEndWithin = seconds(45);

}  // namespace

bool asked_and_agreed(const std::string& question) {
  complain("berth: " + question + " [y/N] ");
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

void Control::declare() {
  declare_leases(invocation_.options, words_);
  invocation_.options.add("-y,--yes", store(yes_), "skip the confirmation for other users' leases");
  invocation_.options.add("--dry-run", store(dry_run_), "only say what would be done");
  output_mode_.declare(Watching::kNo);
}

int Control::each(
    const std::function<Operation(const LeaseView&, const RenderContext&)>& operation_for,
    const std::function<bool(DaemonSession&)>& prepare) {
  DaemonSession& session = output_mode_.session();
  if (!output_mode_.open()) return session.status();
  if (prepare && !prepare(session)) return session.status();
  const auto leases = select_leases(session, words_);
  if (!leases) return session.status();
  for (const LeaseView& lease : *leases) {
    Operation operation = operation_for(lease, context());
    if (dry_run_) {
      print_sentence("would " + operation.dry_run_text);
    } else if (confirmed(lease, operation)) {
      perform(std::move(operation), lease);
    }
  }
  return session.status();
}

bool Control::confirmed(const LeaseView& lease, const Operation& operation) {
  const bool is_own = lease.user == os::own_user();
  const bool on_terminal = isatty(STDIN_FILENO) == 1;
  const std::string whose =
      "lease " + named(lease, context()) + " belongs to " + context().user_name(lease.user);
  std::string question = is_own ? "" : whose;
  // Where nobody can be asked, the daemon refuses it, and says what to do instead.
  if (on_terminal && !operation.doubt.empty()) question += (is_own ? "" : "; ") + operation.doubt;
  if (yes_ || question.empty()) return true;
  if (on_terminal) {
    if (asked_and_agreed(question + "; go on?")) return true;
    output_mode_.session().note(ExitCode::kFailed);
    return false;
  }
  output_mode_.session().fail(ExitCode::kUsage, whose + ": say --yes if you mean it");
  return false;
}

void Control::perform(Operation operation, const LeaseView& lease) {
  DaemonSession& session = output_mode_.session();
  if (operation.before) {
    operation.before->lease = reference_to(lease);
    const auto answer = session.ask(*operation.before, wire::decode_lease, operation.within);
    if (!answer) return;
    if (const std::string why = operation.precondition(answer->view, context()); !why.empty()) {
      session.fail(ExitCode::kFailed, "lease " + named(answer->view, context()) + " " + why);
      return;
    }
  }
  const Status prepared = operation.prepare ? operation.prepare(lease) : Status(Unit{});
  if (!prepared.ok()) {
    session.fail(ExitCode::kFailed,
                 "lease " + named(lease, context()) + ": " + prepared.error().message);
    return;
  }
  operation.question.lease = reference_to(lease);
  auto body = session.ask(operation.question, operation.within);
  if (!body) {
    if (operation.undo) operation.undo();
    return;
  }
  auto answer = session.understood(wire::decode_lease(*body));
  if (!answer) return;
  LeaseView now = std::move(answer->view);
  if (operation.until_ended && now.state != LeaseState::kEnded) {
    auto ended = wait_for_end(now);
    if (!ended) return;
    now = *std::move(ended);
    body = session.ask({.route = wire::Route::kLease, .lease = reference_to(now)});
    if (!body) return;
  }
  if (operation.exit_code) session.note(operation.exit_code(now));
  if (output_mode_.choice().is_for_people()) {
    print_sentence("lease " + named(now, context()) + " " + operation.success_text(now, context()));
  } else if (const auto text = output_mode_.for_programs({.json = *body})) {
    print(*text);
  }
}

// Nothing where it has not ended, which was said. A command that is another user's by now is not
// ended by anything that happens here.
std::optional<LeaseView> Control::wait_for_end(const LeaseView& lease) {
  DaemonSession& session = output_mode_.session();
  const std::string who = "lease " + named(lease, context());
  std::size_t said = 0;
  bool hopeless = false;
  const auto last =
      session.wait_for_end(reference_to(lease), kEndWithin, [&](const LeaseView& seen) {
        const auto& alone = seen.left_alone;
        hopeless = seen.command && std::ranges::count(alone, seen.command->pid) > 0;
        if (alone.size() > said && !hopeless) print_sentence(who + ": " + left_alone_text(seen));
        said = alone.size();
        return !hopeless;
      });
  LeaseView now = last ? last->view : lease;
  if (now.state == LeaseState::kEnded) return now;
  session.fail(
      ExitCode::kFailed,
      who + (hopeless ? " has not ended: its command is another user's by now; " +
                            left_alone_text(now) + ". It ends when that does, which root can see to"
                      : " has not ended yet; it is " + std::string(to_text(now.state))));
  return std::nullopt;
}

void Control::print_sentence(const std::string& sentence) {
  const bool says_so = context().simulated && !std::exchange(said_simulated_, true);
  complain("berth: " + sentence + (says_so ? " (the GPU is simulated)\n" : "\n"));
}

std::string named(const LeaseView& lease, const RenderContext& context) {
  return to_text(lease.id) + " (" + session_of(lease, context) + ")";
}

}  // namespace berth::cli

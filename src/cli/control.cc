// SPDX-License-Identifier: Apache-2.0
#include "cli/control.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/lease_words.h"
#include "cli/render/phrases.h"
#include "cli/selection.h"
#include "os/users.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

// Ten seconds from SIGTERM to SIGKILL, half a minute in which memory is seen to be freed, and some.
constexpr Duration kEndWithin = seconds(45);

bool asked_and_agreed(const std::string& question) {
  complain("berth: " + question + " [y/N] ");
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

}  // namespace

void Control::declare() {
  declare_leases(invocation_.options, words_);
  invocation_.options.flag(
      {.names = "-y,--yes", .help = "skip the confirmation for other users' leases"}, into(yes_));
  invocation_.options.flag({.names = "--dry-run", .help = "only say what would be done"},
                           into(dry_run_));
  showing_.declare(Watching::kNo);
}

int Control::each(const std::function<Deed(const LeaseView&)>& deed_for,
                  const std::function<bool(Conversation&)>& prepare) {
  Conversation& conversation = showing_.conversation();
  if (!showing_.open()) return conversation.status();
  if (prepare && !prepare(conversation)) return conversation.status();
  const auto leases = select_leases(conversation, words_);
  if (!leases) return conversation.status();
  for (const LeaseView& lease : *leases) {
    const Deed deed = deed_for(lease);
    if (dry_run_) {
      tell("would " + deed.would);
    } else if (confirmed(lease, deed)) {
      perform(deed);
    }
  }
  return conversation.status();
}

bool Control::confirmed(const LeaseView& lease, const Deed& deed) {
  const bool is_own = lease.user == os::own_user();
  const bool on_terminal = isatty(STDIN_FILENO) == 1;
  const std::string whose =
      "lease " + named(lease, scene()) + " belongs to " + scene().user_name(lease.user);
  std::string question = is_own ? "" : whose;
  // Where nobody can be asked, the daemon refuses it, and says what to do instead.
  if (on_terminal && !deed.doubt.empty()) question += (is_own ? "" : "; ") + deed.doubt;
  if (yes_ || question.empty()) return true;
  if (on_terminal) {
    if (asked_and_agreed(question + "; go on?")) return true;
    showing_.conversation().note(ExitCode::kFailed);
    return false;
  }
  showing_.conversation().fail(ExitCode::kUsage, whose + ": say --yes if you mean it");
  return false;
}

void Control::perform(const Deed& deed) {
  Conversation& conversation = showing_.conversation();
  if (deed.before) {
    const auto first = conversation.ask(deed.before(), deed.within);
    if (!first) return;
    const auto answer = conversation.understood(wire::decode_lease(*first));
    if (!answer) return;
    if (const std::string why = deed.bars(answer->view); !why.empty()) {
      conversation.fail(ExitCode::kFailed, why);
      return;
    }
  }
  auto body = conversation.ask(deed.question(), deed.within);
  if (!body) return;
  auto answer = conversation.understood(wire::decode_lease(*body));
  if (!answer) return;
  LeaseView now = std::move(answer->view);
  if (deed.until_ended && now.state != LeaseState::kEnded) {
    auto ended = wait_for_end(now);
    if (!ended) return;
    now = *std::move(ended);
    body = conversation.ask({.route = wire::Route::kLease, .lease = reference_to(now)});
    if (!body) return;
  }
  if (deed.judged) conversation.note(deed.judged(now));
  if (showing_.choice().is_for_people()) {
    tell(deed.told(now));
  } else if (const auto text = showing_.for_programs({.json = *body, .sample = *body})) {
    print(*text);
  }
}

// Nothing where it has not ended, which was said. A command that is another user's by now is not
// ended by anything that happens here.
std::optional<LeaseView> Control::wait_for_end(const LeaseView& lease) {
  Conversation& conversation = showing_.conversation();
  const std::string who = "lease " + named(lease, scene());
  std::size_t said = 0;
  bool hopeless = false;
  const auto last =
      conversation.wait_for_end(reference_to(lease), kEndWithin, [&](const LeaseView& seen) {
        const auto& alone = seen.left_alone;
        hopeless = seen.command && std::ranges::count(alone, seen.command->pid) > 0;
        if (alone.size() > said && !hopeless) tell(who + ": " + left_alone_text(seen));
        said = alone.size();
        return !hopeless;
      });
  LeaseView now = last ? last->view : lease;
  if (now.state == LeaseState::kEnded) return now;
  conversation.fail(
      ExitCode::kFailed,
      who + (hopeless ? " has not ended: its command is another user's by now; " +
                            left_alone_text(now) + ". It ends when that does, which root can see to"
                      : " has not ended yet; it is " + std::string(to_text(now.state))));
  return std::nullopt;
}

void Control::tell(const std::string& sentence) {
  const bool says_so = scene().simulated && !std::exchange(said_simulated_, true);
  complain("berth: " + sentence + (says_so ? " (the GPU is simulated)\n" : "\n"));
}

std::string named(const LeaseView& lease, const Scene& scene) {
  return std::to_string(lease.id.value) + " (" + session_of(lease, scene) + ")";
}

}  // namespace berth::cli

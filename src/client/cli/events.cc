// SPDX-License-Identifier: Apache-2.0
// `berth events`: what happens, as it happens.
#include "cli/render/events.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/past.h"
#include "cli/verbs.h"
#include "cli/watch_keys.h"
#include "wire/audit.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

constexpr Duration kTryAgainEvery = seconds(1);

/// The stream of all events, or of one lease. A daemon that was restarted is asked again.
class EventsFeed {
 public:
  EventsFeed(OutputMode& output_mode, std::optional<LeaseView> lease)
      : output_mode_(output_mode), session_(output_mode.session()), lease_(std::move(lease)) {}

  /// `since`: what was done from then on is told first; empty: nothing is.
  int run(const std::string& since) {
    if (!begin()) return session_.status();
    if (!since.empty() && !show_past(since)) return session_.status();
    while (follow()) {
      complain("berth: the daemon does not answer; waiting for it\n");
      while (!session_.client().reconnect().ok()) WatchKeys(false).wait(kTryAgainEvery);
      complain("berth: the daemon is there again\n");
      if (!begin()) break;
    }
    return session_.status();
  }

 private:
  bool begin() {
    client::HttpRequest question{.route = wire::Route::kEvents};
    if (lease_) question = {.route = wire::Route::kLeaseEvents, .lease = reference_to(*lease_)};
    const Status sent = session_.client().connection().send(question);
    if (!sent.ok()) session_.fail(exit_code(sent.error().code), sent.error().message);
    return sent.ok();
  }

  // While the stream waits: what happens at this moment is told by both, rather than by neither.
  bool show_past(const std::string& since) {
    Result<client::Connection> another = session_.client().another();
    const std::string target =
        target_of({.since = since, .lease = lease_ ? to_text(lease_->id) : "", .events = true});
    const Result<client::Answer> answer =
        another.ok() ? another->get(target) : Result<client::Answer>(another.error());
    if (!answer.ok()) {
      session_.fail(exit_code(answer.error().code), answer.error().message);
      return false;
    }
    if (!answer->ok()) {
      session_.fail(wire::decode_error(answer->body));
      return false;
    }
    const auto past = session_.understood(wire::decode_audit(answer->body));
    if (!past) return false;
    session_.learn(past->facts.names);
    for (const AuditEntry& entry : past->audit) {
      const wire::SseEvent event{.event = std::string(to_text(wire::EventName::kAudit)),
                                 .data = wire::encode_audit_entry(entry, past->facts.names)};
      if (!print_line(event, entry.at)) return false;
    }
    return true;
  }

  // True: the daemon was lost.
  bool follow() {
    while (true) {
      const auto arrival = session_.client().connection().wait(Duration::max());
      if (!arrival.ok()) return true;
      if (const auto* answer = std::get_if<client::Answer>(&*arrival)) {
        session_.fail(wire::decode_error(answer->body));
        return false;
      }
      const auto* event = std::get_if<wire::SseEvent>(&*arrival);
      if (event == nullptr) return !has_ended_;
      if (!show(*event)) return false;
    }
  }

  // False: nobody reads any more.
  bool show(const wire::SseEvent& event) {
    has_ended_ = lease_ && event.event == to_text(wire::EventName::kEnded);
    return print_line(event, output_mode_.context().now);
  }

  bool print_line(const wire::SseEvent& event, UnixMs at) {
    RenderContext context = output_mode_.context();
    context.now = at;
    const bool for_people = output_mode_.choice().is_for_people();
    print(for_people ? event_line(event, context) : event_json(event, context));
    return flush();
  }

  OutputMode& output_mode_;
  DaemonSession& session_;
  std::optional<LeaseView> lease_;
  bool has_ended_ = false;  // The last event of its stream.
};

}  // namespace

int run_events(Invocation& invocation) {
  OutputMode output_mode(invocation);
  std::string word;
  std::string since;
  invocation.about =
      "Writes a line for each event of all leases, or of one, from now on: requests, grants and "
      "ends, pauses, saves, use above a budget, alerts. Ends with the lease, or with Ctrl-C; when "
      "the daemon is restarted it goes on. With -o json each line is a JSON object. With --since "
      "it begins with what was done from then on, as berth history --events tells it.";
  invocation.examples = {{"berth events", "of all leases"},
                         {"berth events train --json", "of one, for a program"},
                         {"berth events --since 10m", "what was missed first"}};
  invocation.options.add("--since=TIME", store(since),
                         "begin with what was done since then: 10m, or a time");
  invocation.options.operand("[LEASE]", store(word), "its number, name or handle");
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  const Format format = output_mode.choice().format;
  if (format != Format::kTable && format != Format::kWide && format != Format::kJson &&
      format != Format::kNdjson) {
    return invocation.usage_error("events are written as lines for people, or as JSON");
  }
  if (!output_mode.open()) return output_mode.session().status();
  std::optional<LeaseView> lease;
  if (!word.empty()) {
    lease = select_one(output_mode.session(), word);
    if (!lease) return output_mode.session().status();
  }
  return EventsFeed(output_mode, std::move(lease)).run(since);
}

}  // namespace berth::cli

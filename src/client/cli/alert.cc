// SPDX-License-Identifier: Apache-2.0
// `berth alert`: adds, shows, takes away and tries rules. Rules are configuration: they are written
// into a file of it, which the daemon then reads again.
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "alerts/expression.h"
#include "base/quantity.h"
#include "cli/alert_file.h"
#include "cli/output_mode.h"
#include "cli/render/alerts.h"
#include "cli/verbs.h"
#include "os/processes.h"
#include "os/users.h"
#include "wire/alerts.h"
#include "wire/daemon.h"

namespace berth::cli {
namespace {

struct AlertArgs {
  std::string action;
  std::string what;
  std::string name;
  std::optional<Duration> repeat;
  std::string command;
  config::AlertRule rule;
};

std::optional<std::string> rules_shown(OutputMode& output_mode) {
  static const std::string kSample = wire::encode_alerts({.time = {}, .items = {wire::RuleView{}}});
  return output_mode.answer_text(
      {.route = wire::Route::kAlerts}, {.items = "items", .sample = kSample}, wire::decode_alerts,
      [&](wire::AlertList& list) { return alert_lines(list, output_mode.context()); });
}

// "lease-ended", or with a number where that is taken.
std::string name_for(const alerts::Expression& when, const config::Config& config) {
  std::string base(to_text(when.source));
  for (char& c : base) {
    if (c == '.' || c == '_') c = '-';
  }
  std::string name = base;
  for (int i = 2; config.alerts.contains(name); ++i) name = base + "-" + std::to_string(i);
  return name;
}

/// A daemon, and as whom it runs.
struct Served {
  os::Mode mode = os::Mode::kUser;
  UserId user;
};

std::optional<Served> daemon_served(DaemonSession& session) {
  const auto daemon = session.ask({.route = wire::Route::kDaemon}, wire::decode_daemon);
  if (!daemon) return std::nullopt;
  Served served{.mode = os::Mode::kUser, .user = os::own_user()};
  if (daemon->mode == wire::DaemonView::Mode::kUser) return served;
  served.mode = os::Mode::kSystem;
  const auto state = os::process_state(daemon->pid);
  if (!state.ok()) return served;  // It is in a PID namespace that is not ours.
  const auto user = os::user_of(state->process);
  if (user.ok()) served.user = *user;
  return served;
}

std::optional<bool> daemon_has(DaemonSession& session, const std::string& name) {
  const auto list = session.ask({.route = wire::Route::kAlerts}, wire::decode_alerts);
  if (!list) return std::nullopt;
  for (const wire::RuleView& rule : list->items) {
    if (rule.name == name) return rule.enabled;
  }
  return false;
}

// Written, and taken over by the daemon; or as before, and said why.
bool apply(const AlertFile& file, const std::string& name, bool there, DaemonSession& session) {
  if (const Status written = file.write(); !written.ok()) {
    session.fail(exit_code(written.error().code), written.error().message);
    return false;
  }
  const bool reloaded = session.ask({.route = wire::Route::kDaemonReload}).has_value();
  const auto has = reloaded ? daemon_has(session, name) : std::nullopt;
  if (has == there) {
    file.forget_old_webhook();
    return true;
  }
  if (const Status restored = file.put_back(); !restored.ok()) {
    complain("berth: " + restored.error().message + "\n");
  }
  if (has) {
    session.fail(ExitCode::kConfig,
                 "the daemon does not read " + file.path() + ": its configuration lies elsewhere");
  }
  return false;
}

std::optional<AlertFile> file_of(DaemonSession& session) {
  const auto served = daemon_served(session);
  if (!served) return std::nullopt;
  auto file = AlertFile::open(os::read_environment(), served->mode, served->user);
  if (file.ok()) return *std::move(file);
  session.fail(ExitCode::kConfig, file.error().message);
  return std::nullopt;
}

int add(Invocation& invocation, OutputMode& output_mode, AlertArgs& asked) {
  const auto when = alerts::parse_expression(asked.what);
  if (!when.ok()) return invocation.usage_error("'" + asked.what + "': " + when.error().message);
  asked.rule.when = *when;
  asked.rule.repeat = asked.repeat.value_or(asked.rule.repeat);
  if (!asked.command.empty()) asked.rule.command = {"/bin/sh", "-c", asked.command};
  if (asked.rule.webhook == "-" && !std::getline(std::cin, asked.rule.webhook)) {
    return invocation.usage_error("--webhook -: there is no URL on stdin");
  }
  if (!output_mode.open()) return output_mode.session().status();
  DaemonSession& session = output_mode.session();
  auto file = file_of(session);
  if (!file) return session.status();
  const auto before = file->load();
  if (!before.ok()) return invocation.fail(ExitCode::kConfig, before.error().message);
  const std::string name = asked.name.empty() ? name_for(*when, *before) : asked.name;
  if (!config::is_alert_name(name)) {
    return invocation.usage_error("--name: a rule's name has letters, digits, '-' and '_'");
  }
  const auto known = before->alerts.find(name);
  if (known != before->alerts.end() && known->second.enabled) {
    return invocation.fail(ExitCode::kFailed, "there is a rule " + name +
                                                  " already: berth alert rm " + name +
                                                  " takes it away, --name calls this one "
                                                  "something else");
  }
  if (known != before->alerts.end()) static_cast<void>(file->take_out(name));
  if (const Status put = file->put(name, asked.rule); !put.ok()) {
    return invocation.fail(put.error());
  }
  if (const auto after = file->load(); !after.ok()) {
    (void)file->put_back();
    return invocation.fail(ExitCode::kUsage, after.error().message);
  }
  if (!apply(*file, name, true, session)) return session.status();
  print("rule " + name + ": " + to_text(*when) + "\n");
  return session.status();
}

int remove(Invocation& invocation, OutputMode& output_mode, const AlertArgs& asked) {
  if (!output_mode.open()) return output_mode.session().status();
  DaemonSession& session = output_mode.session();
  const std::string& name = asked.what;
  auto file = file_of(session);
  if (!file) return session.status();
  const auto before = file->load();
  if (!before.ok()) return invocation.fail(ExitCode::kConfig, before.error().message);
  if (!before->alerts.contains(name)) {
    return invocation.fail(ExitCode::kNoInput, "there is no rule " + name);
  }
  if (const auto where = file->set_elsewhere(name)) {
    return invocation.fail(ExitCode::kFailed, "the rule " + name + " stands in " + *where +
                                                  ": take it out there, and berth daemon reload");
  }
  const bool built_in = config::built_in(before->mode).alerts.contains(name);
  const bool taken_out = file->take_out(name);
  if (built_in) {
    file->switch_off(name);
  } else if (!taken_out) {
    return invocation.fail(ExitCode::kFailed,
                           "the rule " + name + " stands in " + file->path() +
                               " in a form of its own: take it out there, and berth daemon reload");
  }
  if (!apply(*file, name, false, session)) return session.status();
  print("rule " + name + (built_in ? " is switched off\n" : " is gone\n"));
  return session.status();
}

// Each try ends by itself within some ten seconds.
constexpr Duration kTestWithin = seconds(40);

int test(OutputMode& output_mode, const AlertArgs& asked) {
  if (!output_mode.open()) return output_mode.session().status();
  DaemonSession& session = output_mode.session();
  const auto body =
      session.ask({.route = wire::Route::kAlertTest, .lease = asked.what}, kTestWithin);
  if (!body) return session.status();
  const auto result = session.understood(wire::decode_alert_test(*body));
  if (!result) return session.status();
  for (const wire::Delivered& outcome : result->outcomes) {
    if (outcome.outcome == "retry" || outcome.outcome == "refused") {
      session.note(ExitCode::kFailed);
    }
  }
  static const std::string kSample =
      wire::encode_alert_test({.rule = {}, .outcomes = {wire::Delivered{}}});
  if (output_mode.choice().is_for_people()) {
    print(test_lines(*result, output_mode.context()));
  } else if (const auto text =
                 output_mode.for_programs({.json = *body, .items = "items", .sample = kSample})) {
    print(*text);
  }
  return session.status();
}

void declare(Options& options, AlertArgs& asked) {
  options.operand("ACTION", store(asked.action), "what to do", {"list", "add", "rm", "test"});
  options.operand("[WHAT]", store(asked.what), "add: what to look at; rm, test: a rule's name");
  options.add("-n,--name=NAME", store(asked.name), "add: what the rule is called");
  options.add("--severity=SEVERITY", store(asked.rule.severity),
              "add: how bad that is; warn is the default", texts_of<Severity>());
  options.add("--repeat=DUR", store(asked.repeat),
              "add: tell it again each so often while it goes on; 1h is the default, 0 "
              "once");
  options.add("--terminal", store(asked.rule.terminal),
              "add: the berth run of the lease that it is about says it");
  options.add("--desktop", store(asked.rule.desktop),
              "add: show it on your desktop (berth run starts berth-notify)");
  options.add(
      "--webhook=URL", store(asked.rule.webhook),
      "add: send it there, by POST; '-' reads the URL from stdin, where no one else sees it");
  options.add("--webhook-file=FILE", store(asked.rule.webhook_file),
              "add: the same, with the URL in a file that only the daemon can read");
  options.add("--secret-file=FILE", store(asked.rule.secret_file),
              "add: what messages to the webhook are signed with");
  options.add("--allow-private", store(asked.rule.allow_private),
              "add: the webhook may be on this machine or in a private network");
  options.add("--command=COMMAND", store(asked.command),
              "add: start this with sh, with the message on its stdin");
}

}  // namespace

int run_alert(Invocation& invocation) {
  AlertArgs asked;
  OutputMode output_mode(invocation);
  invocation.about =
      "  list             the rules, and which of them say something now\n"
      "  add EXPRESSION   one more, such as 'gpu.mem_used > 88% for 30s'\n"
      "  rm NAME          takes one away, or switches off one that is built in\n"
      "  test NAME        sends one message through each of its channels, and says what came of "
      "it\n"
      "Rules are configuration: add and rm write them into a file of it and have the daemon read "
      "it "
      "again. Each alert is an event of /v1/events and a line of the daemon's log besides.";
  invocation.examples = {
      {"berth alert add 'lease.ended result=failed' --terminal", "say it where it ran"},
      {"berth alert add 'lease.waiting > 10m name=train*'", "long waits of some leases"},
      {"berth alert rm gpu-high", "one that is built in"}};
  declare(invocation.options, asked);
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  const bool has_what = !asked.what.empty();
  if (asked.action == "list" ? has_what : !has_what) {
    return invocation.usage_error(has_what ? "list takes nothing besides"
                                           : asked.action + " of what?");
  }
  if (asked.action == "add") return add(invocation, output_mode, asked);
  if (asked.action == "test") return test(output_mode, asked);
  if (asked.action == "rm") return remove(invocation, output_mode, asked);
  return output_mode.open_and_show([&] { return rules_shown(output_mode); });
}

}  // namespace berth::cli

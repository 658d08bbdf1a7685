// SPDX-License-Identifier: Apache-2.0
// Common parts of the verbs that show things: the form of output from options and settings, the one
// pass or the watching, and output for programs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/daemon_session.h"
#include "cli/render/items.h"
#include "cli/render/output.h"
#include "cli/verb.h"
#include "model/lease.h"

namespace berth::cli {

class OutputMode {
 public:
  explicit OutputMode(Invocation& invocation) : invocation_(invocation), session_(invocation) {}

  /// -o and its like; before parse().
  void declare(Watching watching);
  /// The form where no option says another; before parse(). Settings do not count then.
  void prefer(Format format) {
    choice_.format = format;
    choice_.format_given = true;
  }
  /// Reads the settings and finds the daemon. False: it ends with the status of session().
  bool open();

  DaemonSession& session() { return session_; }
  const OutputChoice& choice() const { return choice_; }
  RenderContext context() const { return session_.context(); }

  /// The text for programs, or nothing after a wrong --fields was said.
  std::optional<std::string> for_programs(ItemSource source);
  /// What is shown of the answer to a question: for programs all of it, in the form of `source`,
  /// for people what `text` makes of what `decode` reads in it. Nothing: it was said why.
  template <class T, class Text>
  std::optional<std::string> answer_text(const client::HttpRequest& question, ItemSource source,
                                         Result<T> (*decode)(std::string_view), Text text) {
    const auto body = session_.ask(question);
    if (!body) return std::nullopt;
    source.json = *body;
    if (!choice_.is_for_people()) return for_programs(std::move(source));
    auto answer = session_.understood(decode(*body));
    return answer ? std::optional<std::string>(text(*answer)) : std::nullopt;
  }

  /// Prints what `render` gives: once, or with --watch until it gives nothing. The exit status.
  int show(const std::function<std::optional<std::string>()>& render);
  /// The same of what is known here: `text` for people, else `json`.
  int show(const std::string& text, std::string_view json);
  /// As the first, after open().
  int open_and_show(const std::function<std::optional<std::string>()>& render);

 private:
  int watch(const std::function<std::optional<std::string>()>& render);

  Invocation& invocation_;
  OutputChoice choice_;
  DaemonSession session_;
  bool said_simulated_ = false;
};

/// What is left of a verb that tells of each lease that the command line names: once, or with
/// --watch. `invocation` has its texts; nothing from `render` ends it. Where it names none,
/// `render_alone` says what is told, else that is an error. The exit status.
int show_leases(
    Invocation& invocation,
    const std::function<std::optional<std::string>(const LeaseView&, OutputMode&)>& render,
    const std::function<std::optional<std::string>(OutputMode&)>& render_alone = {});

}  // namespace berth::cli

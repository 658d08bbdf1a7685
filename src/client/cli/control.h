// SPDX-License-Identifier: Apache-2.0
// Common parts of the verbs that change leases: which leases, whether the user may change them,
// what would be done with --dry-run, and the report of what was done.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_mode.h"
#include "cli/verb.h"
#include "client/connection.h"
#include "model/lease.h"

namespace berth::cli {

class Control {
 public:
  explicit Control(Invocation& invocation) : invocation_(invocation), output_mode_(invocation) {}

  /// LEASE..., --yes, --dry-run and -o; before parse().
  void declare();

  using Text = std::function<std::string(const LeaseView&, const RenderContext&)>;
  struct Operation {
    std::string dry_run_text;      // For --dry-run: "release 12 (me/train): …".
    std::string doubt = {};        // To be agreed to on a terminal first: "lease 12 still runs …".
    client::HttpRequest question;  // Whose lease is filled in, as that of the next one.
    /// Asked before it; what this says of the answer is why it is not done. Absent: it is.
    std::optional<client::HttpRequest> before = {};
    Text precondition = {};
    /// Done before that, and undone where the daemon refuses.
    std::function<Status(const LeaseView&)> prepare = {};
    std::function<void()> undo = {};
    Duration within = client::Connection::kAnswerWithin;
    bool until_ended = false;  // It is done when the lease has ended.
    /// What follows "lease 12 (me/train) ", from the lease as it is then: "has ended".
    Text success_text;
    /// What it comes to for the exit status; kOk where this is absent.
    std::function<ExitCode(const LeaseView&)> exit_code = {};
  };
  /// Does it to each lease that is meant, also if it failed for one before. The exit status.
  /// `prepare` is called before the first, when the daemon was found; false: it was said why not.
  int each(const std::function<Operation(const LeaseView&, const RenderContext&)>& operation_for,
           const std::function<bool(DaemonSession&)>& prepare = {});

  /// The leases, as they were typed.
  const std::vector<std::string>& words() const { return words_; }
  /// --yes: nobody is asked anything.
  bool unasked() const { return yes_; }

 private:
  RenderContext context() const { return output_mode_.context(); }
  bool confirmed(const LeaseView& lease, const Operation& operation);
  void perform(Operation operation, const LeaseView& lease);
  std::optional<LeaseView> wait_for_end(const LeaseView& lease);
  void print_sentence(const std::string& sentence);

  Invocation& invocation_;
  OutputMode output_mode_;
  std::vector<std::string> words_;
  bool yes_ = false;
  bool dry_run_ = false;
  bool said_simulated_ = false;
};

/// Puts a question on the terminal. False: the answer was not yes.
bool asked_and_agreed(const std::string& question);

/// "12 (me/train)"
std::string named(const LeaseView& lease, const RenderContext& context);

}  // namespace berth::cli

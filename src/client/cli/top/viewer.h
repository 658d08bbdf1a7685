// SPDX-License-Identifier: Apache-2.0
// The edge of `berth top`: the stream of the daemon, requests beside it, the terminal and its
// signals. One thread.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/daemon_session.h"
#include "cli/top/canvas.h"
#include "cli/top/draw.h"
#include "cli/top/keys.h"
#include "cli/top/state.h"
#include "cli/top/terminal.h"
#include "os/signals.h"

namespace berth::cli::top {

class Viewer {
 public:
  struct Settings {
    Options options;
    bool ascii = false;
    Palette palette;
    bool asks_background = false;  // The terminal, and takes what it answers for that of `palette`.
    std::optional<std::size_t> width;  // Of the output, as far as that is known.
  };
  Viewer(DaemonSession& session, Settings settings)
      : session_(session),
        settings_(settings),
        palette_(settings.palette),
        state_(settings.options) {}

  /// One frame, of as many lines as it takes. The exit status.
  int once();
  /// Until the user quits. The exit status.
  int run();

 private:
  struct AskProcesses {};
  using Asked = std::variant<Send, AskWhy, AskProcesses>;
  /// A question of which the answer is still to come.
  struct Outstanding {
    client::Connection connection;
    Asked what;
  };

  bool begin();
  void ask_background();
  void take_background();
  bool take_stream();
  bool take(const wire::SseEvent& event);
  void take_past();
  void ask_reasons();
  void ask_processes();
  Status begin(client::Connection& connection, const Asked& what) const;
  void ask(Asked what);
  void take_answers();
  void take_answer(const Asked& what, const Result<client::Answer>& answer);
  void take_processes(const Result<client::Answer>& answer);
  void perform(const Effects& effects);
  bool take_keys();
  bool take_signals(os::SignalDescriptor& signals);
  void wait(const os::SignalDescriptor& signals) const;
  void lose();
  void reconnect();
  void show();
  Look look() const;

  DaemonSession& session_;
  const Settings settings_;
  Palette palette_;
  State state_;
  Screen screen_;
  KeyReader keys_;
  Canvas shown_{0, 0};
  Frame frame_{.canvas = Canvas(0, 0)};
  std::vector<Outstanding> outstanding_;
  std::vector<LeaseId> asked_;  // Why, of the first in the queue.
  UnixMs asked_at_;
  std::optional<UnixMs> processes_asked_at_;
  UnixMs try_again_;
  UnixMs heard_at_;
  UnixMs answers_until_;  // Of the terminal; what comes later is none.
  bool quits_ = false;
};

}  // namespace berth::cli::top

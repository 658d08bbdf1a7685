// SPDX-License-Identifier: Apache-2.0
// `berth dashboard`: a session for a browser of this machine, by a code that is for one use.
#include <string>

#include "cli/daemon_session.h"
#include "cli/render/phrases.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "os/child.h"
#include "os/files.h"
#include "os/paths.h"
#include "wire/daemon.h"

namespace berth::cli {
namespace {

// A page that posts the code, which is in no argument, address or history then.
std::string posting_page(const wire::DashboardCode& code) {
  return "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Berth</title>\n"
         "<form method=\"post\" action=\"" +
         code.address + "/open\"><input type=\"hidden\" name=\"code\" value=\"" + code.code +
         "\"><button>Open the dashboard</button></form>\n"
         "<script>document.forms[0].submit()</script>\n";
}

bool has_screen() {
  return !environment_text("DISPLAY").empty() || !environment_text("WAYLAND_DISPLAY").empty();
}

/// The browser of the desktop is given a file that only its user can read.
Status open_browser(const wire::DashboardCode& code) {
  TRY(paths, os::paths_of(os::read_environment(), os::Mode::kUser, ""));
  TRY_STATUS(os::make_directories(paths.runtime_dir));
  const std::string path = paths.runtime_dir + "/dashboard.html";
  TRY_STATUS(os::write_file_atomically(path, posting_page(code), 0600, os::Sync::kNone));
  TRY(browser, os::spawn({.words = {"xdg-open", path}, .apart = os::Apart::kSession}));
  static_cast<void>(browser);
  return Unit{};
}

void tell(const wire::DashboardCode& code, bool opens) {
  print(code.address + "/\n");
  complain("berth: code " + code.code + ", for one use within a minute" +
           (opens ? "; your browser is given it\n" : ": open that address and enter it\n"));
}

}  // namespace

int run_dashboard(Invocation& invocation) {
  DashboardBody asked;
  bool no_open = false;
  invocation.about =
      "Opens the page of Berth in a browser of this machine, and prints its address and a code for "
      "a browser that it cannot open. The code is for one use within a minute; the session that it "
      "opens acts as you, and ends 12 h after its last use. Through ssh: forward the port "
      "(ssh -L 7421:127.0.0.1:7421), with daemon.http_port set to one that stays.";
  invocation.examples = {{"berth dashboard", "the page, in your browser"},
                         {"berth dashboard --read-only", "a session that cannot act"},
                         {"berth dashboard --revoke", "end all sessions of yours"}};
  invocation.options.add("--read-only", store(asked.read_only), "the session may look, not act");
  invocation.options.add("--revoke", store(asked.revoke), "end your sessions, and open none");
  invocation.options.add("--no-open", store(no_open), "print address and code only");
  if (const auto end = invocation.parse()) return *end;
  if (asked.revoke && asked.read_only) {
    return invocation.usage_error("--revoke opens no session: --read-only says nothing of it");
  }
  DaemonSession session(invocation);
  if (!session.open()) return session.status();
  const auto code =
      session.ask({.route = wire::Route::kDashboard, .body = asked}, wire::decode_dashboard_code);
  if (!code) return session.status();
  if (asked.revoke) {
    print(counted(code->revoked, "session") + " ended\n");
    return session.status();
  }
  const bool opens = !no_open && has_screen();
  tell(*code, opens);
  flush();
  if (!opens) return session.status();
  if (const Status opened = open_browser(*code); !opened.ok()) {
    complain("berth: no browser was opened: " + opened.error().message + "\n");
  }
  return session.status();
}

}  // namespace berth::cli

// SPDX-License-Identifier: Apache-2.0
// `berth ps`: the leases of everybody.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/render/leases.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

struct PsArgs {
  std::vector<std::string> words;
  bool all = false;
  bool wide = false;
};

// The ids that the words mean; all if there are no words. False: a word means none.
bool select(const PsArgs& asked, DaemonSession& session,
            std::optional<std::set<std::uint64_t>>& only) {
  if (asked.words.empty()) return true;
  const auto selected = select_leases(session, asked.words);
  if (!selected) return false;
  only.emplace();
  for (const LeaseView& lease : *selected) only->insert(lease.id.value);
  return true;
}

// Who uses the devices without a lease; nobody, where the daemon does not tell.
std::vector<DeviceView> devices(DaemonSession& session) {
  auto answer = session.ask({.route = wire::Route::kDevices}, wire::decode_devices);
  if (!answer) return {};
  session.learn(answer->names);
  return std::move(answer->list.items);
}

std::string table_text(std::vector<LeaseView> leases, bool externals, bool wide,
                       OutputMode& output_mode) {
  std::vector<DeviceView> seen;
  if (externals) seen = devices(output_mode.session());
  const bool is_wide = wide || output_mode.choice().format == Format::kWide;
  const RenderContext context = output_mode.context();
  Table table = lease_table(leases, seen, is_wide ? Detail::kWide : Detail::kTable, context);
  table.header = output_mode.choice().header;
  const bool none = table.rows.empty();
  const std::string text =
      none ? "No leases.\n"
           : render(std::move(table), is_wide ? std::nullopt : context.width, context.charset);
  return text + simulated_line(context);
}

std::optional<std::string> render(const PsArgs& asked, OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  std::optional<std::set<std::uint64_t>> only;
  if (!select(asked, session, only)) return std::nullopt;
  const bool ended_too = asked.all || only.has_value();
  const auto pages = ask_leases(session, ended_too ? Leases::kAll : Leases::kLive);
  if (!pages) return std::nullopt;
  if (!output_mode.choice().is_for_people()) {
    static const std::string kSample =
        wire::encode_leases({.items = {LeaseView{}}}, {.names = wire::UserNames{}});
    return output_mode.for_programs({.json = pages->front(),
                                     .older = std::span(*pages).subspan(1),
                                     .items = "items",
                                     .sample = kSample,
                                     .only = std::move(only)});
  }
  auto list = session.understood(decode_pages(*pages));
  if (!list) return std::nullopt;
  session.learn(list->names);
  if (only) {
    std::erase_if(list->items,
                  [&](const LeaseView& lease) { return !only->contains(lease.id.value); });
  }
  return table_text(std::move(list->items), !only, asked.wide, output_mode);
}

}  // namespace

int run_ps(Invocation& invocation) {
  OutputMode output_mode(invocation);
  PsArgs asked;
  invocation.about =
      "Lists the leases that hold or wait, of all users, and below them the processes that use a "
      "GPU without a lease. The figures are GiB on all devices of a lease together; a dash is a "
      "figure that nobody knows.";
  invocation.examples = {
      {"berth ps -a", "those that have ended too"},
      {"berth ps @mine --json", "as JSON, for a program"},
      {"berth ps --csv --fields id,name,state,vram_used_bytes", "for a spreadsheet"},
  };
  declare_leases(invocation.options, asked.words, "[LEASE...]");
  invocation.options.add("-a,--all", store(asked.all), "ended leases too");
  invocation.options.add("-w,--wide", store(asked.wide), "more columns, nothing shortened");
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  return output_mode.open_and_show([&] { return render(asked, output_mode); });
}

}  // namespace berth::cli

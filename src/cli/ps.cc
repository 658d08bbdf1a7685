// SPDX-License-Identifier: Apache-2.0
// `berth ps`: the leases of everybody.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/lease_pages.h"
#include "cli/render/leases.h"
#include "cli/selection.h"
#include "cli/showing.h"
#include "cli/verbs.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

struct PsAsked {
  std::vector<std::string> words;
  bool all = false;
  bool wide = false;
};

const std::string& sample_list() {
  static const std::string kSample =
      wire::encode_leases(wire::kPsSchema, {}, {LeaseView{}}, {.names = wire::UserNames{}});
  return kSample;
}

// The ids that the words mean; all if there are no words. False: a word means none.
bool select(const PsAsked& asked, Conversation& conversation,
            std::optional<std::set<std::uint64_t>>& only) {
  if (asked.words.empty()) return true;
  const auto selected = select_leases(conversation, asked.words);
  if (!selected) return false;
  only.emplace();
  for (const LeaseView& lease : *selected) only->insert(lease.id.value);
  return true;
}

// Who uses the devices without a lease; nobody, where the daemon does not tell.
std::vector<DeviceView> devices(Conversation& conversation) {
  const auto body = conversation.ask({.route = wire::Route::kDevices});
  if (!body) return {};
  auto answer = conversation.understood(wire::decode_devices(*body));
  if (!answer) return {};
  conversation.learn(answer->names);
  return std::move(answer->list.items);
}

std::string table_text(std::vector<LeaseView> leases, bool externals, bool wide, Showing& showing) {
  std::vector<DeviceView> seen;
  if (externals) seen = devices(showing.conversation());
  const bool is_wide = wide || showing.choice().format == Format::kWide;
  const Scene scene = showing.scene();
  Table table = lease_table(leases, seen, is_wide ? Detail::kWide : Detail::kTable, scene);
  table.header = showing.choice().header;
  const bool none = table.rows.empty();
  std::string text =
      none ? "No leases.\n"
           : render(std::move(table), is_wide ? std::nullopt : scene.width, scene.letters);
  if (scene.simulated)
    text += painted("(the GPU is simulated)", Colour::kDim, scene.letters) + "\n";
  return text;
}

std::optional<std::string> render(const PsAsked& asked, Showing& showing) {
  Conversation& conversation = showing.conversation();
  std::optional<std::set<std::uint64_t>> only;
  if (!select(asked, conversation, only)) return std::nullopt;
  const bool ended_too = asked.all || only.has_value();
  const auto pages = ask_leases(conversation, ended_too ? Leases::kAll : Leases::kLive);
  if (!pages) return std::nullopt;
  if (!showing.choice().is_for_people()) {
    return showing.for_programs({.json = pages->front(),
                                 .older = std::span(*pages).subspan(1),
                                 .items = "items",
                                 .sample = sample_list(),
                                 .only = std::move(only)});
  }
  auto list = conversation.understood(decode_pages(*pages));
  if (!list) return std::nullopt;
  conversation.learn(list->names);
  if (only) {
    std::erase_if(list->items,
                  [&](const LeaseView& lease) { return !only->contains(lease.id.value); });
  }
  return table_text(std::move(list->items), !only, asked.wide, showing);
}

}  // namespace

int run_ps(Invocation& invocation) {
  Showing showing(invocation);
  PsAsked asked;
  invocation.about =
      "Lists the leases that hold or wait, of all users, and below them the processes that use a "
      "GPU without a lease. The figures are GiB on all devices of a lease together; a dash is a "
      "figure that nobody knows.";
  invocation.examples = {
      {"berth ps -a", "those that have ended too"},
      {"berth ps @mine --json", "as JSON, for a program"},
      {"berth ps --csv --fields id,name,state,vram_used_bytes", "for a spreadsheet"},
  };
  declare_leases(invocation.options, asked.words, 0);
  invocation.options.flag({.names = "-a,--all", .help = "ended leases too"}, into(asked.all));
  invocation.options.flag({.names = "-w,--wide", .help = "more columns, nothing shortened"},
                          into(asked.wide));
  showing.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (!showing.open()) return showing.conversation().status();
  return showing.show([&] { return render(asked, showing); });
}

}  // namespace berth::cli

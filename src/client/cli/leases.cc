// SPDX-License-Identifier: Apache-2.0
#include "cli/leases.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/lease_words.h"
#include "os/users.h"
#include "wire/answers.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

std::string none_of(const LeaseWord& word, const std::string& text) {
  const auto* group = std::get_if<LeaseGroup>(&word);
  if (group == nullptr) return "there are no leases " + text;
  return *group == LeaseGroup::kFailed ? "none of your leases failed" : "you have no leases";
}

class Selector {
 public:
  explicit Selector(DaemonSession& session) : session_(session) {}

  // False: it was said why not.
  bool add(const std::string& text) {
    const auto word = parse_lease_word(text);
    if (!word.ok()) {
      session_.fail(ExitCode::kUsage, word.error().message);
      return false;
    }
    if (const auto* reference = std::get_if<LeaseReference>(&*word)) return add_one(*reference);
    if (!all_ && !ask_all()) return false;
    std::vector<LeaseView> found = chosen(*word, checked(all_), os::own_user());
    if (found.empty()) {
      session_.fail(ExitCode::kNoInput, none_of(*word, text));
      return false;
    }
    for (LeaseView& lease : found) add(std::move(lease));
    return true;
  }

  std::vector<LeaseView> take() { return std::move(selected_); }

 private:
  void add(LeaseView lease) {
    if (!std::ranges::count(selected_, lease.id, &LeaseView::id)) {
      selected_.push_back(std::move(lease));
    }
  }

  bool add_one(const LeaseReference& reference) {
    auto answer =
        session_.ask({.route = wire::Route::kLease, .lease = reference.text}, wire::decode_lease);
    if (!answer) return false;
    session_.learn({{answer->view.user, answer->user}});
    add(std::move(answer->view));
    return true;
  }

  bool ask_all() {
    const auto pages = ask_leases(session_, Leases::kAll);
    if (!pages) return false;
    auto list = session_.understood(decode_pages(*pages));
    if (!list) return false;
    session_.learn(list->names);
    all_ = std::move(list->items);
    return true;
  }

  DaemonSession& session_;
  std::optional<std::vector<LeaseView>> all_;
  std::vector<LeaseView> selected_;
};

std::optional<WhyView> reason_of(LeaseId id, DaemonSession& session) {
  const client::HttpRequest question{.route = wire::Route::kWhy, .lease = to_text(id)};
  auto named = client::told(session.client().connection().ask(question), wire::decode_why);
  if (!named) return std::nullopt;
  session.learn(named->names);
  if (named->why.reason == WhyView::Reason::kNotWaiting) return std::nullopt;
  return std::move(named->why);
}

}  // namespace

void declare_leases(Options& options, std::vector<std::string>& words, std::string_view form) {
  options.operand(form, store(words),
                  "id, name, unique prefix, handle, range 3..7, @last, @mine or @failed");
}

std::optional<std::vector<LeaseView>> select_leases(DaemonSession& session,
                                                    const std::vector<std::string>& words) {
  Selector selector(session);
  for (const std::string& word : words) {
    if (!selector.add(word)) return std::nullopt;
  }
  return selector.take();
}

std::optional<LeaseView> select_one(DaemonSession& session, const std::string& word) {
  auto leases = select_leases(session, {word});
  if (!leases) return std::nullopt;
  if (leases->size() == 1) return std::move(leases->front());
  session.fail(ExitCode::kUsage, cli::quoted(word) + " means " + std::to_string(leases->size()) +
                                     " leases, and this is for one");
  return std::nullopt;
}

std::optional<std::string> render_each(
    DaemonSession& session, const std::vector<std::string>& words,
    const std::function<std::optional<std::string>(const LeaseView&)>& render) {
  const auto leases = select_leases(session, words);
  if (!leases) return std::nullopt;
  std::string all;
  for (const LeaseView& lease : *leases) {
    const auto text = render(lease);
    if (!text) return std::nullopt;
    all += *text;
  }
  return all;
}

std::optional<std::vector<std::string>> ask_leases(DaemonSession& session, Leases which) {
  const std::string target =
      wire::target_of(wire::Route::kLeases) + (which == Leases::kAll ? "?all=1" : "");
  std::vector<std::string> pages;
  std::optional<LeaseId> next;
  do {
    const std::string before = next ? "&before=" + to_text(*next) : "";
    auto body = session.get(target + before);
    if (!body) return std::nullopt;
    // A page that cannot be read is the last: its reader will say so.
    const std::optional<LeaseId> older = wire::next_of_leases(*body);
    next = older && (!next || *older < *next) ? older : std::nullopt;
    pages.push_back(*std::move(body));
  } while (next);
  return pages;
}

Result<wire::LeaseList> decode_pages(const std::vector<std::string>& pages) {
  wire::LeaseList all;
  for (const std::string& page : pages | std::views::reverse) {
    TRY(list, wire::decode_leases(page));
    all.time = list.time;
    all.names.merge(list.names);
    for (LeaseView& lease : list.items) all.items.push_back(std::move(lease));
  }
  return all;
}

std::vector<Waiting> with_reasons(std::vector<LeaseView> queue, std::size_t count,
                                  DaemonSession& session) {
  std::vector<Waiting> waiting;
  for (LeaseView& lease : queue) {
    const bool asked = waiting.size() < count;
    const LeaseId id = lease.id;
    waiting.push_back({std::move(lease), asked ? reason_of(id, session) : std::nullopt});
  }
  return waiting;
}

}  // namespace berth::cli

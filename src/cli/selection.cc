// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/lease_pages.h"
#include "cli/lease_words.h"
#include "os/users.h"
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

}  // namespace berth::cli

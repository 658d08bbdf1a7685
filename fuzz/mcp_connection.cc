// SPDX-License-Identifier: Apache-2.0
// Lines that a client sends, and what becomes of calls between them: a line such as `F 3` finishes
// the third call. Whatever is sent is one message in one line, and nothing is sent of what is over.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "base/json_tree.h"
#include "base/number.h"
#include "fuzz.h"
#include "mcp/connection.h"
#include "mcp/outcome.h"
#include "mcp_for_fuzz.h"

namespace {

namespace mcp = berth::mcp;

class Owner {
 public:
  void take(std::string_view line) {
    const auto number =
        berth::parse_number<std::uint64_t>(line.substr(std::min<std::size_t>(2, line.size())));
    const char what = line.size() > 2 && line[1] == ' ' ? line[0] : '\0';
    const auto open = number ? open_.find(mcp::CallId{*number}) : open_.end();
    if (what == 'C') {
      perform(connection_.resource_changed(line.substr(2)));
    } else if (what == 'P' && number) {
      perform(connection_.progress(mcp::CallId{*number}, {.done = 1, .message = "m"}));
    } else if (what == 'A' && open != open_.end()) {
      ask(open->second);
    } else if (what == 'F' && number) {
      finish(mcp::CallId{*number});
    } else {
      perform(connection_.receive(line));
    }
  }
  void close() {
    perform(connection_.close());
    CHECK(open_.empty());
    CHECK(connection_.resource_changed("x://all").empty());
  }

 private:
  void finish(mcp::CallId id) {
    const auto open = open_.find(id);
    if (open == open_.end()) {
      CHECK(connection_.finish(id, mcp::Fault{}).empty());
      return;
    }
    const mcp::BeginCall call = open->second;
    open_.erase(open);
    asked_.erase(id);
    const mcp::Effects effects = connection_.finish(id, berth::fuzz::outcome_of(call));
    CHECK(!effects.empty());
    perform(effects);
  }
  void ask(const mcp::BeginCall& call) {
    const mcp::Question question = mcp::form("Who?", call.arguments);
    if (call.era == mcp::Era::kLegacy) {
      if (!call.client.can(question.ability) || asked_.contains(call.call)) return;
      asked_.insert(call.call);
      perform(connection_.ask(call.call, question));
    } else if (call.target != mcp::Target::kOther) {
      const mcp::CallId id = call.call;
      perform(connection_.finish(id, mcp::InputRequired{{{"who", question}}, "s"}));
      open_.erase(id);
    }
  }

  void perform(const mcp::Effects& effects) {
    for (const mcp::Effect& effect : effects) {
      std::visit([this](const auto& one) { one_effect(one); }, effect);
    }
  }
  void one_effect(const mcp::Send& send) {
    CHECK(send.line.find('\n') == std::string::npos);
    const auto read = berth::JsonTree::parse(send.line);
    CHECK(berth::is_json(send.line) && (!read || read->find(0, "jsonrpc")));
    CHECK(send.request.empty() || berth::is_json(send.request));
  }
  void one_effect(const mcp::BeginCall& call) {
    CHECK(berth::is_json(call.arguments) && (call.answers.empty() || berth::is_json(call.answers)));
    CHECK(open_.emplace(call.call, call).second && open_.size() <= mcp::kCallsMax);
  }
  void one_effect(const mcp::CancelCall& cancel) {
    CHECK(open_.erase(cancel.call) == 1);
    asked_.erase(cancel.call);
    CHECK(connection_.progress(cancel.call, {.done = 9}).empty());
  }
  void one_effect(const mcp::Answered& answered) {
    CHECK(asked_.erase(answered.call) == 1);
    CHECK(answered.answer.empty() ||
          mcp::read_reply(answered.answer).content.size() < mcp::kLineMax);
  }

  const mcp::Catalog catalog_ = berth::fuzz::mcp_catalog();
  mcp::Connection connection_{catalog_};
  std::map<mcp::CallId, mcp::BeginCall> open_;
  std::set<mcp::CallId> asked_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = berth::fuzz::text_of(data, size);
  Owner owner;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    owner.take(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  owner.close();
  return 0;
}

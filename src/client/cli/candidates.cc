// SPDX-License-Identifier: Apache-2.0
#include "cli/candidates.h"

#include <string_view>

#include "cli/verb.h"

namespace berth::cli {
namespace {

using Words = std::vector<std::string>;

Options options_of(const Verb& verb) {
  Invocation invocation{.verb = verb, .describing = true};
  static_cast<void>(verb.run(invocation));
  return invocation.options;
}

// Where the words before the cursor leave off.
struct Position {
  const Option* wants_value = nullptr;  // The word at the cursor is its value.
  std::size_t operand = 0;              // Else it may be this one.
  bool options_ended = false;
  std::optional<std::size_t> command_begin;
};

const Option* named_by(const Options& options, std::string_view word) {
  for (const Option& option : options.all()) {
    if (word.starts_with("--") ? option.shown() == word : option.letter() == word.back()) {
      return &option;
    }
  }
  return nullptr;
}

// Reads words[begin, last) as Options::parse would; see Note [Grammar of options].
Position find_position(const Options& options, const Words& words, std::size_t begin) {
  Position position;
  for (std::size_t i = begin; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (position.wants_value != nullptr) {
      position.wants_value = nullptr;
    } else if (word == "--" && !position.options_ended) {
      position.options_ended = true;
    } else if (word.size() > 1 && word[0] == '-' && !position.options_ended) {
      const Option* option = named_by(options, word);
      const bool waits = option != nullptr && option->value == Option::Value::kNeeded;
      if (waits) position.wants_value = option;
    } else if (position.operand < options.operands().size()) {
      const Operand& operand = options.operands()[position.operand];
      if (operand.is_command) {
        position.command_begin = i;
        return position;
      }
      if (!operand.may_be_many) ++position.operand;
    }
  }
  return position;
}

class Collector {
 public:
  Collector(const Words& words, const std::function<std::vector<Candidate>()>& leases)
      : current_(words.back()), leases_(leases) {}

  void offer(std::string_view word, std::string_view meaning) {
    if (word.starts_with(current_))
      found_.words.push_back({std::string(word), std::string(meaning)});
  }

  void offer_value(const Option& option, const std::string& before) {
    for (const std::string_view choice : option.choices) offer(before + std::string(choice), "");
    if (option.metavar == "FILE") found_.files = true;
  }

  void offer_options(const Options& options) {
    const auto equals = current_.find('=');
    if (equals != std::string::npos) {
      const std::string before = current_.substr(0, equals + 1);
      if (const Option* option = named_by(options, current_.substr(0, equals))) {
        offer_value(*option, before);
      }
      return;
    }
    for (const Option& option : options.all()) {
      if (!option.hidden()) offer(option.shown(), option.help);
    }
  }

  void offer_operand(const Operand& operand, std::size_t at) {
    for (const std::string_view choice : operand.choices) offer(choice, "");
    if (operand.metavar == "FILE") found_.files = true;
    if (operand.is_command) found_.command_begin = at;
    if (operand.metavar != "LEASE") return;
    for (const Candidate& lease : leases_()) offer(lease.word, lease.meaning);
    offer("@last", "the newest of yours");
    offer("@mine", "all of yours");
    offer("@failed", "those of yours that failed");
  }

  void offer_verbs() {
    for (const Verb& verb : verbs()) offer(verb.name, verb.summary);
    offer("help", "what a verb does");
  }

  Candidates& found() { return found_; }
  bool is_option() const { return current_.starts_with('-'); }

 private:
  const std::string& current_;
  const std::function<std::vector<Candidate>()>& leases_;
  Candidates found_;
};

}  // namespace

Candidates find_candidates(const Words& words,
                           const std::function<std::vector<Candidate>()>& leases) {
  if (words.empty()) return {};
  Collector collector(words, leases);
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) ++at;
  const std::size_t cursor = words.size() - 1;
  if (at > cursor) {
    collector.offer_options(options_of(verbs().front()));
    return collector.found();
  }
  if (at == cursor || (words[at] == "help" && at + 1 == cursor)) {
    collector.offer_verbs();
    return collector.found();
  }
  const Verb* verb = find_verb(words[at]);
  if (verb == nullptr) return {};
  const Options options = options_of(*verb);
  const Position position = find_position(options, words, at + 1);
  if (position.command_begin) {
    collector.found().command_begin = position.command_begin;
  } else if (position.wants_value != nullptr) {
    collector.offer_value(*position.wants_value, "");
  } else if (collector.is_option() && !position.options_ended) {
    collector.offer_options(options);
  } else if (position.operand < options.operands().size()) {
    collector.offer_operand(options.operands()[position.operand], cursor);
  }
  return collector.found();
}

}  // namespace berth::cli

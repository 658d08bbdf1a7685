// SPDX-License-Identifier: Apache-2.0
#include "train/saved_state.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/number.h"

namespace berth::train {
namespace {

constexpr std::uint64_t kVersion = 1;

template <class Texts>
void append(const char* key, const Texts& texts, JsonWriter& out) {
  out.key(key).begin_object();
  for (const auto& [name, value] : texts) out.key(name).text(value);
  out.end_object();
}

// The first thing that is missing or of another kind stays in `wrong()`.
class SavedStateReader {
 public:
  explicit SavedStateReader(const JsonTree& tree) : tree_(tree) {}

  std::uint32_t object(std::uint32_t within, const char* key) {
    const std::optional<std::uint32_t> at = tree_.find(within, key);
    if (at && tree_[*at].kind == JsonTree::Kind::kObject) return *at;
    note(key);
    return 0;
  }
  std::uint64_t number(std::uint32_t within, const char* key) {
    const std::optional<std::uint32_t> at = tree_.find(within, key);
    std::optional<std::uint64_t> value;
    if (at && tree_[*at].kind == JsonTree::Kind::kNumber) {
      value = parse_number<std::uint64_t>(tree_[*at].text);
    }
    if (!value) note(key);
    return value.value_or(0);
  }
  std::vector<std::pair<std::string, std::string>> texts(const char* key) {
    std::vector<std::pair<std::string, std::string>> all;
    const std::uint32_t object_at = object(0, key);
    if (!wrong_.empty()) return all;
    for (std::uint32_t at = object_at + 1; at < tree_[object_at].end; at = tree_[at + 1].end) {
      std::optional<std::string> name = text_of(tree_[at]);
      std::optional<std::string> value = text_of(tree_[at + 1]);
      if (!name || !value) {
        note(key);
        break;
      }
      all.emplace_back(*std::move(name), *std::move(value));
    }
    return all;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void note(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }

  const JsonTree& tree_;
  std::string wrong_;
};

}  // namespace

std::string to_json(const SavedState& state) {
  JsonWriter out;
  out.begin_object().key("version").number(kVersion);
  append("settings", state.settings, out);
  out.key("data").begin_object().key("position").number(state.position);
  out.key("fingerprint").number(state.fingerprint).end_object();
  append("state", state.values, out);
  return out.end_object().take();
}

Result<SavedState> parse_saved_state(std::string_view json) {
  Error broken{Errc::kCorrupt, "holds no state of a training run that can be read"};
  const auto parsed = JsonTree::parse_strictly(json);
  const auto* const tree = std::get_if<JsonTree>(&parsed);
  if (tree == nullptr) return broken;
  SavedStateReader reader(*tree);
  if (reader.number(0, "version") != kVersion) return broken;
  SavedState state{.settings = reader.texts("settings")};
  for (auto& [name, value] : reader.texts("state")) {
    state.values.emplace(std::move(name), std::move(value));
  }
  const std::uint32_t data = reader.object(0, "data");
  state.position = reader.number(data, "position");
  state.fingerprint = reader.number(data, "fingerprint");
  if (reader.wrong().empty()) return state;
  broken.message += " (\"" + reader.wrong() + "\")";
  return broken;
}

}  // namespace berth::train

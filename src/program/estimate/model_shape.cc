// SPDX-License-Identifier: Apache-2.0
#include "estimate/model_shape.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/json_tree.h"
#include "base/number.h"

namespace berth::estimate {
namespace {

using Kind = JsonTree::Kind;

// Beyond these the products below would leave 64 bits; no model is near them.
constexpr std::uint64_t kWidthMax = 1U << 24U;
constexpr std::uint64_t kLayersMax = 1U << 16U;

// The values of one JSON object by key.
class Keys {
 public:
  static std::optional<Keys> of(std::string_view json) {
    std::optional<JsonTree> tree = JsonTree::parse(json);
    if (!tree || (*tree)[0].kind != Kind::kObject) return std::nullopt;
    return Keys(*std::move(tree));
  }

  const JsonTree::Node* find(std::string_view key) const {
    const std::optional<std::uint32_t> at = tree_.find(0, key);
    return at ? &tree_[*at] : nullptr;
  }
  /// 0 where it is absent or null; absent where it is something else than a natural number.
  std::optional<std::uint64_t> number(std::string_view key) const {
    const JsonTree::Node* const node = find(key);
    if (node == nullptr || node->kind == Kind::kNull) return 0;
    if (node->kind != Kind::kNumber) return std::nullopt;
    return parse_number<std::uint64_t>(node->text);
  }
  bool flag(std::string_view key, bool otherwise) const {
    const JsonTree::Node* const node = find(key);
    if (node == nullptr || (node->kind != Kind::kTrue && node->kind != Kind::kFalse)) {
      return otherwise;
    }
    return node->kind == Kind::kTrue;
  }
  std::string text(std::string_view key) const {
    const JsonTree::Node* const node = find(key);
    return node == nullptr ? std::string() : text_of(*node).value_or("");
  }

 private:
  explicit Keys(JsonTree tree) : tree_(std::move(tree)) {}
  JsonTree tree_;
};

struct Wanted {
  const char* key;
  std::uint64_t* value;
  std::uint64_t max;
  bool needed;
};

Status read(const Keys& keys, std::initializer_list<Wanted> all) {
  for (const Wanted& wanted : all) {
    const std::optional<std::uint64_t> number = keys.number(wanted.key);
    if (!number) {
      return Error{Errc::kInvalid,
                   "\"" + std::string(wanted.key) + "\" is no whole number in this config"};
    }
    if (*number > wanted.max) {
      return Error{Errc::kInvalid, "\"" + std::string(wanted.key) + "\" is " +
                                       std::to_string(*number) + ": more than " +
                                       std::to_string(wanted.max)};
    }
    if (*number == 0 && wanted.needed) {
      return Error{Errc::kInvalid, "\"" + std::string(wanted.key) + "\" is missing in this config"};
    }
    *wanted.value = *number;
  }
  return Unit{};
}

// What follows where nothing was said, and what cannot be.
Result<ModelShape> completed(ModelShape shape) {
  if (shape.key_value_heads == 0) shape.key_value_heads = shape.heads;
  if (shape.head_width == 0) {
    if (shape.width % shape.heads != 0) {
      return Error{Errc::kInvalid, "a width of " + std::to_string(shape.width) +
                                       " cannot be divided among " + std::to_string(shape.heads) +
                                       " heads"};
    }
    shape.head_width = shape.width / shape.heads;
  }
  if (shape.heads % shape.key_value_heads != 0) {
    return Error{Errc::kInvalid, std::to_string(shape.heads) + " heads cannot share " +
                                     std::to_string(shape.key_value_heads) +
                                     " heads of keys and values"};
  }
  return shape;
}

Result<ModelShape> gpt2_shape(const Keys& keys) {
  ModelShape shape{.kind = ModelShape::Kind::kGpt2};
  std::uint64_t context = 0;
  TRY_STATUS(read(keys, {{"n_layer", &shape.layers, kLayersMax, true},
                         {"n_embd", &shape.width, kWidthMax, true},
                         {"n_head", &shape.heads, kWidthMax, true},
                         {"n_inner", &shape.inner_width, kWidthMax, false},
                         {"vocab_size", &shape.vocabulary, kWidthMax, true},
                         {"n_positions", &shape.positions, kWidthMax, false},
                         {"n_ctx", &context, kWidthMax, false}}));
  if (shape.inner_width == 0) shape.inner_width = 4 * shape.width;
  if (shape.positions == 0) shape.positions = context;
  if (shape.positions == 0) {
    return Error{Errc::kInvalid, "\"n_positions\" is missing in this config"};
  }
  shape.tied_head = keys.flag("tie_word_embeddings", true);
  return completed(shape);
}

// Kinds of models whose layers are Llama's, and which of them have biases without saying so.
constexpr std::array<std::string_view, 6> kLikeLlama = {"llama", "mistral", "qwen2",
                                                        "qwen3", "smollm3", "olmo"};

Result<ModelShape> llama_shape(const Keys& keys, std::string_view type) {
  ModelShape shape{.kind = ModelShape::Kind::kLlama};
  TRY_STATUS(read(keys, {{"num_hidden_layers", &shape.layers, kLayersMax, true},
                         {"hidden_size", &shape.width, kWidthMax, true},
                         {"num_attention_heads", &shape.heads, kWidthMax, true},
                         {"num_key_value_heads", &shape.key_value_heads, kWidthMax, false},
                         {"head_dim", &shape.head_width, kWidthMax, false},
                         {"intermediate_size", &shape.inner_width, kWidthMax, true},
                         {"vocab_size", &shape.vocabulary, kWidthMax, true},
                         {"max_position_embeddings", &shape.positions, UINT64_MAX, false}}));
  const bool biases = keys.flag("attention_bias", false);
  shape.query_biases = biases || type == "qwen2";
  shape.output_bias = biases;
  shape.tied_head = keys.flag("tie_word_embeddings", false);
  return completed(shape);
}

}  // namespace

Result<ModelShape> parse_model_config(std::string_view json) {
  const std::optional<Keys> keys = Keys::of(json);
  if (!keys) return Error{Errc::kInvalid, "this config is no JSON object"};
  const std::string type = keys->text("model_type");
  for (const char* mixture : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (keys->find(mixture) != nullptr) {
      return Error{Errc::kInvalid, "a mixture of experts (\"" + std::string(mixture) +
                                       "\") cannot be estimated yet"};
    }
  }
  if (type == "gpt2" || (type.empty() && keys->find("n_embd") != nullptr)) {
    return gpt2_shape(*keys);
  }
  const bool known = std::ranges::find(kLikeLlama, type) != kLikeLlama.end();
  if (known || (type.empty() && keys->find("hidden_size") != nullptr)) {
    return llama_shape(*keys, type);
  }
  if (type.empty()) {
    return Error{
        Errc::kInvalid,
        "\"model_type\" is missing in this config, and so are the keys of GPT-2 and Llama"};
  }
  return Error{Errc::kInvalid, "models of the type '" + type +
                                   "' cannot be estimated: their layers are neither GPT-2's nor "
                                   "Llama's as far as we know"};
}

Parameters parameters_of(const ModelShape& shape) {
  const std::uint64_t width = shape.width;
  const std::uint64_t inner = shape.inner_width;
  const std::uint64_t attention = shape.attention_width();
  const std::uint64_t key_value = shape.key_value_width();
  Parameters result;
  result.embeddings = shape.vocabulary * width;
  std::uint64_t layer = width * attention + 2 * width * key_value + attention * width;
  std::uint64_t norm = width;
  if (shape.kind == ModelShape::Kind::kGpt2) {
    result.embeddings += shape.positions * width;
    norm = 2 * width;
    layer += attention + 2 * key_value + width;  // Biases around attention,
    layer += 2 * width * inner + inner + width;  // and both matrices with theirs.
  } else {
    if (shape.query_biases) layer += attention + 2 * key_value;
    if (shape.output_bias) layer += width;
    layer += 3 * width * inner;
  }
  result.layers = shape.layers * (layer + 2 * norm);
  result.head = norm + (shape.tied_head ? 0 : shape.vocabulary * width);
  return result;
}

}  // namespace berth::estimate

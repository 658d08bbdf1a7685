// SPDX-License-Identifier: Apache-2.0
#include "base/json_copy.h"

namespace berth {
namespace {

using Kind = JsonTree::Kind;

void copy_array(const JsonTree& tree, std::uint32_t array, JsonWriter& to) {
  to.begin_array();
  for (std::uint32_t at = array + 1; at < tree[array].end; at = tree[at].end) {
    copy_json(tree, at, to);
  }
  to.end_array();
}

void copy_object(const JsonTree& tree, std::uint32_t object, JsonWriter& to) {
  to.begin_object();
  for (std::uint32_t key = object + 1; key < tree[object].end; key = tree[key + 1].end) {
    to.key(text_of(tree[key]).value_or(""));
    copy_json(tree, key + 1, to);
  }
  to.end_object();
}

}  // namespace

// As deep as the tree, JsonTree::kDepthMax levels.
void copy_json(const JsonTree& tree, std::uint32_t node, JsonWriter& to) {
  switch (tree[node].kind) {
    case Kind::kArray:
      return copy_array(tree, node, to);
    case Kind::kObject:
      return copy_object(tree, node, to);
    case Kind::kText:
      to.text(text_of(tree[node]).value_or(""));
      return;
    case Kind::kNull:
    case Kind::kFalse:
    case Kind::kTrue:
    case Kind::kNumber:
      to.json(tree[node].text);
      return;
  }
}

std::string json_at(const JsonTree& tree, std::uint32_t node) {
  JsonWriter out;
  copy_json(tree, node, out);
  return out.take();
}

}  // namespace berth

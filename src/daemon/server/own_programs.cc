// SPDX-License-Identifier: Apache-2.0
#include "server/own_programs.h"

#include "base/json_tree.h"
#include "model/set_member.h"

namespace berth::server {

using wire::ApiError;
using wire::error_of;

std::variant<std::vector<std::string>, ApiError> words_for_berth(UserId own_user, UserId asking,
                                                                 const LeaseView* lease) {
  if (lease == nullptr) {
    if (asking == own_user) return std::vector<std::string>{"doctor", "--json"};
    return error_of(RefusalCode::kNotSupported,
                    "the daemon runs as another user than you, and can look at nothing of yours: "
                    "run berth doctor");
  }
  const auto& member = lease->request.member;
  const std::string name = member ? to_text(*member) : to_text(lease->id);
  if (lease->user != asking) {
    return error_of(RefusalCode::kNotYours, "lease " + to_text(lease->id) +
                                                " is another user's, and so is what it printed");
  }
  if (asking == own_user) return std::vector<std::string>{"logs", "--json", name};
  return error_of(RefusalCode::kNotSupported,
                  "the daemon runs as another user than you, and reads no files of yours: run "
                  "berth logs " +
                      name);
}

std::variant<std::string, ApiError> answer_of(const Result<std::string>& printed) {
  if (!printed.ok()) {
    const bool busy = printed.error().code == Errc::kConflict;
    return error_of(busy ? RefusalCode::kBusy : RefusalCode::kNotFound, printed.error().message);
  }
  const auto tree = JsonTree::parse_strictly(*printed);
  if (const auto* read = std::get_if<JsonTree>(&tree)) {
    if (read->find(0, "error")) return wire::decode_error(*printed);
    if ((*read)[0].kind == JsonTree::Kind::kObject) return *printed;
  }
  return error_of(RefusalCode::kNotFound, "berth has printed nothing that makes sense");
}

}  // namespace berth::server

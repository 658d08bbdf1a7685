// SPDX-License-Identifier: Apache-2.0
// The one place in which a rule of the configuration has its URL.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "config/load.h"

namespace berth::config {
namespace {

TEST(Load, AWebhookHasItsUrlInOnePlace) {
  const auto load_rule = [](const std::string& keys) {
    Input input{.mode = Mode::kUser};
    input.files.push_back({File::Kind::kUser, "f", "[alert.r]\nwhen = \"gpu.lost\"\n" + keys});
    return load(input);
  };
  for (const std::string one : {"webhook = \"https://h/x\"", "webhook_file = \"/etc/x\""}) {
    EXPECT_TRUE(std::holds_alternative<Loaded>(load_rule(one + "\nsecret_file = \"/s\"")));
  }
  const auto both = load_rule("webhook = \"https://h/x\"\nwebhook_file = \"/etc/x\"");
  ASSERT_TRUE(std::holds_alternative<Problems>(both));
  EXPECT_NE(to_text(std::get<Problems>(both)[0]).find("one of them is enough"), std::string::npos);
  EXPECT_FALSE(std::holds_alternative<Loaded>(load_rule("webhook_file = \"x\"")));
}

}  // namespace
}  // namespace berth::config

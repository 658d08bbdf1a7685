// SPDX-License-Identifier: Apache-2.0
#include "mcp/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/message.h"

namespace berth::mcp {
namespace {

using testing::HasSubstr;

// With the object that stands there in each test.
template <class Test>
void with_object(const std::string& json, Test test) {
  const auto read = JsonTree::parse_strictly(json);
  ASSERT_TRUE(std::holds_alternative<JsonTree>(read)) << json;
  test(Object(std::get<JsonTree>(read), 0));
}

struct Declared {
  std::string capabilities;
  std::array<bool, 4> abilities;  // form, url, sampling, roots
};

TEST(Client, CanWhatItDeclares) {
  const std::vector<Declared> declared = {
      {"{}", {}},
      {R"({"elicitation":{}})", {true}},
      {R"({"elicitation":{"form":{}}})", {true}},
      {R"({"elicitation":{"url":{}}})", {false, true}},
      {R"({"elicitation":{"form":{},"url":{}}})", {true, true}},
      {R"({"elicitation":null,"sampling":{"tools":{}}})", {false, false, true}},
      {R"({"roots":{"listChanged":true},"experimental":{"x":{}}})", {false, false, false, true}},
  };
  for (const Declared& one : declared) {
    with_object(one.capabilities, [&](const Object& capabilities) {
      EXPECT_EQ(client_of(capabilities.object("info"), capabilities).abilities, one.abilities)
          << one.capabilities;
    });
  }
}

TEST(Client, IsAskedByTheMethodOfTheAbility) {
  EXPECT_EQ(method_of(Ability::kForm), "elicitation/create");
  EXPECT_EQ(method_of(Ability::kUrl), "elicitation/create");
  EXPECT_EQ(method_of(Ability::kSampling), "sampling/createMessage");
  EXPECT_EQ(method_of(Ability::kRoots), "roots/list");
}

constexpr std::string_view kVersion = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
constexpr std::string_view kCapabilities =
    R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}})";

std::string meta_of(std::initializer_list<std::string_view> members) {
  std::string meta;
  for (const std::string_view member : members) {
    meta += (meta.empty() ? "" : ",") + std::string(member);
  }
  return R"({"_meta":{)" + meta + "}}";
}

TEST(Client, OfTheModernEraDescribesItselfInEachRequest) {
  const std::string params =
      meta_of({kVersion, kCapabilities,
               R"("io.modelcontextprotocol/clientInfo":{"name":"a","version":"1","x":[]})"});
  with_object(params, [](const Object& object) {
    EXPECT_TRUE(is_modern(object));
    const auto client = modern_client(object);
    ASSERT_TRUE(std::holds_alternative<Client>(client));
    EXPECT_EQ(std::get<Client>(client).name, "a");
    EXPECT_EQ(std::get<Client>(client).version, "1");
    EXPECT_TRUE(std::get<Client>(client).can(Ability::kForm));
    EXPECT_FALSE(std::get<Client>(client).can(Ability::kUrl));
  });
}

TEST(Client, NeedNotSayWhatItIsCalled) {
  with_object(meta_of({kVersion, kCapabilities}), [](const Object& object) {
    const auto client = modern_client(object);
    ASSERT_TRUE(std::holds_alternative<Client>(client));
    EXPECT_EQ(std::get<Client>(client).name, "");
  });
}

struct Wrong {
  std::string params;
  bool is_modern;
  Code code;
  std::string why;
};

TEST(Client, OfTheModernEraMustSayVersionAndCapabilities) {
  const std::string other = R"("io.modelcontextprotocol/protocolVersion":"2099-01-01")";
  const std::string number = R"("io.modelcontextprotocol/protocolVersion":20260728)";
  const std::string list = R"("io.modelcontextprotocol/clientCapabilities":[])";
  const std::vector<Wrong> wrong = {
      {"{}", false, Code::kInvalidParams, "protocolVersion"},
      {R"({"_meta":7})", false, Code::kInvalidParams, "protocolVersion"},
      {meta_of({R"("progressToken":1)"}), false, Code::kInvalidParams, "protocolVersion"},
      {meta_of({kCapabilities}), true, Code::kInvalidParams, "protocolVersion"},
      {meta_of({number, kCapabilities}), true, Code::kInvalidParams, "protocolVersion"},
      {meta_of({kVersion}), true, Code::kInvalidParams, "clientCapabilities"},
      {meta_of({kVersion, list}), true, Code::kInvalidParams, "clientCapabilities"},
      {meta_of({other, kCapabilities}), true, Code::kUnsupportedVersion, "version"},
      {meta_of({other}), true, Code::kUnsupportedVersion, "version"},
  };
  for (const Wrong& one : wrong) {
    with_object(one.params, [&](const Object& object) {
      EXPECT_EQ(is_modern(object), one.is_modern) << one.params;
      const auto client = modern_client(object);
      ASSERT_TRUE(std::holds_alternative<Fault>(client)) << one.params;
      EXPECT_EQ(std::get<Fault>(client).code, one.code) << one.params;
      EXPECT_THAT(std::get<Fault>(client).message, HasSubstr(one.why)) << one.params;
    });
  }
}

TEST(Client, OfAVersionThatIsNotSpokenIsToldWhichOnesAre) {
  with_object(meta_of({R"("io.modelcontextprotocol/protocolVersion":"2099-01-01")", kCapabilities}),
              [](const Object& object) {
                EXPECT_EQ(std::get<Fault>(modern_client(object)).data,
                          R"({"supported":["2026-07-28"],"requested":"2099-01-01"})");
              });
}

TEST(Client, OfTheLegacyEraGetsItsVersionOrTheBest) {
  EXPECT_EQ(legacy_version("2025-11-25"), "2025-11-25");
  EXPECT_EQ(legacy_version("2025-06-18"), "2025-06-18");
  EXPECT_EQ(legacy_version("2025-03-26"), "2025-03-26");
  for (const std::string_view other : {"2024-11-05", "2026-07-28", "2099-01-01", ""}) {
    EXPECT_EQ(legacy_version(other), "2025-11-25") << other;
  }
}

}  // namespace
}  // namespace berth::mcp

// SPDX-License-Identifier: Apache-2.0
// Tables of fields as JSON Schemas. What OpenAPI has of it, openapi_test.cc compares with the file.
#include "wire/schema.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::wire {
namespace {

enum class Detail : std::uint8_t { kBrief, kFull };
constexpr auto words_of(Detail) {
  using enum Detail;
  return make_words<Detail>({{kBrief, "brief"}, {kFull, "full"}});
}

struct Part {
  std::string name;
};
constexpr auto fields_of(Is<Part> auto*) {
  return fields({"Part", "A part."}, field("name", &Part::name).required());
}

struct Thing {
  Bytes vram;
  std::optional<Duration> wait;
  Detail detail = Detail::kBrief;
  std::uint16_t count = 1;
  std::vector<DeviceName> devices;
  std::vector<Part> parts;
  std::optional<Part> first;
  bool whole = false;
};
constexpr auto fields_of(Is<Thing> auto*) {
  return fields({"Thing", "A thing."}, field("vram", &Thing::vram, "How much.").required().from(1),
                field("wait", &Thing::wait, "How long.").to(45'000),
                field("detail", &Thing::detail), field("count", &Thing::count).to(8),
                field("devices", &Thing::devices), field("parts", &Thing::parts),
                field("first", &Thing::first, "One of them."), field("whole", &Thing::whole));
}

// Of each field of an object its schema, by its place in the text.
std::string property(const std::string& schema, std::string_view name) {
  const std::string key = '"' + std::string(name) + "\":";
  const std::size_t begin = schema.find(key) + key.size();
  std::size_t end = begin;
  for (int depth = 0; end < schema.size(); ++end) {
    if (schema[end] == '{') ++depth;
    if (schema[end] == '}' && --depth == 0) return schema.substr(begin, end - begin + 1);
  }
  return "none";
}

TEST(Schema, OfArgumentsHasWhatTheirReaderTakes) {
  const std::string schema = schema_of<side::kBody, Thing>(SchemaFor::kTool);
  EXPECT_TRUE(schema.starts_with(R"({"type":"object","description":"A thing.","properties":{)"));
  EXPECT_TRUE(schema.ends_with(R"("required":["vram_bytes"],"additionalProperties":false})"));
  EXPECT_EQ(property(schema, "vram_bytes"),
            R"({"type":"integer","description":"How much.","minimum":1,)"
            R"("maximum":4611686018427387904})");
  EXPECT_EQ(property(schema, "wait_ms"),
            R"({"type":"integer","description":"How long.","minimum":0,"maximum":45000})");
  EXPECT_EQ(property(schema, "detail"), R"({"type":"string","enum":["brief","full"]})");
  EXPECT_EQ(property(schema, "count"), R"({"type":"integer","minimum":0,"maximum":8})");
  EXPECT_EQ(property(schema, "devices"), R"({"type":"array","items":{"anyOf":[{"type":"integer"},)"
                                         R"({"type":"string"}],"description":)"
                                         R"("An index in PCI order, or a UUID."}})");
  EXPECT_EQ(property(schema, "parts"),
            R"({"type":"array","items":{"type":"object","description":"A part.",)"
            R"("properties":{"name":{"type":"string"}},"required":["name"],)"
            R"("additionalProperties":false}})");
  EXPECT_EQ(property(schema, "whole"), R"({"type":"boolean"})");
}

TEST(Schema, OfAnAnswerHasAllFieldsAndSaysWhichMayBeNull) {
  const std::string schema = schema_of<side::kAnswer, Thing>(SchemaFor::kTool);
  EXPECT_TRUE(schema.ends_with(R"("required":["vram_bytes","wait_ms","detail","count","devices",)"
                               R"("parts","first","whole"]})"));
  EXPECT_EQ(property(schema, "wait_ms"),
            R"({"type":["integer","null"],"description":"How long."})");
  EXPECT_EQ(property(schema, "first"),
            R"({"type":["object","null"],"description":"A part.","properties":{"name":)"
            R"({"type":"string"}},"required":["name"]})");
  EXPECT_EQ(property(schema, "detail"), R"({"type":"string","enum":["brief","full"]})");
}

TEST(Schema, OfOpenApiNamesStructsAndLetsNullStandForAbsence) {
  const std::string body = schema_of<side::kBody, Thing>(SchemaFor::kOpenApi);
  EXPECT_EQ(property(body, "first"),
            R"({"anyOf":[{"$ref":"#/components/schemas/Part"},{"type":"null"}],)"
            R"("description":"One of them."})");
  EXPECT_EQ(property(body, "detail"), R"({"type":["string","null"],"enum":["brief","full",null]})");
  EXPECT_TRUE(property(body, "vram_bytes").starts_with(R"({"type":"integer",)"));
}

}  // namespace
}  // namespace berth::wire

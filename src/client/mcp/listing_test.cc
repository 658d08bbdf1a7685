// SPDX-License-Identifier: Apache-2.0
#include "mcp/listing.h"

#include <gtest/gtest.h>

#include <string>

#include "mcp/connection_for_test.h"

namespace berth::mcp {
namespace {

std::string written(void (*write)(JsonWriter&, const Catalog&), const Catalog& catalog) {
  JsonWriter out;
  out.begin_object();
  write(out, catalog);
  return out.end_object().take();
}

Catalog bare_catalog() {
  return {.name = "bare", .version = "1"};
}

TEST(Listing, ToolsStandInTheirOrderWithAllHints) {
  EXPECT_EQ(written(write_tools, small_catalog()),
            R"({"tools":[{"name":"work","title":"Work","description":"Works.",)"
            R"("inputSchema":{"type":"object"},)"
            R"("annotations":{"title":"Work","readOnlyHint":false,"destructiveHint":true,)"
            R"("idempotentHint":false,"openWorldHint":true}},)"
            R"({"name":"look","title":"Look","description":"Looks.",)"
            R"("inputSchema":{"type":"object"},"outputSchema":{"type":"object"},)"
            R"("annotations":{"title":"Look","readOnlyHint":true,"destructiveHint":false,)"
            R"("idempotentHint":true,"openWorldHint":false}}]})");
}

TEST(Listing, ResourcesAndTemplatesSayWhatTheyHave) {
  Catalog catalog = small_catalog();
  catalog.resources.push_back({"x://b", "b", "B", "A b.", "text/plain"});
  catalog.templates.push_back({"x://{c}", "c", "C", "A c.", "text/plain"});
  EXPECT_EQ(written(write_resources, catalog),
            R"({"resources":[{"uri":"x://all","name":"all"},{"uri":"x://b","name":"b",)"
            R"("title":"B","description":"A b.","mimeType":"text/plain"}]})");
  EXPECT_EQ(written(write_templates, catalog),
            R"({"resourceTemplates":[{"uriTemplate":"x://one/{id}","name":"one"},)"
            R"({"uriTemplate":"x://{c}","name":"c","title":"C","description":"A c.",)"
            R"("mimeType":"text/plain"}]})");
}

TEST(Listing, PromptsSayWhichArgumentsTheyMustHave) {
  Catalog catalog = small_catalog();
  catalog.prompts.push_back({"bye", "Bye", "Says it."});
  catalog.prompts[0].arguments[1].description = "In which way.";
  EXPECT_EQ(written(write_prompts, catalog),
            R"({"prompts":[{"name":"greet","arguments":[{"name":"whom","required":true},)"
            R"({"name":"how","description":"In which way.","required":false}]},)"
            R"({"name":"bye","title":"Bye","description":"Says it."}]})");
}

TEST(Listing, CapabilitiesAreThoseOfTheCatalogInThatEra) {
  EXPECT_EQ(written(write_discovery, small_catalog()),
            R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},)"
            R"("resources":{"subscribe":true},"prompts":{},"completions":{}}})");
  Catalog bare = bare_catalog();
  bare.others = {{.name = "a/b", .capability = "a"}, {.name = "a/c", .capability = "a"}};
  EXPECT_EQ(written(write_discovery, bare),
            R"({"supportedVersions":["2026-07-28"],"capabilities":{"a":{}}})");
  bare = bare_catalog();
  EXPECT_EQ(written(write_discovery, bare),
            R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
  bare.templates.push_back({"x://{a}", "a"});
  bare.instructions = "Use it.";
  EXPECT_EQ(written(write_discovery, bare),
            R"({"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}},)"
            R"("instructions":"Use it."})");
}

TEST(Listing, TheLegacyEraHearsOfTheServerOnce) {
  Catalog catalog = small_catalog();
  catalog.title = "Small";
  catalog.instructions = "Use it.";
  JsonWriter out;
  out.begin_object();
  write_initialized(out, catalog, "2025-06-18");
  EXPECT_EQ(out.end_object().take(),
            R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{},)"
            R"("resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{}},)"
            R"("serverInfo":{"name":"small","title":"Small","version":"1.2"},)"
            R"("instructions":"Use it."})");
}

}  // namespace
}  // namespace berth::mcp

// SPDX-License-Identifier: Apache-2.0
#include "cli/render/items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace berth::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPs = R"json({
  "schema": "berth/ps/v1", "time": "2026-02-07T13:15:00.123Z", "items": [
    {"id": 12, "name": "train", "state": "held", "vram_used_bytes": null,
     "vram_granted_bytes": 8589934592,
     "devices": [{"uuid": "GPU-a", "index": 0}, {"uuid": "GPU-b", "index": null}],
     "labels": {"team": "a"}, "flags": ["parked"], "command": "echo \"a\", b"},
    {"id": 13, "name": "=HYPERLINK(\"x\")", "state": "waiting", "vram_used_bytes": -1,
     "vram_granted_bytes": 0, "devices": [], "labels": {}, "flags": [],
     "command": "a\tb\nc", "newer": 1}]})json";
constexpr std::string_view kSample =
    R"({"items":[{"id":0,"name":null,"state":null,"vram_used_bytes":null,)"
    R"("vram_granted_bytes":null,"devices":[],"labels":{},"flags":[],"command":null}]})";

Result<std::string> rendered(const OutputChoice& choice, std::string_view json = kPs) {
  return render_items({.json = json, .items = "items", .sample = kSample}, choice, {});
}

std::string text_of(const Result<std::string>& result) {
  return result.ok() ? *result : "error: " + result.error().message;
}

TEST(Items, CsvIsRfc4180) {
  EXPECT_EQ(text_of(rendered({.format = Format::kCsv})),
            "id,name,state,vram_used_bytes,vram_granted_bytes,devices,labels,flags,command\r\n"
            "12,train,held,,8589934592,0 GPU-b,team=a,parked,\"echo \"\"a\"\", b\"\r\n"
            "13,\"'=HYPERLINK(\"\"x\"\")\",waiting,-1,0,,,,\"a\tb\nc\"\r\n");
}

TEST(Items, TextThatSpreadsheetsWouldExecuteIsQuoted) {
  for (const std::string bad : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1"}) {
    const nlohmann::json item = {{"id", 1}, {"name", bad}};
    const std::string json = nlohmann::json{{"items", {item}}}.dump();
    const auto csv = rendered({.format = Format::kCsv, .fields = {"name"}, .header = false}, json);
    EXPECT_THAT(text_of(csv), HasSubstr("'" + bad));
    const auto tsv = rendered({.format = Format::kTsv, .fields = {"name"}, .header = false}, json);
    EXPECT_EQ(std::string("=+-@\t").find(text_of(tsv).front()), std::string::npos) << bad;
  }
}

TEST(Items, OnATerminalNothingSteersIt) {
  // ESC and BEL, C1's CSI, a mark of direction, a letter without width and one of the tags.
  const std::string_view evil =
      R"({"items":[{"id":1,"name":"a\u001b]0;x\u0007\u009b2J\u202eb\u200bc\udb40\udc41é"}]})";
  const auto shown = [&](Format format, bool on_terminal) {
    return text_of(
        render_items({.json = evil, .items = "items", .sample = evil, .on_terminal = on_terminal},
                     {.format = format, .fields = {"name"}, .header = false}, {.unicode = true}));
  };
  EXPECT_EQ(shown(Format::kCsv, true), "a?]0;x??2J?b?c?é\r\n");
  EXPECT_EQ(shown(Format::kTsv, true), "a?]0;x??2J?b?c?é\n");
  EXPECT_EQ(shown(Format::kNdjson, true),
            "{\"name\":\"a\\u001b]0;x\\u0007\\u009b2J\\u202eb\\u200bc\\udb40\\udc41é\"}\n");
  const auto whole =
      render_items({.json = evil, .items = "items", .sample = evil, .on_terminal = true},
                   {.format = Format::kJson}, {});
  EXPECT_EQ(nlohmann::json::parse(text_of(whole)), nlohmann::json::parse(evil));
  EXPECT_THAT(text_of(whole), HasSubstr("\\u202e"));
  // A pipe has it as it is.
  for (const Format format : {Format::kCsv, Format::kTsv, Format::kNdjson}) {
    EXPECT_THAT(shown(format, false), HasSubstr("\u202e"));
  }
  EXPECT_THAT(shown(Format::kCsv, false), HasSubstr("\033]0;"));
}

TEST(Items, OlderPagesComeFirst) {
  const std::vector<std::string> older = {R"({"items":[{"id":3},{"id":4}],"next":3})",
                                          R"({"items":[{"id":1},{"id":2}]})"};
  const std::string_view last = R"({"schema":"s","items":[{"id":5}],"next":5})";
  const auto shown = [&](Format format, std::optional<std::set<std::uint64_t>> only) {
    return text_of(render_items(
        {.json = last, .older = older, .items = "items", .sample = last, .only = std::move(only)},
        {.format = format}, {}));
  };
  EXPECT_EQ(shown(Format::kIds, {}), "1\n2\n3\n4\n5\n");
  EXPECT_EQ(shown(Format::kIds, {{2, 5}}), "2\n5\n");
  EXPECT_EQ(shown(Format::kJson, {{1, 5}}), R"({"schema":"s","items":[{"id":1},{"id":5}]})"
                                            "\n");
}

TEST(Items, TsvIsOneLineAnItem) {
  EXPECT_EQ(text_of(rendered({.format = Format::kTsv, .fields = {"id", "command"}})),
            "id\tcommand\n12\techo \"a\", b\n13\ta\\tb\\nc\n");
}

TEST(Items, IdsAreNothingButIds) {
  EXPECT_EQ(text_of(rendered({.format = Format::kIds})), "12\n13\n");
  const std::string_view devices = R"({"items":[{"uuid":"GPU-a","index":0}]})";
  EXPECT_EQ(text_of(rendered({.format = Format::kIds}, devices)), "GPU-a\n");
}

TEST(Items, WhereNothingHasAnIdNoneAreAskedFor) {
  const std::string_view findings = R"({"items":[{"check":"driver"}]})";
  const auto ids = render_items({.json = findings, .items = "items", .sample = findings},
                                {.format = Format::kIds}, {});
  EXPECT_THAT(text_of(ids), HasSubstr("error: -q prints ids"));
}

TEST(Items, JsonKeepsWhatIsUnknownAndNull) {
  const auto json = nlohmann::json::parse(text_of(rendered({.format = Format::kJson})));
  EXPECT_EQ(json["schema"], "berth/ps/v1");
  EXPECT_TRUE(json["items"][0]["vram_used_bytes"].is_null());
  EXPECT_EQ(json["items"][1]["newer"], 1);  // Of a newer daemon.
  EXPECT_FALSE(json.contains("simulated"));
}

TEST(Items, JsonSaysThatTheGpuIsSimulated) {
  const auto text =
      render_items({.json = kPs, .items = "items", .sample = kSample, .simulated = true},
                   {.format = Format::kJson}, {});
  EXPECT_EQ(nlohmann::json::parse(text_of(text))["simulated"], true);
}

TEST(Items, FieldsSelectAndOrder) {
  const OutputChoice choice{.format = Format::kNdjson, .fields = {"state", "id"}};
  EXPECT_EQ(text_of(rendered(choice)),
            "{\"state\":\"held\",\"id\":12}\n{\"state\":\"waiting\",\"id\":13}\n");
  EXPECT_EQ(text_of(rendered({.fields = {"id", "vram_used_bytes"}})),
            "id  vram_used_bytes\n12  -\n13  -1\n");
}

TEST(Items, AnUnknownFieldIsNamedWithTheNearest) {
  for (const std::string_view json : {kPs, std::string_view(R"({"items":[]})")}) {
    const auto result = rendered({.format = Format::kCsv, .fields = {"vram_used"}}, json);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Errc::kInvalid);
    EXPECT_THAT(result.error().message, HasSubstr("did you mean vram_used_bytes?"));
  }
}

TEST(Items, NoItemsAreAHeaderAlone) {
  const OutputChoice choice{.format = Format::kCsv, .fields = {"id", "name"}};
  EXPECT_EQ(text_of(rendered(choice, R"({"items":[]})")), "id,name\r\n");
}

TEST(Items, OnlyThoseThatWereAskedFor) {
  const auto result = render_items(
      {.json = kPs, .items = "items", .sample = kSample, .only = std::set<std::uint64_t>{13}},
      {.format = Format::kIds}, {});
  EXPECT_EQ(text_of(result), "13\n");
}

TEST(Items, AnObjectIsItsOwnItem) {
  const std::string_view lease = R"({"id":12,"name":"train"})";
  const auto csv = render_items({.json = lease, .sample = lease}, {.format = Format::kCsv}, {});
  EXPECT_EQ(text_of(csv), "id,name\r\n12,train\r\n");
}

TEST(Items, WhatIsNoJsonIsAnError) {
  for (const std::string_view broken : {"", "{", "[]", "17", "null"}) {
    const auto result = rendered({.format = Format::kJson}, broken);
    ASSERT_FALSE(result.ok()) << broken;
    EXPECT_EQ(result.error().code, Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace berth::cli

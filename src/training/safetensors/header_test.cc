// SPDX-License-Identifier: Apache-2.0
#include "safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using std::string_literals::operator""s;

// Length, JSON and buffer as the specification puts them one after the other.
std::string file_of(const std::string& json, const std::string& buffer) {
  std::string prefix(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    prefix[i] = static_cast<char>(static_cast<unsigned char>(json.size() >> 8 * i & 0xFFU));
  }
  return prefix + json + buffer;
}

std::string trouble_of(const std::string& json, const std::string& buffer = "") {
  const Result<Header> header = parse_file(file_of(json, buffer));
  if (header.ok()) return "accepted";
  EXPECT_EQ(header.error().code, Errc::kCorrupt);
  return header.error().message;
}

// Written down byte by byte from the specification, not by any program: 0x38 = 56 bytes of JSON,
// three of which are padding, and three of buffer.
TEST(SafetensorsHeader, AFileWrittenByHandIsRead) {
  const std::string file =
      "\x38\x00\x00\x00\x00\x00\x00\x00"
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}   "
      "\x01\x02\x03"s;
  ASSERT_EQ(file.size(), 8 + 56 + 3);
  const Result<Header> header = parse_file(file);
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 1);
  const Entry& entry = header->tensors[0];
  EXPECT_EQ(entry.name, "a");
  EXPECT_EQ(entry.dtype, Dtype::kU8);
  EXPECT_THAT(entry.shape, ElementsAre(3));
  EXPECT_EQ(entry.begin, 0);
  EXPECT_EQ(entry.end, 3);
  EXPECT_THAT(header->metadata, IsEmpty());
}

TEST(SafetensorsHeader, WhatIsWrittenIsThatFile) {
  Header header;
  header.tensors = {{.name = "a", .dtype = Dtype::kU8, .shape = {3}}};
  ASSERT_TRUE(lay_out(header.tensors).ok());
  const Result<std::string> head = head_of(header);
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ(*head,
            "\x38\x00\x00\x00\x00\x00\x00\x00"
            "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}   "s);
}

TEST(SafetensorsHeader, EveryDtypeOfTheFormatHasItsSize) {
  // Name and bits as the reference has them (its 0.8), eight elements each.
  const std::vector<std::pair<std::string, std::uint64_t>> all = {
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64},
  };
  EXPECT_EQ(all.size(), kDtypes);
  for (const auto& [name, bits] : all) {
    const std::string json = "{\"t\":{\"dtype\":\"" + name +
                             "\",\"shape\":[8],\"data_offsets\":[0," + std::to_string(bits) + "]}}";
    const Result<Header> header = parse_file(file_of(json, std::string(bits, 'x')));
    ASSERT_TRUE(header.ok()) << name << ": " << header.error().message;
    EXPECT_EQ(name_of(header->tensors[0].dtype), name);
    EXPECT_EQ(bits_of(header->tensors[0].dtype), bits);
  }
  EXPECT_THAT(trouble_of(R"({"t":{"dtype":"F7","shape":[],"data_offsets":[0,1]}})", "x"),
              HasSubstr("no known dtype: \"F7\""));
  EXPECT_THAT(trouble_of(R"({"t":{"dtype":"u8","shape":[],"data_offsets":[0,1]}})", "x"),
              HasSubstr("no known dtype"));
}

TEST(SafetensorsHeader, ScalarsAndEmptyTensorsAreTensors) {
  const Result<Header> header =
      parse_file(file_of(R"({"empty":{"dtype":"F32","shape":[4,0],"data_offsets":[0,0]},)"
                         R"("one":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                         R"("last":{"dtype":"F64","shape":[0],"data_offsets":[4,4]}})",
                         "1234"));
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 3);
  EXPECT_THAT(header->tensors[1].shape, IsEmpty());
  EXPECT_EQ(header->tensors[1].bytes(), 4);
  EXPECT_TRUE(parse_file(file_of("{}", "")).ok());
}

TEST(SafetensorsHeader, SubByteElementsMustFillTheirBytes) {
  EXPECT_EQ(trouble_of(R"({"t":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", "x"),
            "accepted");
  EXPECT_THAT(trouble_of(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "xx"),
              HasSubstr("no whole number of bytes"));
}

TEST(SafetensorsHeader, TheOrderInTheJsonDoesNotMatter) {
  const Result<Header> header =
      parse_file(file_of(R"({"b":{"data_offsets":[1,2],"shape":[1],"dtype":"I8"},)"
                         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                         "xy"));
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[1].name, "b");
}

TEST(SafetensorsHeader, EmptyOnesInOnePlaceAreWrittenAgainAsTheyWere) {
  Header header;
  header.tensors = {{.name = "b", .dtype = Dtype::kF32, .shape = {0}},
                    {.name = "a", .dtype = Dtype::kU8, .shape = {0}}};
  ASSERT_TRUE(lay_out(header.tensors).ok());
  const Result<std::string> head = head_of(header);
  ASSERT_TRUE(head.ok());
  const Result<Header> again = parse_file(*head);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->tensors[0].name, "b");
  const Result<std::string> head_again = head_of(*again);
  ASSERT_TRUE(head_again.ok());
  EXPECT_EQ(*head_again, *head);
}

TEST(SafetensorsHeader, MetadataIsTextToText) {
  const Result<Header> header =
      parse_file(file_of(R"({"__metadata__":{"format":"pt","\u00e4":"\ud83d\ude00\n"}})", ""));
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_THAT(header->metadata, ElementsAre(Pair("format", "pt"), Pair("ä", "😀\n")));
  for (const char* value : {"1", "null", "{}", "[\"a\"]", "true"}) {
    EXPECT_THAT(trouble_of(R"({"__metadata__":{"a":)" + std::string(value) + "}}"),
                HasSubstr("a value that is no text"))
        << value;
  }
  EXPECT_THAT(trouble_of(R"({"__metadata__":[]})"), HasSubstr("no object"));
}

TEST(SafetensorsHeader, NothingStandsThereTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(trouble_of("{\"a\":" + entry + ",\"b\":" + entry + ",\"a\":" + entry + "}"),
              HasSubstr("tensor \"a\" twice"));
  EXPECT_THAT(trouble_of("{\"a\":" + entry + R"(,"\u0061":)" + entry + "}"),
              HasSubstr("tensor \"a\" twice"));
  EXPECT_THAT(trouble_of(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("twice"));
  EXPECT_THAT(trouble_of(R"({"__metadata__":{"k":"1","k":"2"}})"), HasSubstr("holds twice: \"k\""));
  EXPECT_THAT(trouble_of(R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("holds twice: \"dtype\""));
}

TEST(SafetensorsHeader, TheBufferHasNeitherHolesNorOverlaps) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(trouble_of(two("[0,2]", "[2,4]"), "1234"), "accepted");
  EXPECT_THAT(trouble_of(two("[0,2]", "[3,5]"), "12345"), HasSubstr("neither holes nor overlaps"));
  EXPECT_THAT(trouble_of(two("[0,2]", "[1,3]"), "123"), HasSubstr("neither holes nor overlaps"));
  EXPECT_THAT(trouble_of(two("[0,2]", "[0,2]"), "12"), HasSubstr("neither holes nor overlaps"));
  EXPECT_THAT(trouble_of(two("[1,3]", "[3,5]"), "12345"), HasSubstr("neither holes nor overlaps"));
  EXPECT_THAT(trouble_of(two("[0,2]", "[4,2]"), "1234"), HasSubstr("neither holes nor overlaps"));
  EXPECT_THAT(trouble_of(two("[0,2]", "[2,4]"), "12345"), HasSubstr("5 follow the header"));
  EXPECT_THAT(trouble_of(two("[0,2]", "[2,4]"), "123"), HasSubstr("cut short"));
  EXPECT_THAT(trouble_of("{}", "1"), HasSubstr("1 follow the header"));
}

TEST(SafetensorsHeader, ATensorHasTheBytesThatItNeeds) {
  EXPECT_THAT(trouble_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("needs 8 bytes and has 4"));
  // 2^32 * 2^32 elements are 0 in 64 bits, and 2^61 elements of 8 bytes too.
  for (const char* shape : {"[4294967296,4294967296]", "[2305843009213693952,1]"}) {
    EXPECT_THAT(trouble_of(R"({"t":{"dtype":"F64","shape":)" + std::string(shape) +
                           R"(,"data_offsets":[0,0]}})"),
                HasSubstr("more bytes than 64 bits"))
        << shape;
  }
}

TEST(SafetensorsHeader, WhatIsNoJsonOfThisFormIsRefused) {
  const std::vector<std::string> wrong = {
      "",
      " {}",
      "\n{}",
      "[]",
      "{",
      "{}}",
      "{}\n",
      "{},",
      "{\"a\"}",
      "{\"a\":1}",
      "{\"a\":{}}",
      "{\"a\":{\"dtype\":\"U8\"}}",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})",
      R"({"a":{"dtype":"U8","shape":[1,],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},})",
      R"({"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      "{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
      "{\"a\n\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
  };
  for (const std::string& json : wrong) EXPECT_NE(trouble_of(json, "x"), "accepted") << json;
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(
      trouble_of(R"({"a":{"dtype":"U8","shape":)" + many + R"(],"data_offsets":[0,1]}})", "x"),
      HasSubstr("more than 64 dimensions"));
}

TEST(SafetensorsHeader, ALengthThatCannotBeIsRefusedBeforeAnythingIsRead) {
  const auto message = [](std::string_view prefix, std::uint64_t file_bytes) {
    const Result<std::uint64_t> length = json_length(prefix, file_bytes);
    return length.ok() ? "length " + std::to_string(*length) : length.error().message;
  };
  EXPECT_THAT(message("\x02\x00\x00\x00\x00\x00\x00"s, 7), HasSubstr("too few"));
  EXPECT_EQ(message("\x02\x00\x00\x00\x00\x00\x00\x00"s, 10), "length 2");
  EXPECT_THAT(message("\x02\x00\x00\x00\x00\x00\x00\x00"s, 9), HasSubstr("cut short"));
  EXPECT_THAT(message("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, UINT64_MAX), HasSubstr("more than"));
  // 100 MB, and one byte more.
  EXPECT_EQ(message("\x00\xE1\xF5\x05\x00\x00\x00\x00"s, 100'000'008), "length 100000000");
  EXPECT_THAT(message("\x01\xE1\xF5\x05\x00\x00\x00\x00"s, 200'000'000), HasSubstr("allowed"));
}

TEST(SafetensorsHeader, WhatIsWrittenIsAlignedAndReadTheSame) {
  Header header;
  header.metadata = {{"format", "pt"}, {"quote\"", "line\nä"}};
  header.tensors = {{.name = "flags", .dtype = Dtype::kBool, .shape = {3}},
                    {.name = "half", .dtype = Dtype::kBf16, .shape = {5, 1}},
                    {.name = "wide", .dtype = Dtype::kF64, .shape = {2}},
                    {.name = "float \"x\"", .dtype = Dtype::kF32, .shape = {}}};
  ASSERT_TRUE(lay_out(header.tensors).ok());
  const Result<std::string> head = head_of(header);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->size() % 8, 0);
  const Result<Header> again = parse_file(*head + std::string(header.buffer_bytes(), 'x'));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->metadata, header.metadata);
  ASSERT_EQ(again->tensors.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(again->tensors[i].name, header.tensors[i].name);
    EXPECT_EQ(again->tensors[i].shape, header.tensors[i].shape);
    EXPECT_EQ(again->tensors[i].begin * 8 % bits_of(again->tensors[i].dtype), 0);
  }
  EXPECT_EQ(again->tensors[0].name, "wide");
}

TEST(SafetensorsHeader, WhatCannotStandInAFileIsNotWritten) {
  const auto message = [](const Header& header) {
    const Result<std::string> head = head_of(header);
    return head.ok() ? "written" : head.error().message;
  };
  const Entry plain{.name = "a", .dtype = Dtype::kU8, .shape = {0}};
  EXPECT_THAT(message({.tensors = {plain, plain}}), HasSubstr("two tensors"));
  EXPECT_THAT(message({.tensors = {{.name = "\xFF"}}}), HasSubstr("no UTF-8"));
  EXPECT_THAT(message({.tensors = {{.name = "__metadata__"}}}), HasSubstr("called __metadata__"));
  EXPECT_THAT(message({.metadata = {{"a", "\xC3"}}}), HasSubstr("no UTF-8"));
  std::string too_long;
  too_long.resize(100'000'000, 'x');
  EXPECT_THAT(message({.metadata = {{"a", too_long}}}), HasSubstr("allowed"));
  std::vector<Entry> odd = {{.name = "t", .dtype = Dtype::kF6E2M3, .shape = {3}}};
  EXPECT_FALSE(lay_out(odd).ok());
  EXPECT_EQ(message({}), "written");
}

}  // namespace
}  // namespace berth::safetensors

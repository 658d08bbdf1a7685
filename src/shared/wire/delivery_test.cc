// SPDX-License-Identifier: Apache-2.0
#include "wire/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::wire {
namespace {

using testing::HasSubstr;
using testing::Not;

const Delivery kWebhook = {.id = "17-3",
                           .event = "alert.test",
                           .body = "{\"text\":\"80 % of GPU 0\"}",
                           .to = Webhook{.url = "https://hooks.example.org/T0/x?y=%20",
                                         .url_file = "/etc/berth/webhooks/hook",
                                         .secret_file = "/etc/berth/hook.secret",
                                         .allow_private = true}};
const Delivery kCommand = {
    .id = "a_B", .event = "alert", .body = "", .to = AlertCommand{.words = {"mail", "-s", "Ö\n"}}};

std::string why_not(std::string_view line) {
  const auto decoded = decode_delivery(line);
  return decoded.ok() ? "it was taken" : decoded.error().message;
}

TEST(DeliveryLine, ComesBackAsItWas) {
  for (const Delivery& delivery : {kWebhook, kCommand}) {
    const std::string line = encode_delivery(delivery);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto decoded = decode_delivery(line);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, delivery);
  }
  Delivery unsigned_one = kWebhook;
  std::get<Webhook>(unsigned_one.to).secret_file.clear();
  EXPECT_THAT(encode_delivery(unsigned_one), HasSubstr("\"secret_file\":null"));
  EXPECT_EQ(*decode_delivery(encode_delivery(unsigned_one)), unsigned_one);
  Delivery handed_over = unsigned_one;
  std::get<Webhook>(handed_over.to).secret = "hush";
  EXPECT_EQ(*decode_delivery(encode_delivery(handed_over)), handed_over);
}

TEST(DeliveryLine, WhatIsMissingOrWrongIsNamed) {
  EXPECT_THAT(why_not(""), HasSubstr("'kind'"));
  EXPECT_THAT(why_not(R"({"kind":"fax"})"), HasSubstr("webhook or command"));
  EXPECT_THAT(why_not(R"({"kind":"webhook","delivery":"1","event":"a","body":""})"),
              HasSubstr("'url'"));
  EXPECT_THAT(why_not(R"({"kind":"command","delivery":"1","event":"a","body":"","argv":[]})"),
              HasSubstr("'argv'"));
  EXPECT_THAT(why_not(R"({"kind":"command","delivery":"1","event":"a","body":"","argv":[""]})"),
              HasSubstr("'argv'"));
  EXPECT_THAT(
      why_not(R"({"kind":"command","delivery":"1","event":"a","body":"","argv":["a\u0000b"]})"),
      HasSubstr("NUL"));
  EXPECT_THAT(
      why_not(R"({"kind":"command","delivery":"1","event":"a","body":"","argv":["a"],"url":"b"})"),
      HasSubstr("url"));
}

TEST(DeliveryLine, NamesThatGoIntoHeadersCannotEndThem) {
  for (const char* id : {"", "a\\r\\nHost: b", "a.b", "ä"}) {
    const std::string line = std::string(R"({"kind":"command","delivery":")") + id +
                             R"(","event":"alert","body":"","argv":["true"]})";
    EXPECT_THAT(why_not(line), HasSubstr("'delivery'")) << id;
  }
  Delivery delivery = kCommand;
  delivery.event = std::string(65, 'a');
  EXPECT_THAT(why_not(encode_delivery(delivery)), HasSubstr("'event'"));
}

TEST(DeliveryLine, HasBounds) {
  Delivery delivery = kCommand;
  delivery.body = std::string(std::size_t{64} << 10U, 'x');
  EXPECT_TRUE(decode_delivery(encode_delivery(delivery)).ok());
  delivery.body += 'x';
  EXPECT_THAT(why_not(encode_delivery(delivery)), HasSubstr("64 KiB"));
  EXPECT_FALSE(decode_delivery(std::string(limits::kDeliveryMax + 1, ' ')).ok());
}

TEST(DeliveryLine, ErrorsDoNotRepeatTheAddress) {
  EXPECT_THAT(why_not(R"({"kind":"webhook","url":"https://h/secret","url":"https://h/secret"})"),
              Not(HasSubstr("secret\"")));
}

TEST(DeliveryOutcomeLine, ComesBackAsItWas) {
  using Kind = DeliveryOutcome::Kind;
  const DeliveryOutcome full{.kind = Kind::kRetry,
                             .status = 503,
                             .retry_after = seconds(120),
                             .reason = "hooks.example.org answered 503"};
  EXPECT_EQ(encode_outcome(full),
            "{\"outcome\":\"retry\",\"status\":503,\"retry_after_ms\":120000,"
            "\"reason\":\"hooks.example.org answered 503\"}\n");
  for (const DeliveryOutcome& outcome :
       {full, DeliveryOutcome{.kind = Kind::kDelivered, .status = 0},
        DeliveryOutcome{.kind = Kind::kRefused, .reason = "no"}}) {
    EXPECT_EQ(*decode_outcome(encode_outcome(outcome)), outcome);
  }
  EXPECT_FALSE(decode_outcome("").ok());
  EXPECT_FALSE(decode_outcome(R"({"outcome":"lost","reason":""})").ok());
}

TEST(DeliveryOutcomeLine, AReasonIsOneShortLineWhateverACommandWrote) {
  const DeliveryOutcome outcome{.reason = "a\nb\x1b[31m\xC2\x9B\xFF" + std::string(9'999, 'c')};
  const auto decoded = decode_outcome(encode_outcome(outcome));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(decoded->reason.starts_with("a b [31m  \uFFFDc")) << decoded->reason;
  EXPECT_LT(decoded->reason.size(), 600);
}

}  // namespace
}  // namespace berth::wire

// SPDX-License-Identifier: Apache-2.0
#include "wire/delivery.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/letters.h"
#include "model/alert.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr std::size_t kOutcomeMax = 4'096;  // Of the line.

// Control characters become blanks, and what is beyond a few hundred bytes is left out.
std::string one_line(std::string_view text) {
  constexpr std::size_t kReasonMax = 512;
  std::string line(text.substr(0, kReasonMax));
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c < 0x20 || c == 0x7F) line[i] = ' ';
    const bool is_c1 =
        c == 0xC2 && i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) < 0xA0;
    if (is_c1) line[i] = line[i + 1] = ' ';
  }
  return line;
}

// What goes into a header and an environment variable as it is.
void read_name(ObjectReader& reader, std::string_view field, std::string_view besides,
               std::string& out) {
  reader.require(field);
  reader.text(field, out);
  const auto is_fit = [&](char c) { return is_letter_or_digit(c) || besides.contains(c); };
  if (out.empty() || out.size() > limits::kDeliveryIdMax || !std::ranges::all_of(out, is_fit)) {
    reader.refuse(field, "must be 1 to 64 letters, digits and " + std::string(besides));
  }
}

Webhook read_webhook(ObjectReader& reader) {
  Webhook webhook;
  reader.require("url");
  reader.text("url", webhook.url);
  reader.text("url_file", webhook.url_file);
  reader.text("secret_file", webhook.secret_file);
  reader.text("secret", webhook.secret);
  reader.boolean("allow_private", webhook.allow_private);
  return webhook;
}

AlertCommand read_command(ObjectReader& reader) {
  AlertCommand command;
  reader.require("argv");
  reader.words("argv", command.words);
  if (command.words.empty() || command.words.size() > limits::kDeliveryWordsMax ||
      command.words.front().empty()) {
    reader.refuse("argv", "must have 1 to 64 words, the first of them a program");
  }
  const auto has_nul = [](const std::string& word) { return word.contains('\0'); };
  if (std::ranges::any_of(command.words, has_nul)) {
    reader.refuse("argv", "must not hold a NUL character");
  }
  return command;
}

}  // namespace

std::string encode_delivery(const Delivery& delivery) {
  const auto* webhook = std::get_if<Webhook>(&delivery.to);
  JsonWriter writer;
  writer.begin_object().key("kind").text(webhook != nullptr ? "webhook" : "command");
  writer.key("delivery").text(delivery.id).key("event").text(delivery.event);
  writer.key("body").text(delivery.body);
  if (webhook != nullptr) {
    writer.key("url").text(webhook->url).key("url_file").text_or_null(webhook->url_file);
    writer.key("secret_file").text_or_null(webhook->secret_file);
    if (!webhook->secret.empty()) writer.key("secret").text(webhook->secret);
    writer.key("allow_private").boolean(webhook->allow_private);
  } else {
    writer.key("argv").begin_array();
    for (const std::string& word : std::get<AlertCommand>(delivery.to).words) writer.text(word);
    writer.end_array();
  }
  return writer.end_object().take() + "\n";
}

Result<Delivery> decode_delivery(std::string_view line) {
  JsonDocument document(line, {.what = "the delivery", .size_max = limits::kDeliveryMax});
  ObjectReader reader = document.root();
  AlertDelivery::Channel by{};
  reader.require("kind");
  reader.word("kind", by);
  Delivery delivery;
  read_name(reader, "delivery", "-_", delivery.id);
  read_name(reader, "event", "-_.", delivery.event);
  reader.require("body");
  reader.text("body", delivery.body);
  if (delivery.body.size() > limits::kBodyMax) reader.refuse("body", "is longer than 64 KiB");
  if (by == AlertDelivery::Channel::kWebhook) {
    delivery.to = read_webhook(reader);
  } else {
    delivery.to = read_command(reader);
  }
  reader.done();
  TRY_STATUS(document.status());
  return delivery;
}

std::string encode_outcome(const DeliveryOutcome& outcome) {
  DeliveryOutcome told = outcome;
  told.reason = one_line(told.reason);
  return answer_text(told) + "\n";
}

Result<DeliveryOutcome> decode_outcome(std::string_view line) {
  return read_answer<DeliveryOutcome>(line,
                                      {.what = "berth-deliver's answer", .size_max = kOutcomeMax});
}

}  // namespace berth::wire

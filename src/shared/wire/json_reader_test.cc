// SPDX-License-Identifier: Apache-2.0
#include "wire/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace berth::wire {
namespace {

// Beside another reader.
RC_GTEST_PROP(JsonDocument, IsWhatAnotherReaderTakesForAnObject, ()) {
  const auto pieces = *rc::gen::container<std::vector<const char*>>(
      rc::gen::element("{", "}", "[", "]", ",", ":", "\"a\"", "\"b\":", "\"\\u00", "\\n", "\"", "0",
                       "12", "+", "-", ".5", "true", "null", " ", "\t", "\xC3", "\xA4", "\x01"));
  std::string json;
  for (const char* piece : pieces) json += piece;
  json = "{\"a\":" + json + "}";
  const JsonDocument document(json, {.what = "it", .manner = Manner::kLenient, .size_max = 1'000});
  const Status status = document.status();
  const std::string fault = status.ok() ? "" : status.error().message;
  RC_PRE(!fault.ends_with("twice") && !fault.ends_with("levels"));
  RC_ASSERT(status.ok() == nlohmann::json::accept(json));
}

}  // namespace
}  // namespace berth::wire

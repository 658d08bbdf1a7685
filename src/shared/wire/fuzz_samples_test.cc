// SPDX-License-Identifier: Apache-2.0
// Fuzzers begin with a full sample of each body and of each answer, made from its table of fields:
// fuzz/corpus has them, one a file. BERTH_UPDATE=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "base/fields.h"
#include "base/sample_for_test.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/daemon.h"
#include "wire/field_writer.h"
#include "wire/history.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::wire {
namespace {

using AnyAnswer =
    std::variant<LeaseView, LeaseList, LeaseQueue, DeviceList, StatusAnswer, WhyView, FitView,
                 DaemonView, SessionsAnswer, AuditAnswer, Alert, AlertList, AlertTest>;

template <HasFields T>
void expect_kept(const std::string& folder, const std::string& text) {
  const std::string path =
      BERTH_SOURCE_DIR "/fuzz/corpus/" + folder + "/sample_" + std::string(kFieldsOf<T>.noun.name);
  if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string kept(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(kept, text) << path << ": run wire_test with BERTH_UPDATE=1";
}

template <class... Body>
void expect_bodies_kept(const std::variant<Body...>* /*all*/) {
  (expect_kept<Body>("wire_request", encode(full_sample<Body>())), ...);
}

// The first byte says where a stream is split.
template <class... Answer>
void expect_answers_kept(const std::variant<Answer...>* /*all*/) {
  (expect_kept<Answer>("wire_answer", "9" + answer_text(full_sample<Answer>())), ...);
}

TEST(FuzzSamples, AreFullOnesOfTheTables) {
  expect_bodies_kept(static_cast<AnyBody*>(nullptr));
  expect_answers_kept(static_cast<AnyAnswer*>(nullptr));
  expect_kept<ServerHello>("wire_answer", "9" + encode_version({.version = "0.1.0"}));
}

}  // namespace
}  // namespace berth::wire

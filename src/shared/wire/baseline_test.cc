// SPDX-License-Identifier: Apache-2.0
// Texts written for others, compared with files that keep them, so that a change is seen: see
// tests/baseline.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "base/sample_for_test.h"
#include "model/record_json.h"
#include "model/record_samples_for_test.h"
#include "model/view.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/history.h"
#include "wire/lease.h"
#include "wire/request.h"
#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

// The file of tests/baseline has these lines. With BERTH_NEW_BASELINE set it is written anew.
void expect_baseline(const std::string& name, const std::vector<std::string>& lines) {
  const std::string path = BERTH_SOURCE_DIR "/tests/baseline/" + name;
  if (std::getenv("BERTH_NEW_BASELINE") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : lines) file << line << '\n';
    ASSERT_TRUE(file.flush().good()) << path;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  std::vector<std::string> kept;
  for (std::string line; std::getline(file, line);) kept.push_back(line);
  EXPECT_EQ(lines.size(), kept.size()) << path;
  for (std::size_t i = 0; i < lines.size() && i < kept.size(); ++i) {
    EXPECT_EQ(lines[i], kept[i]) << path << ", line " << i + 1;
  }
}

// Journals outlive the program that wrote them: a byte that changes here needs a reason.
TEST(Baseline, RecordsAreWrittenAsTheyWere) {
  std::vector<std::string> lines;
  for (const Record& record : berth::samples::all_facts()) lines.push_back(to_json(record));
  expect_baseline("records.ndjson", lines);
}

template <class... Body>
void add_bodies(std::vector<std::string>& lines, const std::variant<Body...>* /*all*/) {
  (lines.push_back(encode(full_sample<Body>())), ...);
}

// Scripts and programs of others read these.
TEST(Baseline, MessagesAreWrittenAsTheyWere) {
  const Viewer anna = {.user = samples::kAnna, .names = samples::names()};
  const Environment env = {{"BERTH_LEASE", "12"}};
  const Refusal refusal = {RefusalCode::kBusy, "m"};
  std::vector<std::string> lines = {
      encode(samples::request()),
      encode_lease(samples::held(), anna, {.env = &env, .refusal = &refusal}),
      encode_lease(samples::waiting(), anna),
      encode_lease(samples::ended(), anna),
      encode_leases({{}, {samples::held()}, LeaseId{12}}, anna),
      encode_queue({{}, {samples::waiting()}}, anna),
      encode_devices({.items = {samples::device_view(), {}}}, {}),
      encode_status(samples::status(), anna),
      encode_fit(samples::fit(), samples::names()),
      encode_unmanaged({.device = samples::device(1), .unmanaged_process = {.name = "firefox"}},
                       {}),
      encode_alert(samples::alert()),
      encode_alerts({.time = {}, .items = {samples::rule(), {}}}),
      encode_alert_test(
          {.rule = "r", .outcomes = {Delivered{.channel = "events", .outcome = "nobody"}}}),
      encode_version({.version = "0.1.0", .world = "real"}),
      encode_daemon(samples::daemon()),
      encode_past({samples::past(), samples::past_facts()}),
      encode_audit({{{.by = samples::kAnna, .lease = LeaseId{1}}, {}}, samples::past_facts()}),
      encode_sessions({samples::sessions(), samples::past_facts()}),
  };
  LeaseView lease = samples::held();
  lease.flags = {true, true, true, true, true, true, true, true, true, true, true, true};
  for (int i = 0; i <= static_cast<int>(EndResult::kDetached); ++i) {
    lease.result = static_cast<EndResult>(i);
    lines.push_back(encode_lease(lease, anna));
  }
  WhyView why = samples::why();
  for (int i = 0; i <= static_cast<int>(WhyView::Reason::kNotReturned); ++i) {
    why.reason = static_cast<WhyView::Reason>(i);
    lines.push_back(encode_why(why, samples::names()));
  }
  for (int i = 0; i <= static_cast<int>(Remedy::Kind::kReleaseLease); ++i) {
    why.remedies[0].kind = static_cast<Remedy::Kind>(i);
    lines.push_back(encode_why(why, samples::names()));
  }
  for (int i = 0; i <= static_cast<int>(Halt::Reason::kNotReturned); ++i) {
    why.halt = samples::halt();
    why.halt->reason = static_cast<Halt::Reason>(i);
    lines.push_back(encode_why(why, samples::names()));
  }
  for (const std::string_view word : error_words()) {
    lines.push_back(encode_error({std::string(word), "m"}));
  }
  add_bodies(lines, static_cast<AnyBody*>(nullptr));
  expect_baseline("messages.ndjson", lines);
}

}  // namespace
}  // namespace berth::wire

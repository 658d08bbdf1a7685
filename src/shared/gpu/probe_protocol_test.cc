// SPDX-License-Identifier: Apache-2.0
#include "gpu/probe_protocol.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/sample_for_test.h"

namespace berth::gpu {
namespace {

ProcessSample some_process(std::int32_t pid) {
  return {.process = {.pid = pid, .start_ticks = 812},
          .used = mib(300),
          .user = {1000},
          .name = "python",
          .env_lease = Handle{1, 2},
          .ancestors = {{.pid = 700, .start_ticks = 3}, {.pid = 1, .start_ticks = 0}}};
}

Answer some_answer() {
  Answer answer{.number = 7};
  answer.sample.simulated = true;
  answer.sample.driver_version = "575.57";
  answer.sample.devices = {{.id = {1, 2},
                            .index = 0,
                            .model = "RTX 5080",
                            .pci_bus = "00000000:01:00.0",
                            .capacity = gib(16),
                            .used = gib(2),
                            .figures = full_sample<DeviceFigures>(),
                            .processes = std::vector{some_process(4711), some_process(4712)}},
                           {.id = {3, 4}, .index = 1, .lost = true, .trouble = "gone"},
                           {.index = 2, .asleep = true}};
  answer.sample.devices[0].processes->at(1).used.reset();
  answer.sample.devices[0].processes->at(1).alive = false;
  answer.sample.devices[0].processes->at(1).env_lease.reset();
  return answer;
}

// Fields are compared one by one: the structs of the model have no comparison of their own.
void expect_same(const ProcessSample& a, const ProcessSample& b) {
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.used, b.used);
  EXPECT_EQ(a.gpu_utilization, b.gpu_utilization);
  EXPECT_EQ(a.user, b.user);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.env_lease, b.env_lease);
  EXPECT_EQ(a.ancestors, b.ancestors);
  EXPECT_EQ(a.alive, b.alive);
}

void expect_same(const DeviceFigures& a, const DeviceFigures& b) {
  for_each_field<DeviceFigures, side::kAnswer>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    EXPECT_EQ(kField.place.get(a), kField.place.get(b)) << kField.wire.text();
  });
}

void expect_same(const DeviceSample& a, const DeviceSample& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.pci_bus, b.pci_bus);
  EXPECT_EQ(a.lost, b.lost);
  EXPECT_EQ(a.asleep, b.asleep);
  EXPECT_EQ(a.trouble, b.trouble);
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.used, b.used);
  expect_same(a.figures, b.figures);
  ASSERT_EQ(a.processes.has_value(), b.processes.has_value());
  if (!a.processes) return;
  ASSERT_EQ(a.processes->size(), b.processes->size());
  for (std::size_t i = 0; i < a.processes->size(); ++i) {
    expect_same(a.processes->at(i), b.processes->at(i));
  }
}

TEST(ProbeProtocol, AQuestionComesBack) {
  const Question sent{.number = 42,
                      .known = {{{1, 2}, 0, "RTX 5080", "00000000:01:00.0"}, {{3, 4}, 7, "", ""}}};
  const Result<Question> question = decode_question(encode(sent));
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->number, 42U);
  EXPECT_EQ(question->known, sent.known);
}

TEST(ProbeProtocol, AnAnswerComesBackWithUnknownsUnknown) {
  const Answer sent = some_answer();
  const Result<Answer> got = decode_answer(encode(sent));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->number, sent.number);
  EXPECT_EQ(got->sample.simulated, true);
  EXPECT_EQ(got->sample.driver_version, "575.57");
  EXPECT_EQ(got->sample.trouble, "");
  ASSERT_EQ(got->sample.devices.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) expect_same(got->sample.devices[i], sent.sample.devices[i]);
}

TEST(ProbeProtocol, ALineIsOneLineWhateverAProcessIsCalled) {
  Answer sent = some_answer();
  sent.sample.devices[0].processes->at(0).name = std::string("a\n\"}\xff\x00z", 7);
  const std::string line = encode(sent);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(decode_answer(line).ok());
}

TEST(ProbeProtocol, WhatIsTooMuchIsLeftOut) {
  Answer sent;
  sent.sample.devices.resize(kDevicesMax + 10);
  for (std::uint32_t i = 0; i < sent.sample.devices.size(); ++i) {
    sent.sample.devices[i].id = {1, i + 1};
  }
  sent.sample.devices[0].processes.emplace();
  for (std::size_t i = 0; i < kProcessesMax + 10; ++i) {
    ProcessSample process = some_process(static_cast<std::int32_t>(i + 1));
    process.ancestors.resize(kAncestorsMax + 10, {.pid = 4194303, .start_ticks = ~0ULL});
    sent.sample.devices[0].processes->push_back(process);
  }
  const std::string line = encode(sent);
  EXPECT_LE(line.size(), kAnswerMax);
  const Result<Answer> got = decode_answer(line);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->sample.devices.size(), kDevicesMax);
  EXPECT_EQ(got->sample.devices[0].processes->size(), kProcessesMax);
  EXPECT_EQ(got->sample.devices[0].processes->at(0).ancestors.size(), kAncestorsMax);
}

// `good` with its first `from` replaced by `to`.
std::string changed(std::string good, const std::string& from, const std::string& to) {
  const std::size_t at = good.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return good.replace(at, from.size(), to);
}

TEST(ProbeProtocol, AFieldThatIsNotAsItMustBeSpoilsTheLine) {
  const std::string good = encode(some_answer());
  const std::pair<const char*, const char*> changes[] = {
      {"\"number\":7", "\"number\":-7"},
      {"\"number\":7", "\"number\":\"7\""},
      {"\"number\":7", "\"number\":7.5"},
      {"\"number\":7", "\"humber\":7"},
      {"\"simulated\":true", "\"simulated\":1"},
      {"[4711,812,", "[9999999999,812,"},
      {"[4711,812,", "[4712,812,"},
      {"[4711,812,", "[4711,-1,"},
      {"[4711,812,", "[{},"},
      {"\",true,", "\",null,"},
      {"700,3,1,0]", "700,3,1]"},
      {"700,3,1,0]", "700,3,1,[]]"},
      {"700,3,1,0]", "]"},
      {"[4711,314572800", "[1,314572800"},
      {"[4711,314572800", "[4711,4711,314572800"},
      {"[4711,314572800", "[4711,\"much\""},
      {"\"l_", "\"x_"},
      {"\"uuid\":\"GPU-", "\"uuid\":\"CPU-"},
      {"\"index\":0", "\"index\":4294967296"},
      {"\"capacity\":17179869184", "\"capacity\":null"},
      {"\"used\":2147483648", "\"used\":\"much\""},
      {"\"devices\":[{", "\"devices\":[7,{"},
  };
  for (const auto& [from, to] : changes) {
    const Result<Answer> got = decode_answer(changed(good, from, to));
    ASSERT_FALSE(got.ok()) << from << " -> " << to;
    EXPECT_EQ(got.error().code, Errc::kCorrupt);
  }
  Answer twice = some_answer();
  twice.sample.devices[1].id = twice.sample.devices[0].id;
  EXPECT_FALSE(decode_answer(encode(twice)).ok());
}

TEST(ProbeProtocol, AnyBytesAreReadOrRefused) {
  const std::string good = encode(some_answer());
  for (std::size_t length = 0; length < good.size() - 1; ++length) {
    EXPECT_FALSE(decode_answer(std::string_view(good).substr(0, length)).ok());
  }
  std::mt19937 random(3);
  for (int round = 0; round < 2'000; ++round) {
    std::string line = good;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
      line[random() % line.size()] = static_cast<char>(random());
    }
    (void)decode_answer(line);
    (void)decode_question(line);
  }
  EXPECT_FALSE(decode_answer(std::string(100'000, '[')).ok());
  EXPECT_FALSE(decode_answer(std::string(kAnswerMax + 1, ' ')).ok());
  const std::string question = encode({.number = 1, .known = {{.id = {1, 2}}}});
  for (std::size_t length = 0; length < question.size() - 1; ++length) {
    EXPECT_FALSE(decode_question(std::string_view(question).substr(0, length)).ok());
  }
  EXPECT_FALSE(decode_question(changed(question, "\"index\":0", "\"index\":256")).ok());
  EXPECT_FALSE(decode_question(changed(question, "\"GPU-", "\"CPU-")).ok());
  EXPECT_FALSE(decode_question("").ok());
  EXPECT_FALSE(decode_question("{}").ok());
}

}  // namespace
}  // namespace berth::gpu

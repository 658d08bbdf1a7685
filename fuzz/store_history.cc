// SPDX-License-Identifier: Apache-2.0
// The file of the past with anything in it: damaged by a disk, or another's. A daemon starts with
// it, moves it aside, or says why not; and what it keeps in it from then on is there again. The
// input says what is written over a good one, or is a file itself.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "bytes.h"
#include "fuzz.h"
#include "scratch.h"
#include "store/history_file.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileMax = std::size_t{1} << 20U;
constexpr UnixMs kWall = {1'770'470'100'000};

// Emptied each time.
const std::string& directory() {
  return berth::fuzz::scratch_directory();
}

std::string path() {
  return directory() + "/history.db";
}

Result<HistoryFile> open(std::vector<std::string>& findings) {
  return HistoryFile::open({.path = path(), .wall = kWall, .network_file_system = true}, findings);
}

AlertDelivery delivery(std::uint64_t number) {
  return {.number = number,
          .id = "id-" + std::to_string(number),
          .rule = "told",
          .channel = AlertDelivery::Channel::kWebhook,
          .body = R"({"text":"a"})",
          .created = kWall,
          .next = kWall,
          .attempts = 1};
}

// Made once.
const std::string& good() {
  static const std::string kMade = [] {
    std::vector<std::string> findings;
    {
      auto file = open(findings);
      CHECK(file.ok() && findings.empty());
      const std::vector<AlertDelivery> put = {delivery(1), delivery(2)};
      CHECK(file->keep({.put = put, .drop = {}}).ok());
    }
    std::ifstream file(path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }();
  return kMade;
}

void use(HistoryFile& file) {
  if (const auto kept = file.kept(); !kept.ok()) CHECK(!kept.error().message.empty());
  if (const auto audit = file.audit({}); !audit.ok()) CHECK(!audit.error().message.empty());
  const std::vector<AlertDelivery> put = {delivery(7)};
  if (!file.keep({.put = put, .drop = {}}).ok()) return;
  const auto kept = file.kept();
  if (!kept.ok()) return;
  bool found = false;
  for (const AlertDelivery& message : kept->messages) {
    if (message.number != 7) continue;
    found = true;
    CHECK(message.id == "id-7" && message.rule == "told" && message.body == put.front().body);
  }
  CHECK(found);
}

void run(fuzz::Bytes input) {
  std::string text = good();
  for (const auto& entry : fs::directory_iterator(directory())) fs::remove_all(entry.path());
  const auto how = input.number<std::uint8_t>();
  if (how % 4U == 0) {
    text = input.text(kFileMax);
  } else {
    input.scribble(text.data(), how % 4U == 1 ? std::size_t{512} : text.size(), 12);
  }
  std::ofstream(path(), std::ios::binary) << text;
  std::vector<std::string> findings;
  auto file = open(findings);
  if (!file.ok()) {
    CHECK(!file.error().message.empty());
    return;
  }
  // What was there is there still: as it was, or beside it.
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(directory())) files += entry.is_regular_file();
  CHECK(findings.empty() || files > 1 || text.empty());
  use(*file);
}

}  // namespace
}  // namespace berth::store

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::store::run({data, size});
  return 0;
}

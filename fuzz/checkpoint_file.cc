// SPDX-License-Identifier: Apache-2.0
// A checkpoint of which a disk has changed some bytes, or its end: it is what was saved, or it is
// not taken, and an older one that is whole is. The input says which bytes, or is a file itself.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "berth/checkpoint.h"
#include "bytes.h"
#include "fuzz.h"
#include "scratch.h"

namespace berth::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileMax = std::size_t{1} << 20U;
constexpr std::array<float, 6> kOlder = {1, 2, 3, 4, 5, 6};
constexpr std::array<float, 6> kNewer = {6, 5, 4, 3, 2, 1};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Place {
  std::string directory;
  std::string older;
  std::string newer;
  std::string newer_content;
};

std::string save(Store& store, std::uint64_t step, const std::array<float, 6>& values) {
  Tensor tensor;
  tensor.name = "weights";
  tensor.dtype = Dtype::kF32;
  tensor.shape = {2, 3};
  tensor.data = values.data();
  tensor.bytes = sizeof values;
  const auto saved =
      store.save({.step = step, .state = R"({"cursor":7})", .tensors = {std::move(tensor)}});
  CHECK(saved.ok());
  return saved->path;
}

// Made once, for the life of the process.
const Place& place() {
  static const Place kMade = [] {
    Place place;
    place.directory = berth::fuzz::scratch_directory();
    Options options;
    options.directory = place.directory;
    auto store = Store::open(options);
    CHECK(store.ok());
    place.older = save(*store, 1, kOlder);
    place.newer = save(*store, 2, kNewer);
    place.newer_content = content(place.newer);
    return place;
  }();
  return kMade;
}

bool is(const Loaded& loaded, const std::array<float, 6>& values) {
  const Tensor* tensor = loaded.find("weights");
  return tensor != nullptr && tensor->bytes == sizeof values &&
         std::equal(values.begin(), values.end(), static_cast<const float*>(tensor->data)) &&
         loaded.state() == R"({"cursor":7})";
}

void run(fuzz::Bytes input) {
  const auto how = input.number<std::uint8_t>();
  std::string text = place().newer_content;
  if (how % 4U == 0) {
    text = input.text(kFileMax);
  } else {
    input.scribble(text.data(), text.size(), 8);
    if (how % 4U == 1) text.resize(input.number<std::uint16_t>() % (text.size() + 64));
  }
  std::ofstream(place().newer, std::ios::binary | std::ios::trunc) << text;
  const auto loaded = load_newest(place().directory);
  CHECK(loaded.ok());
  if (loaded->path() == place().older) {
    CHECK(loaded->step() == 1 && is(*loaded, kOlder));
    CHECK(loaded->passed_over().size() == 1);
    return;
  }
  // Of a file that is none of ours nobody says what it held.
  if (how % 4U != 0) CHECK(loaded->step() == 2 && is(*loaded, kNewer));
}

}  // namespace
}  // namespace berth::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::checkpoint::run({data, size});
  return 0;
}

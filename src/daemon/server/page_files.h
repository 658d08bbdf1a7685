// SPDX-License-Identifier: Apache-2.0
// The files of the page, web/page, as they were when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace berth::server {

struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view text;
  std::string_view gzip;  // The same, compressed.
};
std::span<const PageFile> page_files();

}  // namespace berth::server

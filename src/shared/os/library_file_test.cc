// SPDX-License-Identifier: Apache-2.0
#include "os/library_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"

namespace berth::os {
namespace {

std::string library_with(void* function) {
  Dl_info found{};
  EXPECT_NE(::dladdr(function, &found), 0);
  const Result<std::string> file = read_file(found.dli_fname, std::size_t{64} << 20U);
  EXPECT_TRUE(file.ok());
  return file.ok() ? *file : "";
}

TEST(LibraryFile, DefinesWhatOthersFindInIt) {
  const std::string library = library_with(reinterpret_cast<void*>(&::getenv));
  EXPECT_TRUE(defines_symbol(library, "getenv"));
  EXPECT_FALSE(defines_symbol(library, "geten"));
  EXPECT_FALSE(defines_symbol(library, "__tls_get_addr")) << "it needs that of the linker";
  EXPECT_FALSE(defines_symbol(library, "there_is_none"));
}

TEST(LibraryFile, WhatIsCutOffOrNoLibraryDefinesNothing) {
  const std::string library = library_with(reinterpret_cast<void*>(&::getenv));
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, library.size() / 2})
    EXPECT_FALSE(defines_symbol(library.substr(0, size), "there_is_none")) << size;
  EXPECT_FALSE(defines_symbol("#!/bin/sh\n", "getenv"));
}

TEST(LibraryFile, IsFoundAsTheLinkerFindsIt) {
  std::string pattern = "/tmp/berth-library-file-XXXXXX";
  const std::string directory = ::mkdtemp(pattern.data());
  std::filesystem::create_directories(directory + "/lib64");
  for (const char* name : {"/own.so", "/lib64/other.so"}) std::ofstream(directory + name) << "x";
  EXPECT_EQ(find_preloaded(directory + "/own.so", ""), directory + "/own.so");
  EXPECT_EQ(find_preloaded("own.so", "/nowhere:" + directory), directory + "/own.so");
  EXPECT_EQ(find_preloaded("own.so", ""), std::nullopt);
  EXPECT_EQ(find_preloaded(directory + "/$LIB/other.so", ""), directory + "/lib64/other.so");
  EXPECT_EQ(find_preloaded(directory + "/none.so", directory), std::nullopt);
  EXPECT_TRUE(find_preloaded("libc.so.6", "").has_value());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace berth::os

// SPDX-License-Identifier: Apache-2.0
#include "os/program_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace berth::os {
namespace {

namespace fs = std::filesystem;
using Kind = ProgramFile::Kind;

class ProgramFileTest : public ::testing::Test {
 protected:
  ProgramFileTest() {
    std::string pattern = "/tmp/berth-program-file-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ProgramFileTest() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& content) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), 0755);
    return path;
  }
  static std::string whole(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // With another name in the place of one that this program has to do with.
  static std::string with(std::string content, const std::string& name, const std::string& other) {
    const std::size_t at = content.find('\0' + name + '\0');
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? content : content.replace(at + 1, other.size(), other);
  }
  Kind kind_with(std::string content, std::size_t at, char value) const {
    content[at] = value;
    const Result<ProgramFile> found = look_at_program(file("changed", content));
    return found.ok() ? found->kind : Kind::kUnknown;
  }

  std::string directory_;
};

TEST_F(ProgramFileTest, ThisTestIsADynamicProgram) {
  const Result<ProgramFile> own = look_at_program("/proc/self/exe");
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->kind, Kind::kDynamic);
  EXPECT_FALSE(own->gains_rights);
#ifdef __SANITIZE_THREAD__
  EXPECT_TRUE(own->checks_threads);
#else
  EXPECT_FALSE(own->checks_threads);
#endif
}

TEST_F(ProgramFileTest, AProgramThatCallsDlmopenIsTold) {
  const std::string own = whole("/proc/self/exe");
  EXPECT_FALSE(look_at_program(file("own", own))->makes_namespaces);
  EXPECT_TRUE(look_at_program(file("program", with(own, "mkdtemp", "dlmopen")))->makes_namespaces);
}

TEST_F(ProgramFileTest, AProgramWithThreadSanitizersRunTimeIsTold) {
  const std::string own = whole("/proc/self/exe");
  const std::string other = with(own, "__cxa_atexit", {"__tsan_init\0", 12});
  EXPECT_TRUE(look_at_program(file("program", other))->checks_threads);
}

TEST_F(ProgramFileTest, AScriptIsItsInterpreter) {
  const std::string script = file("script", "#! /proc/self/exe -x\n");
  const std::string outer = file("outer", "#!" + script + "\n");
  for (const std::string& name : {script, outer}) {
    const Result<ProgramFile> found = look_at_program(name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->path, "/proc/self/exe");
    EXPECT_EQ(found->kind, Kind::kDynamic);
  }
}

TEST_F(ProgramFileTest, OtherMachinesAndRubbishAreTold) {
  const std::string own = whole("/proc/self/exe");
  EXPECT_EQ(kind_with(own, 4, 1), Kind::kOtherMachine);    // 32 bits.
  EXPECT_EQ(kind_with(own, 18, 40), Kind::kOtherMachine);  // For ARM.
  EXPECT_EQ(kind_with(own, 0, 'x'), Kind::kUnknown);
  EXPECT_EQ(kind_with(own.substr(0, 40), 39, 0), Kind::kUnknown);
}

TEST_F(ProgramFileTest, ATextWithoutAnInterpreterIsTheShells) {
  for (const char* text : {"echo hello\n", ""}) {
    const Result<ProgramFile> found = look_at_program(file("text", text));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->path, "/bin/sh");
    EXPECT_EQ(found->kind, Kind::kDynamic);
  }
}

TEST_F(ProgramFileTest, TheDynamicLinkerStartsDynamicPrograms) {
  const std::string own = whole("/proc/self/exe");
  const std::string linker = own.substr(own.find("/lib64/ld-linux")).c_str();
  const Result<ProgramFile> found = look_at_program(linker);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kind, Kind::kDynamic);
}

TEST_F(ProgramFileTest, AnotherDynamicLinkerIsTold) {
  std::string content = whole("/proc/self/exe");
  const std::size_t at = content.find("/lib64/ld-linux");
  ASSERT_NE(at, std::string::npos);
  content.replace(at, 16, "/lib/ld-musl-x86");
  const Result<ProgramFile> found = look_at_program(file("musl", content));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kind, Kind::kOtherLibrary);
}

TEST_F(ProgramFileTest, ANameIsLookedForInPath) {
  EXPECT_TRUE(find_program("sh").ok());
  EXPECT_FALSE(find_program("there-is-no-such-program").ok());
  EXPECT_FALSE(find_program("").ok());
  EXPECT_FALSE(look_at_program(directory_ + "/missing").ok());
}

}  // namespace
}  // namespace berth::os

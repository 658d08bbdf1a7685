// SPDX-License-Identifier: Apache-2.0
#include "guard/elf.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace berth::guard {
namespace {

int a_function_of_ours() {
  return 1;
}

TEST(Elf, FindsTheFunctionThatTheLoaderFinds) {
  const Object library = object_named("libc.so");
  ASSERT_TRUE(library.found());
  for (const char* name : {"getenv", "strtol", "qsort"}) {
    EXPECT_EQ(symbol_in(library, name), ::dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5")) << name;
  }
}

TEST(Elf, AFunctionThatIsNotThereIsNotFound) {
  const Object library = object_named("libc.so");
  for (const char* name : {"cuMemAlloc_v2", "", "getenv_", "geten"}) {
    EXPECT_EQ(symbol_in(library, name), nullptr) << name;
  }
  EXPECT_EQ(symbol_in(library, "environ"), nullptr);  // No function.
}

TEST(Elf, AnAddressTellsItsLibrary) {
  const Object ours = object_at(reinterpret_cast<const void*>(&a_function_of_ours));
  // One that no sanitizer puts itself before.
  const Object library = object_at(::dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  ASSERT_TRUE(ours.found());
  ASSERT_TRUE(library.found());
  EXPECT_TRUE(is_named(library, "libc.so"));
  EXPECT_FALSE(is_named(ours, "libc.so"));
  EXPECT_FALSE(object_at(nullptr).found());
}

TEST(Elf, SearchesInTheOrderOfTheLoader) {
  const Object ours = object_at(reinterpret_cast<const void*>(&a_function_of_ours));
  void* const dlsym = symbol_after(ours.dynamic, "dlsym");
  EXPECT_NE(dlsym, nullptr);
  const Object theirs = object_at(dlsym);
  EXPECT_EQ(symbol_after(theirs.dynamic, "qsort"), nullptr);  // It, and nothing behind it.
  EXPECT_EQ(symbol_after(nullptr, "qsort"), nullptr);
}

// As if its tables said that they lie where it does not.
TEST(Elf, NothingIsReadOutsideOfALibrary) {
  Object library = object_named("libc.so");
  library.high = library.low + 64;
  EXPECT_EQ(symbol_in(library, "getenv"), nullptr);
  EXPECT_FALSE(is_named(library, "libc.so"));
  EXPECT_FALSE(needs(library, "ld-linux"));
}

TEST(Elf, ALibraryThatIsNotLoadedIsNotFound) {
  EXPECT_FALSE(object_named("libcuda.so").found());
}

}  // namespace
}  // namespace berth::guard

# SPDX-License-Identifier: Apache-2.0
# The libraries of Dependencies.cmake out of a bundle that `./dev bundle` has made, under the names
# of their own packages: for a machine that has a compiler and none of the packages. Only those that
# GPU_TESTS_ONLY needs.
if(NOT GPU_TESTS_ONLY)
  message(FATAL_ERROR "a bundle has only what GPU_TESTS_ONLY needs")
endif()
if(NOT EXISTS ${BUNDLE}/MANIFEST)
  message(FATAL_ERROR "there is no bundle in ${BUNDLE}: ./dev bundle makes one, on a machine that "
          "has the packages")
endif()

# As with the packages, whose headers every compiler finds by itself.
include_directories(SYSTEM ${BUNDLE}/include)

# bundled(NAME [DEFINITIONS d...] [LINKS target-or-archive...])
function(bundled name)
  cmake_parse_arguments(arg "" "" "DEFINITIONS;LINKS" ${ARGN})
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_compile_definitions(${name} INTERFACE ${arg_DEFINITIONS})
  target_link_libraries(${name} INTERFACE ${arg_LINKS})
endfunction()

bundled(Boost::headers)
bundled(CLI11::CLI11)
bundled(fmt::fmt-header-only DEFINITIONS FMT_HEADER_ONLY=1)
bundled(nlohmann_json::nlohmann_json)
bundled(spdlog::spdlog_header_only DEFINITIONS SPDLOG_FMT_EXTERNAL LINKS fmt::fmt-header-only)
bundled(tomlplusplus::tomlplusplus)
bundled(GTest::gtest LINKS ${BUNDLE}/lib/libgtest.a Threads::Threads)
bundled(GTest::gmock LINKS ${BUNDLE}/lib/libgmock.a GTest::gtest)
bundled(GTest::gtest_main LINKS ${BUNDLE}/lib/libgtest_main.a GTest::gtest)
set(SQLITE_ARCHIVE ${BUNDLE}/lib/libsqlite3.a)

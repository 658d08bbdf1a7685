# SPDX-License-Identifier: Apache-2.0
# Every library from outside, the target to link, and the decision that let it in; without a number
# that is docs/decisions/0022-dependencies.md. Another one needs a record of its own.
find_package(Threads REQUIRED)              # Threads::Threads
if(BUNDLE)
  include(cmake/Bundle.cmake)
else()
  find_package(Boost 1.81 REQUIRED)         # Boost::headers (Asio and Beast, header-only)
  find_package(CLI11 REQUIRED)              # CLI11::CLI11
  find_package(fmt REQUIRED)                # fmt::fmt-header-only
  find_package(nlohmann_json REQUIRED)      # nlohmann_json::nlohmann_json
  find_package(spdlog REQUIRED)             # spdlog::spdlog_header_only
  find_package(tomlplusplus REQUIRED)       # tomlplusplus::tomlplusplus
  if(BUILD_TESTING)
    find_package(rapidcheck REQUIRED)       # rapidcheck
  endif()
  # SQLite is linked statically: a lease journal is not at the mercy of a library upgraded beneath
  # a running daemon.
  find_library(SQLITE_ARCHIVE libsqlite3.a REQUIRED)
endif()
add_library(sqlite INTERFACE)
target_link_libraries(sqlite INTERFACE ${SQLITE_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)

if(NOT GPU_TESTS_ONLY)
  find_package(CURL 7.88 REQUIRED)          # CURL::libcurl (0045)
  find_package(OpenSSL 3.0 REQUIRED)        # OpenSSL::Crypto (0045)
  # sd-bus, of libsystemd (0044).
  find_path(SYSTEMD_HEADERS systemd/sd-bus.h REQUIRED)
  find_library(SYSTEMD_LIBRARY systemd REQUIRED)
  add_library(systemd INTERFACE)
  target_include_directories(systemd SYSTEM INTERFACE ${SYSTEMD_HEADERS})
  target_link_libraries(systemd INTERFACE ${SYSTEMD_LIBRARY})
endif()

# libtorch takes a minute to compile against, and not every machine has it: only the preset `train`
# builds what needs it (0058), and pcre2.
option(TRAINER "Build what needs libtorch too: berth-train" OFF)
if(TRAINER)
  find_package(Torch REQUIRED)
  add_library(libtorch INTERFACE)
  target_include_directories(libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_compile_options(libtorch INTERFACE -fopenmp)  # Its parallel loops are in its headers.
  target_link_options(libtorch INTERFACE -fopenmp)
  target_link_libraries(libtorch INTERFACE ${TORCH_LIBRARIES})
  # Its headers of several processes need those of Gloo, which do not come with every libtorch.
  # Those from elsewhere may be of another version.
  find_path(GLOO_HEADERS gloo/algorithm.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(GLOO_HEADERS)
    target_compile_definitions(libtorch INTERFACE USE_C10D_GLOO)
  endif()
  if(TARGET torch_cuda)
    target_compile_definitions(libtorch INTERFACE TORCH_HAS_CUDA)
  endif()
  find_library(pcre2_library pcre2-8 HINTS ${BUNDLE}/lib REQUIRED)
  add_library(pcre2 INTERFACE)
  target_link_libraries(pcre2 INTERFACE ${pcre2_library})
  target_compile_definitions(pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8)
endif()

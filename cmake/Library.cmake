# SPDX-License-Identifier: Apache-2.0
# How the folders of src/ become libraries, programs and tests. Sources are globbed, never listed
# by hand: a file that exists is built, a test that exists is built and run.
if(NOT BUNDLE)
  find_package(GTest REQUIRED)
endif()
if(BUILD_TESTING)
  include(GoogleTest)
endif()
# What only tests run is not in the default target: `./dev test` builds `tests` too.
add_custom_target(tests)
function(only_for_tests)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(tests ${ARGN})
endfunction()
add_custom_target(tsan_tests)  # What `./dev ci` builds and runs under ThreadSanitizer.
add_custom_target(headers_alone)  # Each header compiles without another before it.

# Note [Joined sources]: most of a source file's compile time goes into what it includes. Presets
# that build the whole tree compile the files of a folder several at a time, as one that includes
# them. So what neighbours keep to themselves, in anonymous namespaces, must differ in name. That
# each file and header compiles alone, `./dev tidy` and the other presets show.
option(JOIN_SOURCES "Compile several source files of a folder at a time" OFF)
set(JOINED_BYTES_MAX 60000)

# join_sources(LIST ROOT NAME): replaces the files in the variable LIST by some that include them,
# by their paths below ROOT, which the target must have among its include directories.
function(join_sources list root name)
  if(NOT JOIN_SOURCES)
    return()
  endif()
  set(joined)
  set(bytes 0)
  foreach(source IN LISTS ${list})
    get_filename_component(folder ${source} DIRECTORY)
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(NOT folder STREQUAL folder_before OR bytes GREATER JOINED_BYTES_MAX)
      list(LENGTH joined count)
      list(APPEND joined ${PROJECT_BINARY_DIR}/joined/${name}_${count}.cc)
      set(text_${count} "")
      set(folder_before ${folder})
      set(bytes ${size})
    endif()
    file(RELATIVE_PATH path ${root} ${source})
    string(APPEND text_${count} "#include \"${path}\"\n")
  endforeach()
  set(count 0)
  foreach(path IN LISTS joined)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text_${count}}" @ONLY)
    math(EXPR count "${count} + 1")
  endforeach()
  # This warning takes what is included for a header.
  set_source_files_properties(${joined} PROPERTIES
    COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(${list} ${joined} PARENT_SCOPE)
endfunction()

# Groups of folders of src/: what is in one is included as if it were in src/ itself.
set(SOURCE_GROUPS shared daemon client program training)
set(SOURCE_ROOTS ${PROJECT_SOURCE_DIR}/src)
foreach(group IN LISTS SOURCE_GROUPS)
  list(APPEND SOURCE_ROOTS ${PROJECT_SOURCE_DIR}/src/${group})
endforeach()

# add_layer(FOLDER [PURE] [TESTS_READ_TREE] [COLD] [IF VARIABLE] [LINKS other...] [ONLY header...]
#           [TEST_LINKS other...]):
# unless the variable is off, the library made of src/FOLDER, sub-folders too, but without main.cc,
# *_main.cc and what lies in preload/, which has a build of its own; and a program of its *_test.cc,
# each test labelled with its name. GROUP/NAME is called NAME, NAME_test and so on.
# TESTS_READ_TREE: they read files of this tree, by the macro BERTH_SOURCE_DIR. COLD: it waits for
# people, files and networks; optimised less, it compiles a fifth sooner. For tools/tidy.py are
# PURE: it sees no outside world; and ONLY: of the folders of these headers it may include no
# others, linked or not.
function(add_layer path)
  get_filename_component(name ${path} NAME)
  cmake_parse_arguments(arg "PURE;TESTS_READ_TREE;COLD" "IF" "LINKS;ONLY;TEST_LINKS" ${ARGN})
  if(arg_IF AND NOT ${arg_IF})
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/src/${path})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|_main\\.cc$|/preload/")
  list(FILTER headers EXCLUDE REGEX "/preload/")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  join_sources(sources ${PROJECT_SOURCE_DIR}/src ${name})
  join_sources(tests ${PROJECT_SOURCE_DIR}/src ${name}_test)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PRIVATE berth_warnings)
    if(arg_COLD)
      target_link_libraries(${name} PRIVATE cold)
    endif()
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${SOURCE_ROOTS})
  target_link_libraries(${name} ${scope} ${arg_LINKS})
  compile_headers_alone(${name} "${headers}")

  if(tests AND BUILD_TESTING)
    add_executable(${name}_test ${tests})
    only_for_tests(${name}_test)
    target_link_libraries(${name}_test PRIVATE ${name} ${arg_TEST_LINKS} berth_warnings
                          GTest::gmock GTest::gtest_main)
    if(arg_TESTS_READ_TREE)  # Only these: a path of this tree keeps others from sharing the cache.
      target_compile_definitions(${name}_test PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
    set(timeout 300)  # Of seconds on a machine that does much else too: only who hangs meets it.
    if(arg_IF)  # What is built apart brings definitions with which those headers were not read.
      set(timeout 600)
      target_compile_options(${name}_test PRIVATE -O0 -U_FORTIFY_SOURCE)
    else()
      build_tests_fast(${name}_test)
    endif()
    # Who asks for more than there is gets nothing, as without a sanitizer.
    gtest_discover_tests(${name}_test PROPERTIES LABELS ${name} TIMEOUT ${timeout}
                         ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1
                         DISCOVERY_TIMEOUT 300)
    if(name MATCHES "^(core|server|guard)$")
      add_dependencies(tsan_tests ${name}_test)
    endif()
  endif()
endfunction()

# Tests are compiled far more often than they run: the framework's headers are read once for all of
# them, and nothing is optimised. Only in tests: a source file must name what it includes.
function(build_tests_fast target)
  if(NOT TARGET test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "")
    add_library(test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
    only_for_tests(test_headers)
    target_precompile_headers(test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(test_headers PRIVATE -O0 -U_FORTIFY_SOURCE -fPIE)  # As programs are.
    target_link_libraries(test_headers PRIVATE berth_warnings GTest::gmock)
  endif()
  target_precompile_headers(${target} REUSE_FROM test_headers)
  target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
endfunction()

# Each header compiles alone. foo.cc includes foo.h first (tools/tidy.py sees to that), which shows
# it for all headers with a source file; the others get one here.
# Joined sources do not show it: then there are none, and `./dev tidy` builds them.
function(compile_headers_alone layer headers)
  set(made)
  foreach(header ${headers})
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    if(NOT EXISTS ${source})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${header})
      string(REGEX REPLACE "\\.h$" ".cc" source ${PROJECT_BINARY_DIR}/headers/${path})
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${path}\"\n")
      list(APPEND made ${source})
    endif()
  endforeach()
  if(made AND NOT JOIN_SOURCES)
    add_library(${layer}_headers OBJECT ${made})
    target_link_libraries(${layer}_headers PRIVATE ${layer} berth_warnings)
    add_dependencies(headers_alone ${layer}_headers)
  endif()
endfunction()

# add_program(NAME SOURCE [SHARED_RUNTIME] [LINKS layer...]): the program bin/NAME of one main file
# below src/. It is left out while SOURCE does not exist. SHARED_RUNTIME: libraries that it links
# throw across, so that there may be one run-time of C++ only.
function(add_program name source)
  cmake_parse_arguments(arg "SHARED_RUNTIME" "" "LINKS" ${ARGN})
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${source})
    add_executable(${name} src/${source})
    target_link_libraries(${name} PRIVATE ${arg_LINKS} berth_warnings cold)
    if(NOT SANITIZE AND NOT arg_SHARED_RUNTIME)
      # C++'s library is the larger part of what the dynamic linker does at each start, and lazily
      # bound, in the midst of a hand-over.
      target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,now)
    endif()
  endif()
endfunction()

# embed_openapi(LAYER): share/openapi.json as text in the library, so that the daemon can serve it.
function(embed_openapi layer)
  set(json ${PROJECT_SOURCE_DIR}/share/openapi.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${json})
  file(READ ${json} OPENAPI_JSON)
  configure_file(${PROJECT_SOURCE_DIR}/src/daemon/server/openapi.cc.in
                 ${PROJECT_BINARY_DIR}/openapi.cc @ONLY)
  target_sources(${layer} PRIVATE ${PROJECT_BINARY_DIR}/openapi.cc)
  # One literal, longer than what every compiler has to take; those that we build with do.
  set_source_files_properties(${PROJECT_BINARY_DIR}/openapi.cc TARGET_DIRECTORY ${layer} PROPERTIES
    COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

# embed_page(LAYER): the files of web/page, and each compressed, for the daemon to serve.
function(embed_page layer)
  find_program(GZIP gzip REQUIRED)
  set(folder ${PROJECT_SOURCE_DIR}/web/page)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/page)
  set(PAGE_ASM "")
  set(PAGE_DIGESTS "")
  set(PAGE_SYMBOLS "")
  set(PAGE_ROWS "")
  set(embedded "")
  set(number 0)
  foreach(name index.html app.js app.css opened.html opened.js sign_in.html licences.txt)
    set(gzip ${PROJECT_BINARY_DIR}/page/${name}.gz)
    # A compiler cache does not look into what is included so: the source names the content.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
    file(SHA256 ${folder}/${name} digest)
    string(APPEND PAGE_DIGESTS "// ${name} ${digest}\n")
    add_custom_command(OUTPUT ${gzip} COMMAND ${GZIP} -9nc ${folder}/${name} > ${gzip}
      DEPENDS ${folder}/${name} VERBATIM)
    foreach(part text gzip)
      set(file ${folder}/${name})
      if("${part}" STREQUAL "gzip")
        set(file ${gzip})
      endif()
      list(APPEND embedded ${file})
      set(symbol berth_page_${number}_${part})
      string(APPEND PAGE_ASM "    \".global ${symbol}, ${symbol}_end\\n\"\n"
        "    \"${symbol}: .incbin \\\"${file}\\\"\\n${symbol}_end:\\n\"\n")
      string(APPEND PAGE_SYMBOLS "extern const char ${symbol}[], ${symbol}_end[];\n")
    endforeach()
    string(APPEND PAGE_ROWS "      {\"${name}\", between(berth_page_${number}_text, "
      "berth_page_${number}_text_end),\n       between(berth_page_${number}_gzip, "
      "berth_page_${number}_gzip_end)},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/src/daemon/server/page_files.cc.in
                 ${PROJECT_BINARY_DIR}/page_files.cc @ONLY)
  target_sources(${layer} PRIVATE ${PROJECT_BINARY_DIR}/page_files.cc)
  set_source_files_properties(${PROJECT_BINARY_DIR}/page_files.cc TARGET_DIRECTORY ${layer}
    PROPERTIES OBJECT_DEPENDS "${embedded}")
endfunction()

# use_real_cuda_h(TARGET): a test that holds declarations of ours against cuda.h sees one, if there
# is one in CUDA_HOME or /usr/local/cuda.
function(use_real_cuda_h target)
  find_path(CUDA_H_DIRECTORY cuda.h PATHS $ENV{CUDA_HOME} /usr/local/cuda
            PATH_SUFFIXES include NO_DEFAULT_PATH)
  if(CUDA_H_DIRECTORY)
    target_compile_definitions(${target} PRIVATE REAL_CUDA_H)
    target_include_directories(${target} SYSTEM PRIVATE ${CUDA_H_DIRECTORY})
  endif()
endfunction()

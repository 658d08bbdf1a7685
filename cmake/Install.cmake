# SPDX-License-Identifier: Apache-2.0
# Places of what `cmake --install` installs. Programs look for one another beside themselves, and
# for the simulated driver in ../lib/simgpu: to move one, move all.
include(GNUInstallDirs)

install(TARGETS berth berthd berth-probe berth-mover berth-deliver berth-notify berth-keeper
        berth-simctl vram_user
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET berth_guard)
  install(TARGETS berth_guard berth_audit LIBRARY DESTINATION lib)
endif()
install(TARGETS simgpu_cuda simgpu_nvml LIBRARY DESTINATION lib/simgpu)

# What programs are built with that use libberth: by find_package(berth) or by pkg-config.
include(CMakePackageConfigHelpers)
install(TARGETS berth_library EXPORT berth LIBRARY DESTINATION lib)
install(FILES include/berth/berth.h include/berth/berth.hpp include/berth/checkpoint.h
        include/berth/estimate.h include/berth/safetensors.h DESTINATION include/berth)
install(EXPORT berth NAMESPACE berth:: FILE berth-config.cmake DESTINATION lib/cmake/berth)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/berth-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/berth-config-version.cmake DESTINATION lib/cmake/berth)
configure_file(src/program/library/berth.pc.in ${PROJECT_BINARY_DIR}/berth.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/berth.pc DESTINATION lib/pkgconfig)

# The Python package, where Debian's own packages have theirs; it looks for the library two folders
# above it.
install(DIRECTORY python/berth DESTINATION lib/python3/dist-packages
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(PROGRAMS examples/python/measure.py examples/python/own_lease.py
        examples/python/trainer.py DESTINATION ${CMAKE_INSTALL_DATADIR}/berth/examples/python)

# The shells' completion, as this very program writes it.
foreach(shell_and_place
        "bash=${CMAKE_INSTALL_DATADIR}/bash-completion/completions/berth"
        "zsh=${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_berth"
        "fish=${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/berth.fish")
  string(REGEX REPLACE "=.*" "" shell ${shell_and_place})
  string(REGEX REPLACE ".*=" "" place ${shell_and_place})
  get_filename_component(folder ${place} DIRECTORY)
  get_filename_component(file ${place} NAME)
  set(script ${PROJECT_BINARY_DIR}/completion/${shell}/${file})
  add_custom_command(OUTPUT ${script} DEPENDS berth
                     COMMAND berth completion ${shell} > ${script} VERBATIM)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion/${shell})
  list(APPEND scripts ${script})
  install(FILES ${script} DESTINATION ${folder})
endforeach()
add_custom_target(completion ALL DEPENDS ${scripts})

install(FILES share/openapi.json share/berth.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/berth)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

# The units name the place where this installation ends up, which is known only then.
install(CODE "
  set(bindir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  set(docdir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
  foreach(unit berthd berth-deliver@ berth-command@ berth-notify berth-keeper berth-keeper@)
    configure_file(\"${PROJECT_SOURCE_DIR}/integrations/systemd/\${unit}.service.in\"
                   \"${PROJECT_BINARY_DIR}/\${unit}.service\" @ONLY)
  endforeach()")
install(FILES ${PROJECT_BINARY_DIR}/berth-notify.service ${PROJECT_BINARY_DIR}/berth-keeper.service
        DESTINATION lib/systemd/user)
install(FILES ${PROJECT_BINARY_DIR}/berthd.service integrations/systemd/berthd.socket
        ${PROJECT_BINARY_DIR}/berth-deliver@.service integrations/systemd/berth-deliver.socket
        ${PROJECT_BINARY_DIR}/berth-command@.service integrations/systemd/berth-command.socket
        ${PROJECT_BINARY_DIR}/berth-keeper@.service
        integrations/systemd/run-berth-berthd.leases.mount
        DESTINATION lib/systemd/system)
install(FILES integrations/systemd/berth.sysusers.conf DESTINATION lib/sysusers.d
        RENAME berth.conf)
install(FILES integrations/systemd/berth.tmpfiles.conf DESTINATION lib/tmpfiles.d
        RENAME berth.conf)

if(BUILD_TESTING)
  add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/tests/install/run ${PROJECT_BINARY_DIR})
  set_tests_properties(install PROPERTIES LABELS e2e TIMEOUT 120)
endif()

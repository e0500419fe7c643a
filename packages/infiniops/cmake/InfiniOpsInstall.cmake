# What an installed prefix holds.

function(infini_ops_install)
  if(SKBUILD)
    # From infini/ops/_prefix/lib: the wheel infinirt, then the copy that this wheel carries for machines without that.
    set(run_path "$ORIGIN/../../../../infinirt/prefix/lib:$ORIGIN/../../_infinirt")
  else()
    set(run_path "$ORIGIN")
  endif()
  set_target_properties(infiniops PROPERTIES INSTALL_RPATH "${run_path}")
  set(library_dir ${CMAKE_INSTALL_LIBDIR})
  set(include_dir ${CMAKE_INSTALL_INCLUDEDIR})
  set(package_dir ${library_dir}/cmake/InfiniOps)
  set(data_dir ${CMAKE_INSTALL_DATADIR}/infiniops)

  install(TARGETS infiniops EXPORT InfiniOpsTargets
    LIBRARY DESTINATION ${library_dir}
    INCLUDES DESTINATION ${include_dir})
  if(GENERATE_OPERATOR_CALL_INSTANTIATIONS)
    infini_ops_install_linked(${library_dir} "${run_path}")
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${INFINI_OPS_GENERATED_DIR}/include/ DESTINATION ${include_dir})
  else()
    # Without C++ entries nothing declares them: a call does not compile.
    install(FILES ${PROJECT_SOURCE_DIR}/include/infini/ops/abi.h DESTINATION ${include_dir}/infini/ops)
  endif()
  install(EXPORT InfiniOpsTargets NAMESPACE InfiniOps:: DESTINATION ${package_dir})
  install(DIRECTORY ${INFINI_OPS_GENERATED_DIR}/share/ DESTINATION ${data_dir})

  if(INFINI_LINKED_SOURCES)
    # What this build is linked with: infini.ops compares it with what is there when it is imported.
    install(FILES ${INFINI_OPS_GENERATED_DIR}/linked/resolved.json DESTINATION ${data_dir} RENAME linked.json)
  endif()

  set(INFINI_OPS_DEVICES "")
  foreach(name CPU SIM ${INFINI_OPS_GPU_BACKENDS})
    if(WITH_${name})
      string(TOLOWER ${name} lower)
      list(APPEND INFINI_OPS_DEVICES ${lower})
    endif()
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/InfiniOpsConfig.cmake.in
    ${PROJECT_BINARY_DIR}/InfiniOpsConfig.cmake INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/InfiniOpsConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/InfiniOpsConfig.cmake ${PROJECT_BINARY_DIR}/InfiniOpsConfigVersion.cmake
    DESTINATION ${package_dir})

  configure_file(${PROJECT_SOURCE_DIR}/cmake/infiniops.pc.in ${PROJECT_BINARY_DIR}/infiniops.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/infiniops.pc DESTINATION ${library_dir}/pkgconfig)
endfunction()

# What an installed prefix holds.

function(infini_rt_install)
  set(library_dir ${CMAKE_INSTALL_LIBDIR})
  set(package_dir ${library_dir}/cmake/InfiniRT)

  install(TARGETS infinirt EXPORT InfiniRTTargets
    LIBRARY DESTINATION ${library_dir}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT InfiniRTTargets NAMESPACE InfiniRT:: DESTINATION ${package_dir})

  set(INFINI_RT_BACKENDS "")
  foreach(name CPU NVIDIA ILUVATAR HYGON THEAD METAX CAMBRICON MOORE ASCEND SIM)
    if(WITH_${name})
      string(TOLOWER ${name} lower)
      list(APPEND INFINI_RT_BACKENDS ${lower})
    endif()
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/InfiniRTConfig.cmake.in
    ${PROJECT_BINARY_DIR}/InfiniRTConfig.cmake INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/InfiniRTConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/InfiniRTConfig.cmake ${PROJECT_BINARY_DIR}/InfiniRTConfigVersion.cmake
    DESTINATION ${package_dir})

  # Relative, so that the prefix can be moved.
  file(RELATIVE_PATH INFINI_RT_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  foreach(directory LIBDIR INCLUDEDIR)
    set(INFINI_RT_PC_${directory} ${CMAKE_INSTALL_${directory}})
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
      string(PREPEND INFINI_RT_PC_${directory} "\${prefix}/")
    endif()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/infinirt.pc.in ${PROJECT_BINARY_DIR}/infinirt.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/infinirt.pc DESTINATION ${library_dir}/pkgconfig)
endfunction()

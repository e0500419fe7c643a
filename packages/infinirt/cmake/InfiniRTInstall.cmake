# What an installed prefix holds.

function(infini_rt_install)
  set(prefix ${INFINI_RT_PREFIX_DIR})
  if(prefix)
    string(APPEND prefix "/")
    # A wheel fixes its own layout, whatever the distribution's library directory is.
    set(CMAKE_INSTALL_LIBDIR lib)
    set(CMAKE_INSTALL_INCLUDEDIR include)
  endif()
  set(library_dir ${prefix}${CMAKE_INSTALL_LIBDIR})
  set(package_dir ${library_dir}/cmake/InfiniRT)

  install(TARGETS infinirt EXPORT InfiniRTTargets
    LIBRARY DESTINATION ${library_dir}
    INCLUDES DESTINATION ${prefix}${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${prefix}${CMAKE_INSTALL_INCLUDEDIR})
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

  configure_file(${PROJECT_SOURCE_DIR}/cmake/infinirt.pc.in ${PROJECT_BINARY_DIR}/infinirt.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/infinirt.pc DESTINATION ${library_dir}/pkgconfig)
endfunction()

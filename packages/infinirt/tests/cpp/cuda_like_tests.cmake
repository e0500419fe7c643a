# Tests of the CUDA-like backend of this build, if it has one.
#
# Against the stand-in SDK (tests/standin_sdk) all of them run. Against a real SDK the faults cannot be injected, and
# without a device `cuda_like_test` is skipped after it has checked what a machine without one gets.

function(infini_rt_add_cuda_like_test name source)
  add_executable(${name} ${source})
  infini_rt_set_compile_rules(${name})
  target_link_libraries(${name} PRIVATE infinirt Threads::Threads)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

function(infini_rt_add_cuda_like_tests)
  get_property(include_dirs GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_INCLUDE_DIRS)
  get_property(library GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_LIBRARY)
  if(NOT library)
    return()
  endif()
  infini_rt_add_cuda_like_test(cuda_like_test cuda_like_test.cc)
  infini_rt_add_cuda_like_test(cuda_like_graph_test cuda_like_graph_test.cc)
  # The same program on a machine without devices: both ways to hide them.
  add_test(NAME cuda_like_no_device_test COMMAND cuda_like_test --no-device)
  set_tests_properties(cuda_like_no_device_test PROPERTIES
    TIMEOUT 120 ENVIRONMENT "STANDIN_DEVICES=0;CUDA_VISIBLE_DEVICES=")

  find_path(standin_dir standin.h PATHS ${include_dirs} NO_DEFAULT_PATH NO_CACHE)
  if(standin_dir)
    infini_rt_add_cuda_like_test(cuda_like_fault_test cuda_like_fault_test.cc)
    target_include_directories(cuda_like_fault_test SYSTEM PRIVATE ${standin_dir})
    target_link_libraries(cuda_like_fault_test PRIVATE ${library})
  endif()
endfunction()
